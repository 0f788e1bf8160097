"""The instant of a run: never before the last run's, unless a person asks for that explicitly.

A run at an earlier instant would silently undo later decisions: expired leases would not be expired yet. The clocks of
two machines differ by seconds, so a slightly earlier instant becomes the last run's.

A run that decided at an instant ahead of the clock stops nothing: its own clock was wrong, or somebody forged its
commit. It does not count, a finding names it, and the next run that commits replaces it.
"""

from datetime import datetime

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.times import brief, format_time
from muster.dataclass import dataclass
from muster.git.clock import CLOCK_SKEW, wall_clock
from muster.git.enginecommits import EngineCommit, LastRun, last_run
from muster.git.errors import RepositoryError
from muster.git.repository import Repository


@dataclass(frozen=True, slots=True)
class Instant:
    """The instant of a run; `note` is why it differs from the requested one, or why it is unusual. `findings` name the
    runs ahead of the clock."""

    now: datetime
    note: str = ""
    refused: bool = False
    findings: frozenset[Finding] = frozenset()


def instant_of(
    repository: Repository, commit: str, now: datetime, *, back_in_time: bool = False, clock: datetime | None = None
) -> Instant:
    """Return the instant for a decision on a commit. `refused` is set if a reconcile must not use it; `note` says why.

    `back_in_time`: an earlier instant is intended. `clock`: the present, if it is not the machine's. An instant later
    than the present, in a fleet of the future, is the present.
    """
    present = max(now, clock or wall_clock())
    is_live = now + CLOCK_SKEW >= present
    last = last_run(repository, commit, now, present + CLOCK_SKEW, is_live=is_live)
    findings = frozenset(_ahead_finding(run) for run in last.ahead)
    if last.instant is None or now >= last.instant:
        return Instant(now, findings=findings)
    behind = last.instant - now
    if back_in_time:
        note = f"decided as of {format_time(now)}, before {_name_of_run(last)}, as asked for"
        return Instant(now, note, findings=findings)
    if behind <= CLOCK_SKEW:
        note = f"deciding as of {format_time(last.instant)}, the instant of {_name_of_run(last)}: "
        return Instant(last.instant, f"{note}the clock here is {brief(behind)} behind", findings=findings)
    note = f"{format_time(now)} is {brief(behind)} before {_name_of_run(last)}, {format_time(last.instant)}"
    return Instant(now, note, refused=True, findings=findings)


def writing_instant(
    repository: Repository, commit: str, now: datetime, *, back_in_time: bool = False, clock: datetime | None = None
) -> Instant:
    """Return the instant for a decision that is committed. RepositoryError if it would undo decisions
    unintentionally."""
    instant = instant_of(repository, commit, now, back_in_time=back_in_time, clock=clock)
    if instant.refused:
        raise RepositoryError(
            f"{instant.note}: a run as of then would undo later decisions",
            "correct --now, or leave it out; to take the later decisions back, run muster reconcile --back-in-time",
        )
    return instant


def is_ahead(now: datetime) -> bool:
    """Does an instant lie ahead of the clock, by more than two clocks may differ?"""
    return now > wall_clock() + CLOCK_SKEW


def _ahead_finding(run: EngineCommit) -> Finding:
    message = (
        f"commit {run.commit[:12]} says that a run decided as of {format_time(run.now)}, which lies ahead of the "
        "clock: it does not count as a run"
    )
    hint = "correct the clock that was wrong; if no clock was, find out who pushed the commit"
    return finding(Code.RUN_AHEAD, message, hint=hint)


def _name_of_run(last: LastRun) -> str:
    return f"the last run ({last.commit[:12]})" if last.commit else "the latest change in derived/"
