"""Fetches agents' refs: what moved, and of each no more than it may hold.

No git server tells how large something is before it sends it. A filter (`--filter=blob:limit`) is obeyed only if the
server is configured to, limits no number of files, and turns the clone into one that fetches missing objects on first
use. So fetched objects go into a quarantine that holds as much as all requested refs may take together. If that is not
enough, half of the refs are requested at a time, until it is known which one is too large. That one is noted with its
commit, and is not requested again until it moves; what was fetched of it before still counts.

Other repositories that agents push to (`Fleet.spec.agents.remotes`) are fetched all at once, each in a thread of its
own, while everything else goes on. One that does not answer delays a run for no longer than it takes to find out. A
process that lasts (`muster watch`) does not wait for it from then on: it asks more and more rarely, and finds the refs
moved when there is an answer.
"""

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Final

from muster.data.agentref import RELAYS, Mandate
from muster.dataclass import dataclass
from muster.git.agents.settings import DEFAULTS, AgentRemote, AgentSettings
from muster.git.errors import LockedError, RepositoryError, explain
from muster.git.journal import JournalNote, noted
from muster.git.push import AFTERWARDS_SECONDS, FETCH, LIMIT_SECONDS, list_remote_refs, remote_command, tracking
from muster.git.quarantine import Refusal, quarantine, refusals, remember_refusals
from muster.git.recovery import recover
from muster.git.repository import Repository, common_directory, list_refs, ref_tip, shallow_commits

_HEADS: Final = "refs/heads/"
_AGENTS: Final = "agents/"
#: The room of a relay's ref: that of so many agents' refs.
_RELAYED: Final = 64
#: Room per ref if many are fetched at once: nearly all of them need far less.
_USUAL_BYTES: Final = 16 << 10
#: Room for an entry of a tree: a name and an id.
_ENTRY_BYTES: Final = 512
#: So many commits are named in one command, and so many that are here already.
_AT_ONCE, _TIPS = 5000, 64
#: So many agents are named that push to a repository they were not given.
_TOLD: Final = 20
_NOT_GIVEN: Final = "not given"
_ATTEMPTS: Final = 3
#: How a server says that a commit it named a moment ago is not there any more.
_RACED: Final = ("not our ref", "unadvertised object")


class _RacedError(RepositoryError):
    """A ref moved meanwhile, and the server sends only commits that its refs point at."""


def fetch_agents(
    repository: Repository,
    *,
    remote: str,
    into: str | None = None,
    settings: AgentSettings = DEFAULTS,
    mandate: Mandate | None = None,
    answer_seconds: float | None = None,
    limit_seconds: float = LIMIT_SECONDS,
) -> bool:
    """Fetch the refs of agents and relays of `remote` and nothing else; refs that are gone there are removed here. Say
    whether that changed anything.

    They are stored below the prefix `into`, by default that of `tracking`. Refs that hold far more than they may are
    left as they were, and remembered (`refusals`). With a `mandate`, only agents of its clusters are fetched.
    RepositoryError if the remote cannot be read, does not answer within `answer_seconds`, or does not send everything
    within `limit_seconds`: what has arrived by then stays.
    """
    space = into or tracking(repository, remote)
    until = time.monotonic() + limit_seconds
    attempts = 0
    while True:
        try:
            return _Fetch(repository, remote, space, settings, mandate, answer_seconds or limit_seconds, until).run()
        except (_RacedError, LockedError):
            attempts += 1
            if attempts == _ATTEMPTS:
                raise
            recover(repository)  # the locks of another process are in the way, which may be dead


