"""Fetching agents' refs: what moved, and of each no more than it may hold.

No git server tells how large something is before it sends it. A filter (`--filter=blob:limit`) is obeyed only where the
server is configured to, bounds no number of files, and turns the clone into one that fetches what it lacks as soon as
somebody looks at it. So what comes goes into a quarantine that holds as much as the refs asked for may take together.
Where that is not enough, half of them is asked for at a time, until it is known which one it is. That one is noted with
its commit, and is not asked for again until it moves; what was fetched of it before goes on counting.

Branches of clusters that nobody knows: the first are looked at, the others are counted.

Whoever may push can make thousands of them, and each costs a run as much as a cluster does. So of the clusters that
people's files do not name and that were never in the fleet, the first by name are looked at, and one finding tells of
the others. The same holds for branches that do not count. A cluster is known where its name is a word in a file of
people's, whatever that file means: no cluster of the fleet is ever left out.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from muster.data.agentref import RELAYS, Mandate
from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER
from muster.data.locations import FOLDER, SUFFIX, file_name
from muster.data.snapshot import AgentLimits
from muster.git.agents import AgentRef
from muster.git.agentsettings import AgentSettings
from muster.git.errors import LockedError, RepositoryError, explain
from muster.git.journal import JournalNote, noted
from muster.git.push import AFTERWARDS_SECONDS, FETCH, LIMIT_SECONDS, refs_at, remote_command, tracking
from muster.git.quarantine import Refusal, quarantine, refusals, remember
from muster.git.recovery import recover
from muster.git.repository import Repository, cut_off_at, lines_at, ref_tip, refs_below

#: So many clusters that nobody knows are looked at, so many branches that do not count are told one by one, and so
#: many names are given of the others.
MOST_UNKNOWN, MOST_REFUSED, _NAMED = 100, 20, 5
_WORD: Final = re.compile(rb"[a-z0-9][-a-z0-9.]*")
_PEOPLES: Final = ("*.yaml", "*.yml", "*.json", f":(exclude){FOLDER}")


def bounded(
    repository: Repository, refs: Sequence[AgentRef], recorded: Callable[[], Collection[str]], revision: str
) -> tuple[AgentRef, ...]:
    """Return the refs without those of unknown clusters beyond the first, and those that do not count beyond the first.

    `recorded` gives the clusters that spoke through refs at the last run.
    """
    if len(refs) <= min(MOST_UNKNOWN, MOST_REFUSED):
        return tuple(refs)
    dropped, told = set[str](), dict[str, AgentRef]()

    def summarise(beyond: Sequence[AgentRef], reason: str) -> None:
        if beyond:
            dropped.update(ref.name for ref in beyond)
            told[beyond[0].name] = replace(beyond[0], refused=(reason, _count(beyond)))

    for reason in sorted({ref.refused[0] for ref in refs if ref.refused}):
        summarise([ref for ref in refs if ref.refused and ref.refused[0] == reason][MOST_REFUSED:], "too-many-refused")
    counting = [ref for ref in refs if not ref.refused]
    if len(counting) > MOST_UNKNOWN and {ref.cluster for ref in counting} - frozenset(recorded()):
        is_known = _known(repository, revision)
        unknown = sorted((ref for ref in counting if not is_known(ref.cluster)), key=lambda ref: ref.cluster)
        summarise(unknown[MOST_UNKNOWN:], "too-many-unknown")
    return tuple(told.get(ref.name, ref) for ref in refs if ref.name in told or ref.name not in dropped)


def _count(refs: Sequence[AgentRef]) -> str:
    names = ", ".join(ref.short for ref in refs[:_NAMED])
    return f"{len(refs)}: {names}" + (f" and {len(refs) - _NAMED} more" if len(refs) > _NAMED else "")


def _known(repository: Repository, revision: str) -> Callable[[str], bool]:
    """What tells whether a cluster is named in people's files, is or was in the fleet, or was removed from it."""
    said = lines_at(repository, ".", revision, *_PEOPLES) + lines_at(
        repository, ".", revision, f"{FOLDER}{FLEET.plural}"
    )
    words = {word.rstrip(b".-").decode() for word in _WORD.findall(said)}
    listing = repository.git.run(
        "grep", "-l", "-z", "-e", ACCEPTED, revision, "--", f"{FOLDER}{MANAGED_CLUSTER.plural}"
    )
    paths = (os.fsdecode(path) for path in listing.stdout.split(b"\0") if path)
    files = {path.rsplit("/", 1)[-1].removesuffix(SUFFIX) for path in paths}
    return lambda cluster: cluster in words or file_name(cluster) in files


