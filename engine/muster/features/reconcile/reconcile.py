"""Reconcile: evaluate a branch and commit what follows, once, by compare-and-swap.

When the branch moved meanwhile, locally or on the remote, the new head is evaluated: from what the run that did not
land has left, so that it costs what changed since. Only where it can be shown that the same follows there
(`muster.run.meanwhile`), the commit is made anew over the new head: never a rebase of an answer to another question.

Pacing: a fleet may say how many commits an hour it wants (`Fleet.spec.derived.maxCommitsPerHour`).

Past that, what changes waits for the next commit, which has it all as it is by then: it is put together, and nothing
is dropped. A loss of availability never waits, and whatever changes with it comes along.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from time import monotonic
from typing import TYPE_CHECKING, Final

from muster.cli.instants import Instant, instant_of, writing_instant
from muster.cli.listening import WRITER, Freshness, agent_refs_at, require_heard
from muster.cli.reconcile_result import ReconcileResult
from muster.data.finding import Finding
from muster.data.kinds import kind_of
from muster.features.plan.planfile import Planned, planned_instant, require_same
from muster.fleet.faults import stage_fault
from muster.git.enginecommits import last_runs, require_own
from muster.git.errors import RepositoryError
from muster.git.fastimport import build_commit
from muster.git.landing import Tips, find_tips, land
from muster.git.landing_derived import commit_to_evaluate, find_derived_tips, land_derived
from muster.git.pulse_memory import Remembered
from muster.git.repository import Repository
from muster.run.changes import commit_message, plain_message, summary
from muster.run.collector import without_collection
from muster.run.incremental import answer
from muster.run.progress import RunStep, doing
from muster.run.question import Question
from muster.run.state import RunState

if TYPE_CHECKING:
    from muster.run.answer import RunAnswer
    from muster.run.change import Change
    from muster.run.run import Settled
    from muster.run.workers import Workers

_HOUR: Final = timedelta(hours=1)


def waits_until(repository: Repository, commit: str, settled: "Settled") -> datetime | None:
    """Return when what follows from a commit may be committed; None for at once."""
    last = settled.last
    most = last.fleet.settings.most_commits
    if most is None or any(map(_is_loss, settled.changes)):
        return None
    instants = [instant for instant in last_runs(repository, commit, most) if instant > last.now - _HOUR]
    return min(instants) + _HOUR if len(instants) == most else None


def told_of_waiting(settled: "Settled", until: str) -> str:
    """Say what waits."""
    changes: Iterable[Change] = settled.changes
    return f"waits until {until} (Fleet.spec.derived.maxCommitsPerHour): {summary(changes)}"


def _is_loss(change: "Change") -> bool:
    """Whether a condition by which objects of a kind are judged is not True any more."""
    was, now = change.was, change.now
    return (
        was is not None
        and (was.sort, was.text) == ("condition", "True")
        and was.name == kind_of(change.object).headline
        and (now is None or now.text != "True")
    )


#: For so long what agents said is not asked again by a run that people were faster than.
_HEARD_LATELY_SECONDS = 5.0


def reconcile(
    repository: Repository,
    now: Callable[[], datetime],
    *,
    branch: str,
    remote: str | None = None,
    attempts: Iterable[int],
    freshness: Freshness = WRITER,
    back_in_time: bool = False,
    state: RunState | None = None,
    workers: "Workers | None" = None,
    planned: Planned | None = None,
) -> ReconcileResult:
    """Evaluate the branch's head and commit what follows; with a remote, push it there too.

    `now` is asked once per evaluation (see `git.push.branch_attempts`). With a remote, what is evaluated is its head,
    or the local one where that is ahead. `freshness` says how fresh the agents' refs must be. With `back_in_time` an
    earlier instant than the last run's is meant, and committed even where nothing else changes, so that it is the last
    run's from then on. `state` is what earlier runs left: with it only what changed and what is due is looked at, and
    the same decided.
    `workers` decide the whole fleet where it has to be. What was `planned` is carried out as of the plan's instant, or
    PlanMovedError raised where it is not what follows.
    RepositoryError where the branch does not exist, the two have diverged, a person's edit is in the way, the
    remote refuses, the branch keeps moving, agents could not be heard, or `now` lies before the last run.
    """
    asked = _ReconcileRequest(repository, now, branch, remote, freshness, back_in_time, state, workers, planned)
    run: _Run | None = None
    for attempt in attempts:
        with without_collection():
            run = (asked.follow(run) if run else None) or asked.decide(run)
            done = asked.land(run, attempt)
        if done is not None:
            return done
    raise RepositoryError(
        f"{branch} kept moving while it was evaluated, so nothing was committed",
        "run it again, or more rarely at one time: two reconciles do no harm but each makes the other start over",
    )


def _message(
    settled: "Settled", commit: str, notes: Sequence[str] = (), decided: str = ""
) -> tuple[str, frozenset[Finding]]:
    """The message of what follows from a commit; where muster fails to write it, a plain one, and the finding that
    says so. `decided` is the commit that was looked at, where people have committed more since: what they did to files
    is compared with that one."""
    fleet = settled.last.fleet
    read = replace(fleet.read, whole_at=fleet.read.whole_at or decided)
    last = replace(settled.last, commit=commit, fleet=replace(fleet, read=read))
    try:
        return commit_message(last, settled.changes, notes), frozenset()
    except Exception as error:  # noqa: BLE001 - the boundary for texts, as `each` is for decisions
        told = stage_fault("writing the commit message", error, "the commit has a plain one")
        return plain_message(last, len(settled.files)), frozenset((told,))


def _late(question: Question, state: RunState | None) -> timedelta | None:
    """For how long something has been due, by what an earlier run left; None for nothing, or where nothing is known."""
    try:
        due = state.overdue(question.second) if state is not None else None
    except sqlite3.Error:
        return None
    return None if due is None else timedelta(seconds=question.second - due)


@dataclass(frozen=True, slots=True)
class _Run:
    """A run that is to land: what was asked and found, and the message of its commit; empty where there is none.
    `listened`: when agents were heard, by the monotonic clock; `kept`: the state has what was found; `waits`: until
    when there is no commit, although something follows."""

    question: Question
    found: "RunAnswer"
    settled: "Settled"
    instant: Instant
    tips: Tips
    apart: Tips | None
    listened: float
    message: str = ""
    kept: bool = False
    waits: datetime | None = None
    late: timedelta | None = None


@dataclass(frozen=True, slots=True)
class _ReconcileRequest:
    """What a reconcile goes by."""

    repository: Repository
    now: Callable[[], datetime]
    branch: str
    remote: str | None
    freshness: Freshness
    back_in_time: bool
    state: RunState | None
    workers: "Workers | None"
    planned: Planned | None

    def decide(self, lost: _Run | None) -> _Run:
        """Evaluate the branch as it is now: with what agents said to the run that was lost, where that is no older than
        some seconds, for meanwhile people go on."""
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
            remembered = Remembered(repository, remote)
        if self.planned:
            instant = planned_instant(repository, base, self.planned)
        else:
            instant = writing_instant(repository, base, self.now(), back_in_time=self.back_in_time)
        question = Question(repository, base, heard, instant.now, remembered)
        late = _late(question, self.state)
        found = answer(question, self.state, self.workers)
        settled = found.settled
        if again and settled.first.fleet.refs.unheard - settled.first.fleet.refs.withheld:
            return self.decide(None)  # another run has heard more
        require_heard(repository, settled.first, heard, self.freshness)
        if self.planned:
            require_same(repository, self.planned, base, heard, settled)
        earlier = self.back_in_time and bool(instant.note)
        if not settled.files and not earlier:
            return _Run(question, found, settled, instant, tips, apart, listened, late=late)
        if not earlier and not self.planned and (until := waits_until(repository, base, settled)):
            return _Run(question, found, settled, instant, tips, apart, listened, waits=until, late=late)
        message, faults = _message(settled, tips.base, [instant.note] if earlier else [])
        settled = replace(settled, faults=settled.faults | faults)
        return _Run(question, found, settled, instant, tips, apart, listened, message, late=late)

    def follow(self, run: _Run) -> _Run | None:
        """Return the same run on the branch as it is now, where it stands there. None where that has to be evaluated:
        from what this run found, in which only what it would have written is due once more."""
        from muster.run.meanwhile import holds_at

        if self.state is not None and not run.kept:
            run.found.remember(self.state)
            run = replace(run, kept=True)
        if not run.message or self.back_in_time or run.apart:  # there, nobody but another engine is faster
            return None
        tips = find_tips(self.repository, self.branch, self.remote)
        instant = instant_of(self.repository, tips.base, run.instant.now)
        if instant.refused or instant.now != run.instant.now:
            return None  # another run has decided since
        doing(RunStep.FOLLOWING)
        if not holds_at(run.question, run.found, self.state, tips.base):
            return None
        message, _ = _message(run.settled, tips.base, decided=run.question.commit)
        return replace(run, tips=tips, message=message)

    def land(self, run: _Run, attempt: int) -> ReconcileResult | None:
        """Commit and push what follows; None where the branch moved meanwhile."""
        tips, settled, apart = run.tips, run.settled, run.apart
        base = commit = apart.base if apart else tips.base
        if run.message:
            files = {path: None if text is None else text.encode() for path, text in settled.files.items()}
            doing(RunStep.COMMITTING)
            commit = build_commit(self.repository, files, run.message, base)
            require_own(self.repository, commit, run.question.commit)
        if self.remote is not None:
            doing(RunStep.PUSHING)
        landed = land_derived(self.repository, tips, apart, commit) if apart else land(self.repository, tips, commit)
        if landed is None:
            return None
        if self.state is not None and not run.kept:
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
            overtaken=apart is None and tips.base != run.question.commit,
            waits=run.waits,
            late=run.late,
            state=self.state,
            head=tips.base if apart else commit,
        )