class _Fetch:
    def __init__(
        self,
        repository: Repository,
        remote: str,
        space: str,
        settings: AgentSettings,
        mandate: Mandate | None,
        answer_seconds: float,
        until: float,
    ) -> None:
        self._repository, self._remote, self._space = repository, remote, space
        self._limits, self._mandate = settings.limits, mandate
        self._answer_seconds, self._until = answer_seconds, until
        self._relays = frozenset(f"{RELAYS}{name}" for name in settings.relays)
        self._shallow = bool(shallow_commits(repository))
        self._here = list_refs(repository, f"{space}agents/", *(space + relay for relay in self._relays))

    def run(self) -> bool:
        """Did anything move, or was refused?"""
        listed = {self._space + name: oid for name, oid in self._listed()}
        given = {ref: oid for ref, oid in listed.items() if self._is_given(ref)}
        refused_before = refusals(self._repository)
        why = f"it takes far more than {self._limits.max_bytes} bytes and {self._limits.max_files} files to fetch it"
        refused = {ref: Refusal(oid, why) for ref, oid in given.items() if refused_before.get(ref) == (oid, why)}
        refused.update((ref, Refusal(listed[ref], _NOT_GIVEN)) for ref in sorted(listed.keys() - given.keys())[:_TOLD])
        wanted = {ref: oid for ref, oid in given.items() if self._here.get(ref) != oid and ref not in refused}
        self._move(dict.fromkeys(self._here.keys() - given.keys()))  # first: a branch may take the place of a folder
        try:
            for batch, arrived in self._fetch_batches(wanted):
                if arrived:
                    self._move(batch)
                else:
                    refused.update((ref, Refusal(oid, why)) for ref, oid in batch.items())
        finally:
            remember_refusals(self._repository, self._space, refused)
        return bool(
            wanted
            or refused
            or self._here.keys() - given.keys()
            or any(ref.startswith(self._space) for ref in refused_before)
        )

    def _listed(self) -> Iterator[tuple[str, str]]:
        """The remote's branches of agents and relays, and their commits."""
        seconds = min(self._answer_seconds, self._seconds_left())
        for name, oid in list_remote_refs(self._repository, self._remote, (), seconds, "--heads"):
            branch = name.removeprefix(_HEADS)
            if branch in self._relays or branch.startswith(_AGENTS):
                yield branch, oid

    def _is_given(self, ref: str) -> bool:
        branch = ref.removeprefix(self._space)
        return self._mandate is None or branch in self._relays or branch.removeprefix(_AGENTS) in self._mandate

    def _fetch_batches(self, wanted: Mapping[str, str]) -> Iterator[tuple[dict[str, str], bool]]:
        """Yield the refs in batches, and whether their objects arrived; a batch that did not is a single ref."""
        rest = iter(wanted.items())
        while batch := dict(islice(rest, _AT_ONCE)):
            waiting = [batch]
            while waiting:
                names = waiting.pop()
                arrived = self._fetch_objects(names)
                if arrived or len(names) == 1:
                    yield names, arrived
                else:
                    items = list(names.items())
                    waiting += [dict(items[len(items) // 2 :]), dict(items[: len(items) // 2])]

    def _fetch_objects(self, refs: Mapping[str, str]) -> bool:
        """Fetch the objects of some refs. Do they fit into the room?"""
        limits = self._limits
        relays = sum(ref.removeprefix(self._space) in self._relays for ref in refs)
        room = (1 + relays * _RELAYED) * limits.max_bytes + limits.max_files * _ENTRY_BYTES + len(refs) * _USUAL_BYTES
        options = (*FETCH, "--no-filter", *self._negotiation(refs))
        commits = sorted(set(refs.values()))
        with quarantine(self._repository.git, room) as place:
            done = remote_command(
                self._repository,
                (*options, "--depth=1") if self._shallow else options,
                self._remote,
                commits,
                self._seconds_left(),
                place.git,
            )
            if done.status and self._shallow and not done.stderr.strip():  # git says so if there is nothing to limit
                done = remote_command(self._repository, options, self._remote, commits, self._seconds_left(), place.git)
            if done.status and place.is_full():
                return False
            if done.status:
                error = explain("fetch", done.stderr, done.status)
                raise _RacedError(error.message, error.hint) if any(words in done.stderr for words in _RACED) else error
            place.release()
            return True

    def _negotiation(self, refs: Collection[str]) -> Sequence[str]:
        """The commits that git offers as common. All refs would be thousands of commits that share nothing."""
        tips = [self._here[ref] for ref in islice((ref for ref in refs if ref in self._here), _TIPS)]
        head = ref_tip(self._repository, "HEAD^{commit}")
        return [f"--negotiation-tip={tip}" for tip in (*tips, *([head] if head else []))]

    def _move(self, refs: Mapping[str, str | None]) -> None:
        if not refs:
            return
        lines = (
            f"delete {ref}\0\0" if oid is None else f"update {ref}\0{oid}\0\0" for ref, oid in sorted(refs.items())
        )
        with noted(self._repository, JournalNote(self._space, seconds=AFTERWARDS_SECONDS)) as journal:
            # A log of agents' refs would hold on to every heartbeat.
            done = journal.after(
                journal.holding(self._repository.git).run(
                    "-c",
                    "core.logAllRefUpdates=false",
                    "update-ref",
                    "--stdin",
                    "-z",
                    stdin=os.fsencode("".join(lines)),
                    limit_seconds=max(AFTERWARDS_SECONDS, self._seconds_left()),
                )
            )
        if done.status:
            raise explain("update-ref", done.stderr, done.status)

    def _seconds_left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise RepositoryError(
                "not all agents' refs arrived in time", "those that arrived count; try again for the rest"
            )
        return left


#: How long to wait for a repository that does not answer, and in a process that lasts, for one that sends much.
_ANSWER_SECONDS: Final = 5.0
_PATIENCE_SECONDS: Final = 10.0
_FIRST_AGAIN_SECONDS, _LAST_AGAIN_SECONDS = 15.0, 300.0

#: Waits for the fetches, and returns why they failed, by remote.
Failures = Callable[[], dict[str, str]]


@dataclass
class _RemoteFetch:
    """The fetches from a repository: the one under way, and how earlier ones went."""

    stop: Event = field(default_factory=Event)
    thread: Thread | None = None
    trouble: str = ""
    failures: int = 0
    again: float = 0.0
    awaited: bool = False

    def begin(self, repository: Repository, remote: AgentRemote, settings: AgentSettings) -> None:
        """Begin a fetch, unless one is under way, or it is too early to try again."""
        self.awaited = False
        if (self.thread and self.thread.is_alive()) or time.monotonic() < self.again:
            return
        self.awaited, self.stop = self.failures == 0, Event()
        through = replace(repository, git=replace(repository.git, stopped=self.stop))
        self.thread = Thread(target=self._fetch, args=(through, remote, settings), daemon=True, name=remote.name)
        self.thread.start()

    def _fetch(self, repository: Repository, remote: AgentRemote, settings: AgentSettings) -> None:
        try:
            fetch_agents(
                repository,
                remote=remote.url,
                into=remote.space,
                settings=settings,
                mandate=remote.mandate,
                answer_seconds=_ANSWER_SECONDS,
                limit_seconds=LIMIT_SECONDS,
            )
        except RepositoryError as error:
            self.trouble = error.message
            pause = min(_FIRST_AGAIN_SECONDS * (1 << min(self.failures, 10)), _LAST_AGAIN_SECONDS)
            self.failures, self.again = self.failures + 1, time.monotonic() + pause
        else:
            self.trouble, self.failures, self.again = "", 0, 0.0


#: By the directory of this repository, and the name of the remote.
_fetches: dict[tuple[Path, str], _RemoteFetch] = {}


@contextmanager
def fetching_remotes(repository: Repository, settings: AgentSettings, *, lasting: bool) -> Iterator[Failures]:
    """Fetch from all other repositories while the block runs. What has not answered at its end is given up, unless the
    process is `lasting`."""
    directory = common_directory(repository)
    fetches = {remote: _fetches.setdefault((directory, remote.name), _RemoteFetch()) for remote in settings.remotes}
    if not lasting:
        fetches = {remote: _RemoteFetch() for remote in settings.remotes}

    def failures() -> dict[str, str]:
        until = time.monotonic() + _PATIENCE_SECONDS
        for fetch in fetches.values():
            if fetch.thread and (fetch.awaited or not lasting):
                fetch.thread.join(max(0.0, until - time.monotonic()) if lasting else None)
        return {remote.name: why for remote, fetch in fetches.items() if (why := _trouble(fetch))}

    try:
        for remote, fetch in fetches.items():
            fetch.begin(repository, remote, settings)
        yield failures
    except BaseException:
        lasting = False
        raise
    finally:
        if not lasting:
            for fetch in fetches.values():
                fetch.stop.set()


def _trouble(fetch: _RemoteFetch) -> str:
    if fetch.thread and fetch.thread.is_alive():
        return fetch.trouble or "it has not answered yet"
    return fetch.trouble
