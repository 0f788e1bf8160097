"""Reconcile: evaluate a branch and commit the result once, by compare-and-swap.

If the branch moves meanwhile, locally or on the remote, the new head is evaluated at the same instant, and what the run
that did not land decided is decided again only where it may have changed (`muster.run.resumed`). So a commit always has
the result for its parent, and never an older one.

Pacing: `Fleet.spec.derived.maxCommitsPerHour` limits commits. Past it changes wait for the next commit, which has the
result at that time, so nothing is lost. A loss of availability never waits, nor do the changes in the same run.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Final

from muster.cli.instants import Instant, instant_of, writing_instant
from muster.cli.listening import WRITER, Freshness, agent_refs_at, require_heard
from muster.cli.reconcile_result import ReconcileResult
from muster.data.finding import Finding
from muster.data.kinds import kind_of
from muster.dataclass import dataclass
from muster.features.plan.planfile import Planned, planned_instant, require_same
from muster.features.reconcile.recording import Recording, recording_of
from muster.fleet.faults import stage_fault
from muster.git.clock import CLOCK_SKEW
from muster.git.enginecommits import last_runs, require_own
from muster.git.errors import RepositoryError
from muster.git.fastimport import build_commits
from muster.git.landing.landing import Tips, find_tips, land
from muster.git.landing.landing_derived import commit_to_evaluate, find_derived_tips, land_derived
from muster.git.memory.pulses import Remembered
from muster.git.record.late import LateRenewals
from muster.git.repository import Repository
from muster.run.answer import RunAnswer
from muster.run.collector import without_collection
from muster.run.incremental import answer
from muster.run.memo.state import RunState
from muster.run.progress import RunStep, doing
from muster.run.question import Question
from muster.run.run import Settled
from muster.run.transition import Transition
from muster.run.transitions.subjects import subject_line
from muster.run.transitions.transitions import commit_message, plain_message

if TYPE_CHECKING:
    from muster.run.shards.workers import Workers

_HOUR: Final = timedelta(hours=1)


def waits_until(repository: Repository, commit: str, settled: Settled) -> datetime | None:
    """Return when the result may be committed; None: at once. Commits ahead of the run's instant do not count."""
    last = settled.last
    most = last.fleet.settings.most_commits
    if most is None or any(map(_is_loss, settled.changes)):
        return None
    instants = [instant for instant in last_runs(repository, commit, most) if -_HOUR < instant - last.now <= CLOCK_SKEW]
    return min(instants) + _HOUR if len(instants) == most else None


def waiting_text(settled: Settled, until: str) -> str:
    """A line about the changes that wait."""
    return f"waits until {until} (Fleet.spec.derived.maxCommitsPerHour): {subject_line(settled.changes)}"


def _is_loss(change: Transition) -> bool:
    """Does a headline condition stop being True?"""
    was, now = change.was, change.now
    return (
        was is not None
        and (was.sort, was.text) == ("condition", "True")
        and was.name == kind_of(change.object).headline
        and (now is None or now.text != "True")
    )


#: How long agent refs are reused by a run that is repeated because the branch moved.
_HEARD_LATELY_SECONDS = 5.0


def reconcile(
    repository: Repository,
    now: Callable[[], datetime],
    *,
    branch: str,
    remote: str | None = None,
    attempts: Iterable[int],
    freshness: Freshness = WRITER,
    is_present: bool = False,
    back_in_time: bool = False,
    state: RunState | None = None,
    workers: "Workers | None" = None,
    planned: Planned | None = None,
    late_renewals: LateRenewals | None = None,
) -> ReconcileResult:
    """Evaluate the branch's head and commit the result; with a remote, push it there too.

    `now` is called once per evaluation (see `git.push.branch_attempts`); `is_present`: it is the clock. With a remote,
    its head is evaluated, or the local one if that is ahead. `freshness`: how fresh the agents' refs must be.
    `back_in_time`: evaluate at an earlier instant than the last run's. `state` of earlier runs makes the evaluation
    incremental, with the same result; `workers` make full runs. A `planned` result is committed at the plan's instant;
    PlanMovedError if the result differs. `late_renewals` sees the agents' refs of each run, and goes
    into the next record.
    RepositoryError if the branch does not exist, the two have diverged, a person's edit is in the way, the remote
    refuses, the branch keeps moving, agent refs could not be fetched, or `now` is before the last run.
    """
    request = _ReconcileRequest(
        repository, now, is_present, branch, remote, freshness, back_in_time, state, workers, planned, late_renewals
    )
    run: _Run | None = None
    for attempt in attempts:
        with without_collection():
            run = request.decide(run)
            done = request.land(run, attempt)
        if done is not None:
            return done
    raise RepositoryError(
        f"{branch} kept moving while it was evaluated, so nothing was committed",
        "run it again, or more rarely at one time: two reconciles do no harm but each makes the other start over",
    )


def _message(settled: Settled, commit: str, notes: Sequence[str] = ()) -> tuple[str, frozenset[Finding]]:
    """The message of what follows from a commit; where muster fails to write it, a plain one, and the finding that
    says so."""
    last = replace(settled.last, commit=commit)
    try:
        return commit_message(last, settled.changes, notes), frozenset()
    except Exception as error:  # noqa: BLE001 - the boundary for texts, as `each` is for decisions
        fault = stage_fault("writing the commit message", error, "the commit has a plain one")
        return plain_message(last, len(settled.files)), frozenset((fault,))


