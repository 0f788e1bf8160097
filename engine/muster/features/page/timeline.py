"""What history says of all clusters: when which became what, and the latest commits about each.

One walk over the commits that changed derived files of clusters, as far back as the window of time reaches; of the
versions nothing is read but the conditions that say how a cluster stands (`muster.fleet.clusters`). What was walked
once is kept: the next time only what came since is.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import cache
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
from muster.git.objects import Objects
from muster.git.repository import Repository, cut_off_at

#: So far back statuses are looked for.
WINDOW: Final = timedelta(days=30)
#: At most so many commits are walked, of anybody; and so many changes of files are looked into.
_MOST_COMMITS: Final = 50_000
_MOST_FILES: Final = 200_000
#: Among so many commits the latest about each cluster are looked for, however old they are; so many are kept of each.
_LOOKED_AT: Final = 2000
_KEPT: Final = 20
#: So many files are read at once.
_AT_ONCE: Final = 4000
_KINDS: Final = {kind.plural: kind for kind in CLUSTERS}
_FOLDERS: Final = tuple(f"{FOLDER}{plural}" for plural in _KINDS)
_OURS: Final = f"# {HEADER}\n".encode()


class Timeline:
    """The history of one repository's clusters, as far as it was asked for. Threads wait for each other."""

    def __init__(
        self, repository: Repository, *, most_commits: int = _MOST_COMMITS, most_files: int = _MOST_FILES
    ) -> None:
        self._repository, self._most_commits, self._most_files = repository, most_commits, most_files
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._tip = ""
        self._steps = list[StatusStep]()
        self._latest = dict[str, list[CommittedTransition]]()
        self._begins: datetime | None = None
        self._reason: Begins | None = None

    def upto(self, commit: str, now: datetime) -> FleetHistory:
        """Return what became of clusters up to a commit, in the window that ends now."""
        with self._lock:
            return self._upto(commit, now)

    def _upto(self, commit: str, now: datetime) -> FleetHistory:
        since = later(now, -WINDOW) or now
        reach = walk_range(self._repository, commit, self._tip, self._most_commits)
        if not reach.follows:
            self._forget()
        if reach.tip != self._tip:
            self._walk(reach, since, now)
            self._tip = reach.tip
        self._steps = [step for step in self._steps if step.commit.at >= since]
        begins = self._begins if self._begins is not None and self._begins > since else None
        return FleetHistory(tuple(self._steps), begins, self._reason if begins else None, dict(self._latest))

    def _walk(self, reach: WalkRange, since: datetime, now: datetime) -> None:
        """Look at what came since the commit that is known, or at everything."""
        steps, latest = list[StatusStep](), dict[str, list[CommittedTransition]]()
        walked = _Walked(reach, since, now, self._most_files)
        known: dict[str, tuple[str, str]] = {}
        with closing(Objects(self._repository.git)) as objects:
            for batch in _batches(walked.commits(derived_log(self._repository, reach, _FOLDERS), latest)):
                steps += _steps(objects, batch, known)
        last = self._steps[-1].commit.at if self._steps else None
        for step in reversed(steps):
            told = step.commit if last is None else step.commit._replace(at=max(last, step.commit.at))
            self._steps.append(StatusStep(told, step.changes))
            last = told.at
        for cluster, found in latest.items():
            self._latest[cluster] = [*found, *self._latest.get(cluster, ())][:_KEPT]
        if walked.begins is not None:
            clone = walked.first in cut_off_at(self._repository)
            self._begins = walked.begins
            self._reason = Begins.LENGTH if not walked.first else Begins.CLONE if clone else Begins.FIRST


class _Walked:
    """How far a walk came. `begins`: what is older is not known, though the window reaches further; with `first`, the
    commit from before which there is nothing."""

    def __init__(self, reach: WalkRange, since: datetime, now: datetime, most_files: int) -> None:
        self._reach, self._since, self._latest, self._files = reach, since, now, most_files
        self.begins: datetime | None = None
        self.first = ""

    def commits(
        self, found: Iterable[DerivedCommit], latest: dict[str, list[CommittedTransition]]
    ) -> Iterator[tuple[CommittedTransition, DerivedCommit]]:
        """Yield those commits whose files are to be looked into, and note all of them as the latest about clusters.

        What runs say of the time holds: none was later than the one that followed it. What others commit is dated by
        whatever clock.
        """
        looking, told = True, None
        for number, one in enumerate(found, 1):
            told = CommittedTransition(one.commit, min(one.time, self._latest), one.subject)
            if one.by_run:
                self._latest = told.at
            for cluster in dict.fromkeys(_cluster(file.path) for file in one.files):
                if len(commits := latest.setdefault(cluster, [])) < _KEPT:
                    commits.append(told)
            looking = looking and not (one.by_run and told.at < self._since)
            if looking and one.first:
                self.begins, self.first, looking = told.at, one.commit, False
            if looking:
                self._files -= len(one.files)
                if self._files < 0:
                    self.begins, looking = told.at, False
            if looking:
                yield told, one
            elif number >= _LOOKED_AT:
                return
        if looking and self._reach.cut is not None:
            self.begins = min(self._reach.cut, self._latest) if told is None else told.at