_HEADS: Final = "refs/heads/"
_AGENTS: Final = "agents/"
DEFAULTS: Final = AgentSettings()
#: A relay speaks for so many agents as far as room goes.
_RELAYED: Final = 64
#: What a ref takes on the wire: nearly all of them far less. Where many come at once, no more is expected of each.
_USUAL_BYTES: Final = 16 << 10
#: Entries of trees: a name and an id.
_ENTRY_BYTES: Final = 512
#: So many are named in one command, and so many commits that are here already.
_AT_ONCE, _TIPS = 5000, 64
#: Of agents that push where they are not asked, so many are named.
_TOLD: Final = 20
_NOT_GIVEN: Final = "not given"
_ATTEMPTS: Final = 3
#: How a server says that what it named a moment ago is not there any more.
_RACED: Final = re.compile(r"not our ref|unadvertised object")


class _RacedError(RepositoryError):
    """A ref moved while it was asked for, and the server gives nothing else than what its refs point at."""


def fetch_agents(
    repository: Repository, *, remote: str, into: str | None = None, settings: AgentSettings = DEFAULTS,
    mandate: Mandate | None = None, answer_seconds: float | None = None, limit_seconds: float = LIMIT_SECONDS,
) -> None:  # fmt: skip
    """Fetch the refs of agents and relays of `remote` and nothing else; those that are gone there are removed here.

    They go below the prefix `into`, or where `tracking` says. Those that hold far more than they may are left as they
    were, and remembered (`refusals`). With a `mandate`, only agents of its clusters are asked for.
    RepositoryError where the remote cannot be read, does not answer within `answer_seconds`, or does not send all of it
    within `limit_seconds`: what has come by then stays.
    """
    space = into or tracking(repository, remote)
    until = time.monotonic() + limit_seconds
    for attempt in range(_ATTEMPTS):
        try:
            _Fetch(repository, remote, space, settings, mandate, answer_seconds or limit_seconds, until).run()
        except (_RacedError, LockedError):
            if attempt + 1 == _ATTEMPTS:
                raise
            recover(repository)  # another process was at it, or is dead and its locks are in the way
        else:
            return


