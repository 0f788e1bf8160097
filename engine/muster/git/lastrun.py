"""When the last run decided: the instant that the newest of the engine's own commits names.

History may not reach it (a shallow clone), or have lost it (a squashed merge, a rebase). Then the latest time at which
anything changed under `derived/` is the nearest that can be known: no run decided earlier than that.
"""

import re
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from muster.data.times import try_time
from muster.git.enginecommits import EngineCommits
from muster.git.repository import Repository, has_derived, lines_at

_TRANSITION: Final = re.compile(rb"lastTransitionTime: [\"']?([0-9TZ:.+-]+)[\"']?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LastRun:
    """`instant` is the `now` of the last run; `commit` the commit that says so, empty where only derived files do."""

    instant: datetime
    commit: str = ""


def last_run(repository: Repository, commit: str) -> LastRun | None:
    """Return the last run in a commit's history; None where nothing has been derived yet."""
    if not has_derived(repository, commit):
        return None
    with closing(EngineCommits(repository, commit)) as engine:
        last = engine.last()
        if last is None:
            return _latest_transition(repository, commit)
        last = engine.turned_back(last) or last
    return LastRun(last.now, last.commit)


def last_runs(repository: Repository, commit: str, most: int) -> list[datetime]:
    """Return the instants of the last runs in a commit's history that changed anything, the newest first."""
    with closing(EngineCommits(repository, commit)) as engine:
        return [run.now for run in islice(engine.runs(), most)]


def _latest_transition(repository: Repository, commit: str) -> LastRun | None:
    said = lines_at(repository, "lastTransitionTime: ", commit, "derived")
    instants = [instant for text in _TRANSITION.findall(said) if (instant := try_time(text.decode()))]
    return LastRun(max(instants).replace(microsecond=0)) if instants else None