def _late(question: Question, state: RunState | None) -> timedelta | None:
    """How long something has been due, according to the state; None if nothing is, or without a state."""
    try:
        due = state.overdue(question.second) if state is not None else None
    except sqlite3.Error:
        return None
    return None if due is None else timedelta(seconds=question.second - due)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that is to land: what was asked and found, and the message of its commit; empty if there is none.
    `listened`: when agents were heard, by the monotonic clock; `waits`: until when there is no commit, although
    something follows."""

    question: Question
    found: RunAnswer
    settled: Settled
    instant: Instant
    tips: Tips
    apart: Tips | None
    listened: float
    message: str = ""
    notes: tuple[str, ...] = ()
    waits: datetime | None = None
    late: timedelta | None = None


@dataclass(frozen=True, slots=True)
class _ReconcileRequest:
    """The arguments of a reconcile."""

    repository: Repository
    now: Callable[[], datetime]
    is_present: bool
    branch: str
    remote: str | None
    freshness: Freshness
    back_in_time: bool
    state: RunState | None
    workers: "Workers | None"
    planned: Planned | None
    late_renewals: LateRenewals | None

    def decide(self, lost: _Run | None) -> _Run:
        """Evaluate the branch as it is now; with the agent refs of the run that did not land, if they are only seconds
        old."""
        repository, remote = self.repository, self.remote
        if remote is not None:
            doing(RunStep.FETCHING)
        tips = find_tips(repository, self.branch, remote)
        apart = find_derived_tips(repository, tips)
        base = commit_to_evaluate(repository, tips, apart)
        doing(RunStep.LISTENING)
        again = lost is not None and monotonic() - lost.listened < _HEARD_LATELY_SECONDS
        if lost is not None and again:
            heard, listened, remembered = lost.question.heard, lost.listened, lost.question.remembered
        else:
            heard, listened = agent_refs_at(repository, base, self.freshness, first=remote), monotonic()
            remembered = Remembered(repository, remote, heard.own)
        before = self._kept(lost, base) if lost is not None else None
        if self.planned:
            instant = planned_instant(repository, base, self.planned)
        elif before is not None:
            instant = before.instant
        else:
            now = self.now()
            clock = now if self.is_present else None
            instant = writing_instant(repository, base, now, back_in_time=self.back_in_time, clock=clock)
        question = Question(repository, base, heard, instant.now, remembered)
        late = _late(question, self.state)
        if self.late_renewals is not None:
            self.late_renewals.look(repository, heard, question.second)
        if before is not None:
            doing(RunStep.FOLLOWING)
        found = answer(question, self.state, self.workers, earlier=before.found if before else None)
        settled = replace(found.settled, faults=found.settled.faults | instant.findings)
        if again and settled.first.fleet.refs.unheard - settled.first.fleet.refs.withheld:
            return self.decide(None)  # another run has read more refs
        require_heard(repository, settled.first, heard, self.freshness)
        if self.planned:
            require_same(repository, self.planned, base, heard, settled)
        earlier = self.back_in_time and bool(instant.note)
        if not settled.files:
            return _Run(question, found, settled, instant, tips, apart, listened, late=late)
        if not earlier and not self.planned and (until := waits_until(repository, base, settled)):
            return _Run(question, found, settled, instant, tips, apart, listened, waits=until, late=late)
        notes = (instant.note,) if earlier else ()
        message, faults = _message(settled, tips.base, notes)
        settled = replace(settled, faults=settled.faults | faults)
        return _Run(question, found, settled, instant, tips, apart, listened, message, notes, late=late)

    def _kept(self, lost: _Run, commit: str) -> _Run | None:
        """The run that did not land, if the state has it and a commit can still be decided at its instant."""
        if self.state is None:
            return None
        lost.found.remember(self.state)
        if not lost.message or self.back_in_time or self.planned:
            return None
        clock = lost.instant.now if self.is_present else None
        instant = instant_of(self.repository, commit, lost.instant.now, clock=clock)
        # Another run may have decided since.
        same = not instant.refused and (instant.now, instant.findings) == (lost.instant.now, lost.instant.findings)
        return lost if same else None

    def land(self, run: _Run, attempt: int) -> ReconcileResult | None:
        """Commit and push the result; None if the branch moved meanwhile."""
        tips, settled, apart = run.tips, run.settled, run.apart
        base = commit = apart.base if apart else tips.base
        record, recorded = Recording(), list[str]()
        if run.message:
            doing(RunStep.COMMITTING)
            record = recording_of(run.question, settled, tips.base, run.notes, self.remote, self.late_renewals)
            message = f"{run.message}{record.trailer}"
            commit, *recorded = build_commits(self.repository, settled.files, message, base, record.commits)
            require_own(self.repository, commit, run.question.commit)
        if self.remote is not None:
            doing(RunStep.PUSHING)
        update = record.update(recorded)
        faults = record.stored(self.repository, recorded) if self.remote is None else frozenset()
        if apart:
            landed = land_derived(self.repository, tips, apart, commit, update)
        else:
            landed = land(self.repository, tips, commit, update)
        if landed is None:
            return None
        faults |= record.kept(run.question, settled, recorded, landed, self.remote)
        settled = replace(settled, faults=settled.faults | faults)
        if self.late_renewals is not None and recorded:
            self.late_renewals.clear()
        if self.state is not None:
            doing(RunStep.KEEPING)
            run.found.remember(self.state)
        return ReconcileResult(
            settled,
            run.question,
            run.question.heard,
            run.instant,
            commit if commit != base else None,
            attempt,
            landed.local,
            run.found,
            landed.pushed,
            landed.left_behind,
            landed.followed,
            waits=run.waits,
            late=run.late,
            state=self.state,
            head=tips.base if apart else commit,
        )
