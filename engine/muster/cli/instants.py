"""As of which instant a run decides: never earlier than the last run did, unless somebody asks for that by name.

To decide as of an earlier instant takes back what was decided since, without a word: leases that ran out have not run
out yet. Clocks of two machines differ by seconds, so a little earlier means: as of the last run's instant.
"""

from dataclasses import dataclass
from datetime import datetime

from muster.data.times import format_duration, format_time
from muster.git.clock import CLOCK_SKEW
from muster.git.enginecommits import LastRun, last_run
from muster.git.errors import RepositoryError
from muster.git.repository import Repository


@dataclass(frozen=True, slots=True)
class Instant:
    """The instant of a run, and why it is not the one that was asked for, or is an unusual one; else nothing."""

    now: datetime
    note: str = ""
    refused: bool = False


def instant_of(repository: Repository, commit: str, now: datetime, *, back_in_time: bool = False) -> Instant:
    """Return as of when to decide on a commit. `refused` is set where a reconcile would not, and `note` says why.

    `back_in_time`: an earlier instant is meant.
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
            f"the clock here is {format_duration(behind)} behind",
        )
    return Instant(
        now, f"{format_time(now)} is {format_duration(behind)} before {_where(last)}, {format_time(last.instant)}",
        refused=True,
    )  # fmt: skip


def writing_instant(repository: Repository, commit: str, now: datetime, *, back_in_time: bool = False) -> Instant:
    """Return as of when to decide and commit. RepositoryError where that would take decisions back unasked."""
    instant = instant_of(repository, commit, now, back_in_time=back_in_time)
    if instant.refused:
        raise RepositoryError(
            f"{instant.note}: deciding as of then would take back what has been decided since",
            "set the clock, or --now, right; if this one is right and the last run's was wrong, run muster reconcile "
            "--back-in-time once",
        )
    return instant


def _where(last: LastRun) -> str:
    return f"the last run ({last.commit[:12]})" if last.commit else "the latest change in derived/"
