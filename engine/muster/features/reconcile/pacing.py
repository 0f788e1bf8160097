"""Pacing: a fleet may say how many commits an hour it wants (`Fleet.spec.derived.maxCommitsPerHour`).

Past that, what changes waits for the next commit, which has it all as it is by then: it is put together, and nothing
is dropped. A loss of availability never waits, and whatever changes with it comes along.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from muster.data.kinds import kind_of
from muster.git.lastrun import last_runs
from muster.git.repository import Repository

if TYPE_CHECKING:
    from muster.run.change import Change
    from muster.run.settled import Settled

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
    from muster.run.changes import summary

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
