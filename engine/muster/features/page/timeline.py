"""The history of all clusters: changes of their states, and the latest commits for each.

One walk over the commits that changed clusters' derived files, back to the start of the window; of each version only
the conditions of the state are read (`muster.fleet.clusters`). Results are kept: the next walk reads only new commits.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from muster.data.kinds import ACCEPTED, CLUSTERS, MANAGED_CLUSTER, Kind
from muster.data.locations import FOLDER
from muster.data.times import later
from muster.data.tree import Tree, mappings_at
from muster.data.yaml.loader import first_body
from muster.features.history.history import Begins, CommittedTransition, FleetHistory, StatusChange, StatusStep
from muster.fleet.clusters import JOINED, state_of
from muster.fleet.derived import HEADER
from muster.fleet.objects import by_type
from muster.git.changes import PathChange
from muster.git.errors import LostObjectError, UnreadableError
from muster.git.filelog import DerivedCommit, WalkRange, derived_log, walk_range
from muster.git.log import read_log
from muster.git.repository import Repository, shallow_commits
from muster.git.store.objects import Objects

#: How far back states are read.
WINDOW: Final = timedelta(days=366)
#: Limits of one walk: commits, and changed files.
_MAX_COMMITS: Final = 50_000
_MAX_FILES: Final = 100_000
#: How many commits are searched for the latest ones of each cluster, even before the window; and how many are kept.
_SEARCHED: Final = 2000
_KEPT: Final = 20
#: How many files are read at once.
_BATCH: Final = 4000
#: The rhythm of heartbeats: how far back, and in how many columns.
BEATS_WINDOW: Final = timedelta(days=1)
BEATS_COLUMNS: Final = 144
_KINDS: Final = {kind.plural: kind for kind in CLUSTERS}
_FOLDERS: Final = tuple(f"{FOLDER}{plural}" for plural in _KINDS)
_OURS: Final = f"# {HEADER}\n".encode()


class Timeline:
    """The history of a repository's clusters, as far as it has been read. Thread-safe."""

    def __init__(self, repository: Repository, *, max_commits: int = _MAX_COMMITS, max_files: int = _MAX_FILES) -> None:
        self._repository, self._max_commits, self._max_files = repository, max_commits, max_files
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._tip = ""
        self._steps = list[StatusStep]()
        self._latest = dict[str, list[CommittedTransition]]()
        self._begins: datetime | None = None
        self._reason: Begins | None = None

    def upto(self, commit: str, now: datetime) -> FleetHistory:
        """Return the history up to a commit, in the window that ends at `now`."""
        with self._lock:
            return self._upto(commit, now)

    def _upto(self, commit: str, now: datetime) -> FleetHistory:
        since = later(now, -WINDOW) or now
        reach = walk_range(self._repository, commit, self._tip, self._max_commits)
        if not reach.follows:
            self._forget()
        if reach.tip != self._tip:
            self._walk(reach, since, now)
            self._tip = reach.tip
        self._steps = [step for step in self._steps if step.commit.at >= since]
        begins = self._begins if self._begins is not None and self._begins > since else None
        return FleetHistory(tuple(self._steps), begins, self._reason if begins else None, dict(self._latest))

    def _walk(self, reach: WalkRange, since: datetime, now: datetime) -> None:
        """Read the commits since the known one, or all."""
        steps, latest = list[StatusStep](), dict[str, list[CommittedTransition]]()
        walked = _Walked(reach, since, now, self._max_files)
        last_seen: dict[str, tuple[str, str]] = {}
        for batch in _batches(walked.commits(derived_log(self._repository, reach, _FOLDERS), latest)):
            steps += _steps(self._repository.objects, batch, last_seen)
        last = self._steps[-1].commit.at if self._steps else None
        for step in reversed(steps):
            commit = step.commit if last is None else step.commit._replace(at=max(last, step.commit.at))
            self._steps.append(StatusStep(commit, step.changes))
            last = commit.at
        for cluster, transitions in latest.items():
            self._latest[cluster] = [*transitions, *self._latest.get(cluster, ())][:_KEPT]
        if walked.begins is not None:
            clone = walked.first in shallow_commits(self._repository)
            self._begins = walked.begins
            self._reason = Begins.LENGTH if not walked.first else Begins.CLONE if clone else Begins.FIRST


def heartbeats(repository: Repository, commit: str, now: datetime) -> dict[str, list[int]]:
    """Return how often each file outside `derived/` was committed in each column of the day that ends at `now`.

    An agent that pushes to a ref of its own replaces its last renewal, so nothing is known of its earlier ones.
    """
    seconds: dict[str, list[int]] = {}
    since, late = now - BEATS_WINDOW, 0
    for logged in read_log(repository, commit, first_parent=True, changes=True, streamed=True, most=_MAX_COMMITS):
        late += logged.committed < since
        if late > 1:  # the first may be a joined commit, whose time is fixed
            break
        column = int((logged.committed - since) / BEATS_WINDOW * BEATS_COLUMNS)
        for change in logged.changes if 0 <= column <= BEATS_COLUMNS else ():
            if not change.path.startswith(FOLDER):
                seconds.setdefault(change.path, [0] * BEATS_COLUMNS)[min(column, BEATS_COLUMNS - 1)] += 1
    return seconds


