"""Watch: reconcile when the repository changes, and at the horizon, when time alone changes something.

Level-based: whatever woke it, it evaluates the branch and the agent refs as they are now, and then sleeps. After a
failure (an unreachable remote, a person's edit in the way) it backs off; a failure never ends it.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, TypeAlias

from muster.cli.following import LONGEST_SLEEP, listen
from muster.cli.listening import WRITER, Freshness
from muster.cli.reconcile_result import ReconcileResult
from muster.data.codes import Code
from muster.data.ids import ObjectId
from muster.data.kinds import CSR
from muster.data.locations import FOLDER
from muster.data.times import earliest, format_time, second_at
from muster.features.metrics.observers import RunObserver
from muster.features.notify.notify import notify_due
from muster.features.pulses.publish import next_look, publish_due
from muster.features.reconcile.proposals import propose
from muster.features.reconcile.reconcile import reconcile, waiting_text
from muster.fleet.faults import fault_text, fell_back, is_any_fault
from muster.git.agents.listing import local_agent_refs
from muster.git.agents.refs import AgentRef
from muster.git.clock import wall_clock
from muster.git.errors import RepositoryError
from muster.git.push import branch_attempts
from muster.git.record.late import LateRenewals
from muster.git.recovery import recover
from muster.git.repository import Repository, branch_tip, common_directory
from muster.git.upkeep import run_maintenance
from muster.regex import Regex
from muster.rules.checks import waivers
from muster.run.memo.state import RunState
from muster.run.transitions.subjects import subject_line

if TYPE_CHECKING:
    from muster.agents.identity.authority import Authority
    from muster.run.shards.workers import Workers

#: When failed deliveries are tried again.
PUBLISH_AGAIN = timedelta(seconds=10)
#: A burst of changes is over after so long without one. If it does not end, the wait is as long as the last run took,
#: within these bounds, so that runs take at most half of the time. Changes are reported at most every 0.2 s.
QUIET_SECONDS, SHORTEST_BURST_SECONDS, LONGEST_BURST_SECONDS = 0.3, 0.5, 3.0
#: When objects that oscillate are evaluated again: time alone may end it.
TRY_REST_AGAIN = timedelta(minutes=5)
#: The derived files of certificate requests; approvals change them.
_REQUESTS = f"{FOLDER}{CSR.plural}/"
FIRST_BACK_OFF, LAST_BACK_OFF = timedelta(seconds=1), timedelta(minutes=2)

#: How many new findings a run prints.
_MAX_PRINTED = 10
#: Numbers and durations, in which repeated errors may differ.
_NUMBER = Regex(r"(?:\d+[dhms]?)+")

Say: TypeAlias = Callable[[str], None]


class Pushes:
    """What wakes a watch: `wake` is set when a ref changed here, and when a forge says that somebody pushed there."""

    def __init__(self) -> None:
        self.wake, self._heard = Event(), Event()

    def heard(self) -> None:
        """Somebody pushed to the remote: fetch now. For any thread."""
        self._heard.set()
        self.wake.set()

    def take(self) -> bool:
        """Has somebody pushed since the last call?"""
        heard = self._heard.is_set()
        self._heard.clear()
        return heard


class Watcher:
    """The state of one watch: the last refs, and when to run again.

    With a remote, its branch is fetched every `interval` and commits are pushed there. Without one only the agents'
    refs are fetched, if the repository has a remote and agents use refs. File sinks write below `sink_dir`. With
    `state`, runs are incremental; `workers` make full runs. With an `authority`, approved requests are signed.
    `observers` are called about each run. It fetches when `pushes` says so, besides its interval.
    """

    def __init__(
        self,
        repository: Repository,
        branch: str,
        remote: str | None,
        interval: timedelta,
        say: Say,
        *,
        clock: Callable[[], datetime],
        freshness: Freshness = WRITER,
        verbose: bool = False,
        sink_dir: Path | None = None,
        state: RunState | None = None,
        workers: "Workers | None" = None,
        authority: "Authority | None" = None,
        observers: Sequence["RunObserver"] = (),
        pushes: Pushes | None = None,
    ) -> None:
        self.pushes = pushes or Pushes()
        self._authority, self._signs = authority, authority is not None
        self._sink_dir, self._kept, self._workers, self.observers = sink_dir, state, workers, observers
        self.repository, self.branch, self._remote = repository, branch, remote
        self._interval, self.say = interval, say
        self._freshness, self._verbose, self._present = freshness, verbose, clock
        self._fetches = remote is not None
        self._clock: datetime | None = None
        self._seen: object = None
        self._due: datetime | None = None
        self._next_fetch: datetime | None = None
        self._failures = self._hurries = 0
        self._trouble = ""
        self._unproposed = frozenset[str]()
        self._restless: frozenset[ObjectId | None] = frozenset()
        self._standing = frozenset[str]()
        self._late = LateRenewals()

    def look(self) -> None:
        """Reconcile if a ref changed, something is due, or it is time to fetch."""
        with ExitStack() as watched:
            for observer in self.observers:
                watched.enter_context(observer.running())
            self._look()

    def _look(self) -> None:
        now = self._present()
        self._mind_the_clock(now)
        fetching = (self.pushes.take() or self._next_fetch is None or now >= self._next_fetch) and self._fetches
        try:
            seen = self._state()
            if not fetching and seen == self._seen and (self._due is None or now < self._due):
                return
            self._print(now, *recover(self.repository))
            done = reconcile(
                self.repository,
                self._present,
                is_present=True,
                branch=self.branch,
                remote=self._remote,
                attempts=branch_attempts(),
                freshness=self._freshness,
                state=self._kept,
                workers=self._workers,
                late_renewals=self._late,
            )
            self._fetches = self._remote is not None or (self._freshness.ask and done.heard.has_remote)
            self._tell(done)
            publication = publish_due(self.repository, done.settled.last, self._remote, folder=self._sink_dir)
            notified = notify_due(self.repository, done, self._remote)
            for sent in (publication, notified):
                self._print(done.settled.last.now, *sent.lines(), *(fault.message for fault in sent.faults))
            self._sign(done)
            self._propose(done)
            run_maintenance(self.repository, in_thread=True)
            self._seen, self._failures, self._trouble = _accounted(done), 0, ""
            self._due = earliest(self._next(done), notified.next)
            publication.told = notified.told
            for observer in self.observers:
                observer.completed(done, publication)
            if any(sent.failures or sent.faults for sent in (publication, notified)):
                again = self._present() + PUBLISH_AGAIN
                self._due = again if self._due is None else min(self._due, again)
        except RepositoryError as error:
            self._back_off(error)
            if (trouble := _NUMBER.replace(error.message, "")) != self._trouble:
                self._print(self._present(), error.message + (f" ({error.hint})" if error.hint else ""))
            self._trouble = trouble
        except Exception as error:  # noqa: BLE001 - watch survives everything but a signal
            self._back_off(error)
            self._print(self._present(), f"a fault in muster, not in your fleet: {fault_text(error)}")
        if self._fetches:
            self._next_fetch = self._present() + self._interval

    def _print(self, instant: datetime, *lines: str) -> None:
        for line in lines:
            self.say(f"{format_time(instant)} {line}")

    def _sign(self, done: ReconcileResult) -> None:
        """Sign approved requests, if the run changed derived files of requests."""
        self._signs |= self._authority is not None and any(path.startswith(_REQUESTS) for path in done.settled.files)
        if self._authority is None or not self._signs:
            return
        from muster.features.sign.signing import sign

        signed = sign(
            self.repository,
            self._authority,
            self._present,
            branch=self.branch,
            remote=self._remote,
            attempts=branch_attempts(),
            freshness=self._freshness,
        )
        self._print(self._present(), *map(str, signed.changes), *signed.refused)
        self._signs = False

    def _propose(self, done: ReconcileResult) -> None:
        """Propose effects that wait for approval, and print what is new."""
        proposed = propose(self.repository, done, self.branch, self._remote)
        news = [str(proposal) for proposal in proposed.proposals if proposal.state.value]
        self._print(done.settled.last.now, *news, *(line for line in proposed.troubles if line not in self._unproposed))
        self._unproposed = frozenset(proposed.troubles)

    def _mind_the_clock(self, now: datetime) -> None:
        """If the clock was set back, run now."""
        if self._clock is not None and now < self._clock:
            self._due, self._next_fetch = now, None
        self._clock = now

    def _back_off(self, error: Exception) -> None:
        for observer in self.observers:
            observer.failed(error)
        self._failures += 1
        self._due = self._present() + _longer(self._failures)
        self._seen = self._state_or_none()

    def _next(self, done: ReconcileResult) -> datetime | None:
        """When the next run is due without changes. Something that stays due at the run's own instant is tried again
        with growing pauses."""
        run, due = done.settled.last, next_look(done.settled.last)
        if done.waits:
            due = min(due or done.waits, done.waits)
        if not done.settled.rested:
            due = min(due or run.now + TRY_REST_AGAIN, run.now + TRY_REST_AGAIN)
        self._hurries = self._hurries + 1 if due is not None and due <= run.now else 0
        return self._present() + _longer(self._hurries) if self._hurries else due

    def pause(self) -> float:
        """Seconds to sleep if nothing changes: until a whole second, as runs have whole seconds."""
        instants = [instant for instant in (self._due, self._next_fetch) if instant is not None]
        exactly = wall_clock()
        due = second_at(min(instants, default=None))
        until = LONGEST_SLEEP if due is None else min(due - exactly, LONGEST_SLEEP)
        return max(0.0, until.total_seconds())

    def _state(self) -> object:
        tip = branch_tip(self.repository, self.branch)
        return tip, _tips(local_agent_refs(self.repository, tip or "HEAD").refs)

    def _state_or_none(self) -> object:
        try:
            return self._state()
        except Exception as error:  # noqa: BLE001 - it has failed before; watch survives it
            if not isinstance(error, RepositoryError):
                fell_back("reading the refs", error)
            return None

    def _tell(self, done: ReconcileResult) -> None:
        now, lines = done.settled.last.now, list[str]()
        if self._verbose:
            lines += [*((f"looked at {done.looked_at}",) if self._kept is not None else ()), *done.how]
        if done.commit:
            lines.append(f"{done.commit[:12]} {subject_line(done.settled.changes)}")
        if done.waits and self._verbose:
            lines.append(waiting_text(done.settled, format_time(done.waits)))
        if done.followed:
            lines.append(done.followed)
        if done.left_behind:
            lines.append(f"the local branch stays behind: {done.left_behind}")
        self._print(now, *lines)
        findings = waivers.shown(done.settled.findings, now)
        restless = {finding.object: finding.message for finding in findings if finding.code == Code.DOES_NOT_SETTLE}
        self._print(now, *(message for id_, message in restless.items() if id_ not in self._restless))
        self._restless = frozenset(restless)
        errors = [finding for finding in findings if finding.fails and finding.code != Code.DOES_NOT_SETTLE]
        if errors and done.commit:
            self.say(f"  {len(errors)} errors; see muster validate")
        standing = [
            finding
            for finding in findings
            if is_any_fault(finding) or finding.code == Code.RUN_AHEAD or (self._verbose and not finding.fails)
        ]
        texts = {f"  {finding.code}: {finding.message}": None for finding in standing}
        for text in [text for text in texts if text not in self._standing][:_MAX_PRINTED]:
            self.say(text)
        self._standing = frozenset(texts)


def _accounted(done: ReconcileResult) -> object:
    """The refs that a run has evaluated and left, which may be older than the present ones."""
    return done.tip, _tips(done.heard.refs)


def _tips(refs: Iterable[AgentRef]) -> tuple[tuple[str, str], ...]:
    return tuple([(ref.name, ref.commit) for ref in refs])


def watch(watcher: Watcher, stop: Event) -> None:
    """Run until `stop` is set."""
    wake, say = watcher.pushes.wake, watcher.say
    repository = watcher.repository
    listener = Thread(target=listen, args=(common_directory(repository), wake, stop), daemon=True, name="muster-watch")
    listener.start()
    say(f"watching {watcher.branch} of {repository.worktree or repository.git_dir}")
    while not stop.is_set():
        wake.clear()
        began = monotonic()
        watcher.look()
        took = monotonic() - began
        pause = watcher.pause()
        for observer in watcher.observers:
            observer.sleeps(pause)
        if wake.wait(pause):
            _wait_until_quiet(wake, stop, min(max(took, SHORTEST_BURST_SECONDS), LONGEST_BURST_SECONDS))
    listener.join(timeout=2)


def _wait_until_quiet(wake: Event, stop: Event, longest_seconds: float) -> None:
    """Return when refs have stopped changing, or after `longest_seconds`: simultaneous pushes make one run."""
    until = monotonic() + longest_seconds
    while not stop.is_set() and (left := until - monotonic()) > 0:
        wake.clear()
        if not wake.wait(min(QUIET_SECONDS, left)):
            return


def _longer(times: int) -> timedelta:
    """The pause after so many runs in a row that failed or changed nothing."""
    return min(FIRST_BACK_OFF * (1 << min(times - 1, 10)), LAST_BACK_OFF)
