"""When the last run decided: the instant in the trailer of the newest commit that muster made.

History may not reach it (a shallow clone), or have lost its message (a squashed merge). Then the latest time at which
anything changed under `derived/` is the nearest that can be known: no run decided earlier than that.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from muster.gitio.repository import LOG, Repository, has_derived, lines_at
from muster.model.times import try_time

TRAILER: Final = "Muster-Now"
_TRANSITION: Final = re.compile(rb"lastTransitionTime: [\"']?([0-9TZ:.+-]+)[\"']?$", re.MULTILINE)
_MOST: Final = 20  # commits that say the trailer's name and may not have it as a trailer


@dataclass(frozen=True, slots=True)
class LastRun:
    """`instant` is the `now` of the last run; `commit` the commit that says so, empty where only derived files do."""

    instant: datetime
    commit: str = ""


def last_run(repository: Repository, commit: str) -> LastRun | None:
    """Return the last run in a commit's history; None where nothing has been derived yet."""
    if not has_derived(repository, commit):
        return None
    return next(_runs(repository, commit, _MOST), None) or _latest_transition(repository, commit)


def last_runs(repository: Repository, commit: str, most: int) -> list[datetime]:
    """Return the instants of the last runs in a commit's history that committed anything, the newest first."""
    return [run.instant for run in islice(_runs(repository, commit, most + _MOST), most)]


def _runs(repository: Repository, commit: str, most: int) -> Iterator[LastRun]:
    """Yield the runs in a commit's history, the newest first; so many commits are looked at that name the trailer."""
    listing = repository.git.output(
        *LOG, "-n", str(most), "--extended-regexp", f"--grep=^{TRAILER}: ",
        f"--format=%H %(trailers:key={TRAILER},valueonly,separator=%x20)", commit, "--",
    )  # fmt: skip
    for line in os.fsdecode(listing).splitlines():
        made, _, values = line.partition(" ")
        instants = (try_time(value) for value in reversed(values.split()))
        if (instant := next((one for one in instants if one is not None), None)) is not None:
            yield LastRun(instant.replace(microsecond=0), made)


def _latest_transition(repository: Repository, commit: str) -> LastRun | None:
    said = lines_at(repository, "lastTransitionTime: ", commit, "derived")
    instants = [instant for text in _TRANSITION.findall(said) if (instant := try_time(text.decode()))]
    return LastRun(max(instants).replace(microsecond=0)) if instants else None