class _Walked:
    """The progress of a walk. `begins`: the history begins there, inside the window; `first`: its first commit, if it
    begins with one."""

    def __init__(self, reach: WalkRange, since: datetime, now: datetime, max_files: int) -> None:
        self._reach, self._since, self._latest, self._files = reach, since, now, max_files
        self.begins: datetime | None = None
        self.first = ""

    def commits(
        self, derived_commits: Iterable[DerivedCommit], latest: dict[str, list[CommittedTransition]]
    ) -> Iterator[tuple[CommittedTransition, DerivedCommit]]:
        """Yield the commits whose files have to be read, and add all to the latest of their clusters.

        Only the times of runs are reliable, so each commit is dated no later than the run that followed it.
        """
        reading, commit = True, None
        for number, derived in enumerate(derived_commits, 1):
            commit = CommittedTransition(derived.commit, min(derived.time, self._latest), derived.subject)
            if derived.by_run:
                self._latest = commit.at
            for cluster in dict.fromkeys(_cluster(file.path) for file in derived.files):
                if len(commits := latest.setdefault(cluster, [])) < _KEPT:
                    commits.append(commit)
            reading = reading and not (derived.by_run and commit.at < self._since)
            if reading and derived.first:
                self.begins, self.first, reading = commit.at, derived.commit, False
            if reading:
                self._files -= len(derived.files)
                if self._files < 0:
                    self.begins, reading = commit.at, False
            if reading:
                yield commit, derived
            elif number >= _SEARCHED:
                return
        if reading and self._reach.cut is not None:
            self.begins = min(self._reach.cut, self._latest) if commit is None else commit.at
        elif reading and not self._reach.follows and commit is not None:  # nothing was derived before
            self.begins, self.first = commit.at, commit.commit


def _batches(
    commits: Iterable[tuple[CommittedTransition, DerivedCommit]],
) -> Iterator[list[tuple[CommittedTransition, DerivedCommit]]]:
    """Group the commits by about `_BATCH` files."""
    batch, files = list[tuple[CommittedTransition, DerivedCommit]](), 0
    for commit, derived in commits:
        batch.append((commit, derived))
        files += len(derived.files)
        if files >= _BATCH:
            yield batch
            batch, files = [], 0
    if batch:
        yield batch


def _steps(
    objects: Objects, batch: Sequence[tuple[CommittedTransition, DerivedCommit]], last_seen: dict[str, tuple[str, str]]
) -> Iterator[StatusStep]:
    """Yield the commits that changed a state. `last_seen`: by path, the id and state of the version before the last
    commit of the walk, which goes back in time."""
    statuses = dict(last_seen.values())
    wanted = {
        oid: _KINDS[file.path.split("/")[1]]
        for _, derived in batch
        for file in derived.files
        for oid in _ids(file)
        if oid and oid not in statuses
    }
    for oid, answer in zip(wanted, objects.read(list(wanted)), strict=True):
        if isinstance(answer, UnreadableError):
            raise LostObjectError(f"a version of a derived file, {oid}", str(answer))
        statuses[oid] = state_in(answer.content, wanted[oid])
    for commit, derived in batch:
        # A file that moves into a shard is removed at one path and added at another.
        became: dict[str, tuple[str, str]] = {}
        for file in derived.files:
            old, new = _ids(file)
            before, after = statuses.get(old, ""), statuses.get(new, "")
            last_seen[file.path] = old, before
            was, is_ = became.get(cluster := _cluster(file.path), ("", ""))
            became[cluster] = was or before, is_ or after
        changes = tuple(StatusChange(name, *each) for name, each in sorted(became.items()) if each[0] != each[1])
        if changes:
            yield StatusStep(commit, changes)


def _ids(file: PathChange) -> tuple[str, str]:
    """The ids of a file before and after; empty if there is none."""
    return file.old.oid if file.old else "", file.new.oid if file.new else ""


def _cluster(path: str) -> str:
    """`<plural>/<file>`, without the shard."""
    _, plural, *_, file = path.split("/")
    return f"{plural}/{file}"


def state_in(data: bytes, kind: Kind) -> str:
    """Return the state of a cluster in a derived file; empty if it has none.

    A file in the exact form that muster writes is read a hundred times as fast as YAML; an edited one as YAML.
    """
    types = [kind.headline, *((ACCEPTED, JOINED) if kind is MANAGED_CLUSTER else ())]
    types = [type_ for type_ in types if type_.encode() in data]
    at = data.find(b"\nstatus:\n")
    if data.startswith(_OURS) and at >= 0:
        statuses = {type_: _written(data, at, type_) for type_ in types}
        states: dict[str, Tree] = {name: {"status": status.decode()} for name, status in statuses.items() if status}
        if len(states) == len(types):
            return state_of(kind, states)
    return state_of(kind, by_type(mappings_at(first_body(data, "derived"), "status", "conditions"))) if types else ""


_CONDITIONS: Final = b"\nstatus:\n  conditions:\n"
_IN_CONDITIONS: Final = (b"  - ", b"    ")
_STATUS: Final = b"    status: "


def _written(data: bytes, at: int, condition: str) -> bytes:
    """Return the status of the first condition of a type, in a status at an offset that starts with `conditions`; empty
    if it is not written as muster does."""
    start = at + len(_CONDITIONS) - 1
    begin = data.find(b"\n  - type: %b\n" % condition.encode(), start)
    if begin < 0 or not data.startswith(_CONDITIONS, at):
        return b""
    if not all(line.startswith(_IN_CONDITIONS) for line in data[start:begin].split(b"\n")[1:]):
        return b""
    line = data[begin + 1 :].split(b"\n", 2)[1]
    status = line.removeprefix(_STATUS).strip(b'"')
    return status if line.startswith(_STATUS) and status in (b"True", b"False", b"Unknown") else b""