class _Fetch:
    """One fetch of the agents' refs of a remote, to below `space`."""

    def __init__(
        self, repository: Repository, remote: str, space: str, settings: AgentSettings, mandate: Mandate | None,
        answer_seconds: float, until: float,
    ) -> None:  # fmt: skip
        self._repository, self._remote, self._space = repository, remote, space
        self._limits, self._mandate = settings.limits, mandate
        self._answer_seconds, self._until = answer_seconds, until
        self._relays = frozenset(f"{RELAYS}{name}" for name in settings.relays)
        self._shallow = bool(cut_off_at(repository))
        self._here = refs_below(repository, f"{space}agents/", *(space + relay for relay in self._relays))

    def run(self) -> None:
        listed = {self._space + name: oid for name, oid in self._listed()}
        there = {ref: oid for ref, oid in listed.items() if self._is_given(ref)}
        known = refusals(self._repository)
        why = _why(self._limits)
        refused = {ref: Refusal(oid, why) for ref, oid in there.items() if known.get(ref) == (oid, why)}
        refused.update((ref, Refusal(listed[ref], _NOT_GIVEN)) for ref in sorted(listed.keys() - there.keys())[:_TOLD])
        wanted = {
            ref: oid for ref, oid in there.items() if self._here.get(ref) != oid and ref not in refused
        }  # fmt: skip
        self._move(dict.fromkeys(self._here.keys() - there.keys()))  # first: a branch may stand where a folder stood
        try:
            for batch, came in self._brought(wanted):
                if came:
                    self._move(batch)
                else:
                    refused.update((ref, Refusal(oid, why)) for ref, oid in batch.items())
        finally:
            remember(self._repository, self._space, refused)

    def _listed(self) -> Iterator[tuple[str, str]]:
        """The branches of agents and relays as the remote has them, and their commits."""
        seconds = min(self._answer_seconds, self._seconds_left())
        for name, oid in refs_at(self._repository, self._remote, (), seconds, "--heads"):
            branch = name.removeprefix(_HEADS)
            if branch in self._relays or branch.startswith(_AGENTS):
                yield branch, oid

    def _is_given(self, ref: str) -> bool:
        branch = ref.removeprefix(self._space)
        return self._mandate is None or branch in self._relays or branch.removeprefix(_AGENTS) in self._mandate

    def _brought(self, wanted: Mapping[str, str]) -> Iterator[tuple[dict[str, str], bool]]:
        """Yield the refs in batches, and whether their objects are here now; one that is not is a single ref."""
        rest = iter(wanted.items())
        while batch := dict(islice(rest, _AT_ONCE)):
            waiting = [batch]
            while waiting:
                some = waiting.pop()
                came = self._bring(some)
                if came or len(some) == 1:
                    yield some, came
                else:
                    items = list(some.items())
                    waiting += [dict(items[len(items) // 2 :]), dict(items[: len(items) // 2])]

    def _bring(self, refs: Mapping[str, str]) -> bool:
        """Fetch the objects of some refs; tell whether they fitted."""
        limits = self._limits
        relays = sum(ref.removeprefix(self._space) in self._relays for ref in refs)
        room = (1 + relays * _RELAYED) * limits.max_bytes + limits.max_files * _ENTRY_BYTES + len(refs) * _USUAL_BYTES
        options = (*FETCH, "--no-filter", *self._negotiation(refs))
        commits = sorted(set(refs.values()))
        with quarantine(self._repository.git, room) as place:
            done = remote_command(
                self._repository, (*options, "--depth=1") if self._shallow else options, self._remote, commits,
                self._seconds_left(), place.git,
            )  # fmt: skip
            if done.status and self._shallow and not done.stderr.strip():  # git's way to say: there is nothing to limit
                done = remote_command(self._repository, options, self._remote, commits, self._seconds_left(), place.git)
            if done.status and place.is_full():
                return False
            if done.status:
                error = explain("fetch", done.stderr, done.status)
                raise _RacedError(error.message, error.hint) if _RACED.search(done.stderr) else error
            place.release()
            return True

    def _negotiation(self, refs: Collection[str]) -> Sequence[str]:
        """What is said of what is here. All of it would be thousands of commits that have nothing in common."""
        tips = [self._here[ref] for ref in islice((ref for ref in refs if ref in self._here), _TIPS)]
        head = ref_tip(self._repository, "HEAD^{commit}")
        return [f"--negotiation-tip={tip}" for tip in (*tips, *([head] if head else []))]

    def _move(self, refs: Mapping[str, str | None]) -> None:
        """Point refs at what has come; None removes one."""
        if not refs:
            return
        lines = (
            f"delete {ref}\0\0" if oid is None else f"update {ref}\0{oid}\0\0" for ref, oid in sorted(refs.items())
        )
        with noted(self._repository, JournalNote(self._space, seconds=AFTERWARDS_SECONDS)) as journal:
            # A log of agents' refs would hold on to every heartbeat.
            done = journal.after(
                journal.holding(self._repository.git).run(
                    "-c", "core.logAllRefUpdates=false", "update-ref", "--stdin", "-z",
                    stdin=os.fsencode("".join(lines)), limit_seconds=max(AFTERWARDS_SECONDS, self._seconds_left()),
                )
            )  # fmt: skip
        if done.status:
            raise explain("update-ref", done.stderr, done.status)

    def _seconds_left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise RepositoryError(
                "the agents' refs did not all come in time", "what has come counts; try again for the rest"
            )
        return left


def _why(limits: AgentLimits) -> str:
    return f"it takes far more than {limits.max_bytes} bytes and {limits.max_files} files to fetch it"
