"""The instant of a run: never before the last run's, unless a person asks for that explicitly.

A run at an earlier instant would silently undo later decisions: expired leases would not be expired yet. The clocks of
two machines differ by seconds, so a slightly earlier instant becomes the last run's.
"""

from datetime import datetime

from muster.data.times import brief, format_time
from muster.dataclass import dataclass
from muster.git.clock import CLOCK_SKEW
from muster.git.enginecommits import LastRun, last_run
from muster.git.errors import RepositoryError
from muster.git.repository import Repository


@dataclass(frozen=True, slots=True)
class Instant:
    """The instant of a run; `note` is why it differs from the requested one, or why it is unusual."""

    now: datetime
    note: str = ""
    refused: bool = False


def instant_of(repository: Repository, commit: str, now: datetime, *, back_in_time: bool = False) -> Instant:
    """Return the instant for a decision on a commit. `refused` is set if a reconcile must not use it; `note` says why.

    `back_in_time`: an earlier instant is intended.
    """
    last = last_run(repository, commit)
    if last is None or now >= last.instant:
        return Instant(now)
    behind = last.instant - now
    if back_in_time:
        return Instant(now, f"decided as of {format_time(now)}, before {_where(last)}, as asked for")
    if behind <= CLOCK_SKEW:
        return Instant(
            last.instant,
            f"deciding as of {format_time(last.instant)}, the instant of {_where(last)}: "
            f"the clock here is {brief(behind)} behind",
        )
    return Instant(
        now, f"{format_time(now)} is {brief(behind)} before {_where(last)}, {format_time(last.instant)}",
        refused=True,
    )  # fmt: skip


def writing_instant(repository: Repository, commit: str, now: datetime, *, back_in_time: bool = False) -> Instant:
    """Return the instant for a decision that is committed. RepositoryError if it would undo decisions
    unintentionally."""
    instant = instant_of(repository, commit, now, back_in_time=back_in_time)
    if instant.refused:
        raise RepositoryError(
            f"{instant.note}: a run as of then would undo later decisions",
            "correct the clock, or --now; if this time is right and that of the last run was wrong, run muster "
            "reconcile --back-in-time once",
        )
    return instant


def _where(last: LastRun) -> str:
    return f"the last run ({last.commit[:12]})" if last.commit else "the latest change in derived/"