def _batches(
    commits: Iterable[tuple[CommittedTransition, DerivedCommit]],
) -> Iterator[list[tuple[CommittedTransition, DerivedCommit]]]:
    """Some commits at a time, with not many more files than are to be read at once."""
    batch, files = list[tuple[CommittedTransition, DerivedCommit]](), 0
    for told, one in commits:
        batch.append((told, one))
        files += len(one.files)
        if files >= _AT_ONCE:
            yield batch
            batch, files = [], 0
    if batch:
        yield batch


def _steps(
    objects: Objects, batch: Sequence[tuple[CommittedTransition, DerivedCommit]], known: dict[str, tuple[str, str]]
) -> Iterator[StatusStep]:
    """Yield the commits in which a status became another. `known`: by path, the id and status of the version that the
    next commit has to find, as the walk goes back."""
    statuses = dict(known.values())
    wanted = {
        oid: _kind(file.path)
        for _, one in batch for file in one.files for oid in _ids(file)
        if oid and oid not in statuses
    }  # fmt: skip
    for oid, answer in zip(wanted, objects.read(list(wanted)), strict=True):
        if isinstance(answer, UnreadableError):
            raise LostObjectError(f"a version of a derived file, {oid}", str(answer))
        statuses[oid] = state_in(answer.content, wanted[oid])
    for told, one in batch:
        # A file that is moved into a shard goes at one path and comes at another.
        became: dict[str, tuple[str, str]] = {}
        for file in one.files:
            old, new = _ids(file)
            before, after = statuses.get(old, ""), statuses.get(new, "")
            known[file.path] = old, before
            was, is_ = became.get(cluster := _cluster(file.path), ("", ""))
            became[cluster] = was or before, is_ or after
        changes = tuple(StatusChange(name, *each) for name, each in sorted(became.items()) if each[0] != each[1])
        if changes:
            yield StatusStep(told, changes)


def _ids(file: PathChange) -> tuple[str, str]:
    """The ids of a file before and after; empty if there is none."""
    return file.old.oid if file.old else "", file.new.oid if file.new else ""


def _kind(path: str) -> Kind:
    return _KINDS[path.split("/")[1]]


def _cluster(path: str) -> str:
    """`<plural>/<file>`, in whatever number of shards."""
    _, plural, *_, file = path.split("/")
    return f"{plural}/{file}"


def state_in(data: bytes, kind: Kind) -> str:
    """Return the state of a cluster as a derived file says it; empty where it says none.

    Files are read as they were written, a hundred times as fast as YAML; one that people have had their hands in, as
    what it is.
    """
    types = [kind.headline, *((ACCEPTED, JOINED) if kind is MANAGED_CLUSTER else ())]
    types = [type_ for type_ in types if type_.encode() in data]
    at = data.find(b"\nstatus:\n")
    if data.startswith(_OURS) and at >= 0:
        found = {type_: _written(type_).match(data, at) for type_ in types}
        said: dict[str, Tree] = {type_: {"status": one[1].decode()} for type_, one in found.items() if one is not None}
        if len(said) == len(types):
            return state_of(kind, said)
    return state_of(kind, by_type(mappings_at(first_body(data, "derived"), "status", "conditions"))) if types else ""


@cache
def _written(condition: str) -> re.Pattern[bytes]:
    """The first condition of that type in a status that begins with conditions, with nothing but conditions between."""
    begins = rb"  - type: %b\n" % re.escape(condition.encode())
    return re.compile(
        rb"\nstatus:\n  conditions:\n(?:(?!%b)(?:  - |    ).*\n)*%b    status: \"?(True|False|Unknown)\"?\n"
        % (begins, begins)
    )
