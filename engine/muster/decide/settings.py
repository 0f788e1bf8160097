"""The first thing a run remembers: by which settings it went.

They stand in the Fleet's derived part, so that a Fleet with an error in it changes nothing until it is mended
(`muster.fleet.settings`). A fleet that sets nothing has nothing to remember.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.fleet.fleet import Fleet
from muster.fleet.settings import RECORD, recorded
from muster.model.decision import Because, Decision
from muster.model.kinds import FLEET

_BECAUSE = Because("settings", text="what this run went by; it stays in force while the Fleet has an error")


def stage(fleet: Fleet, _now: datetime) -> Iterator[Decision]:
    """Remember the settings of a sound Fleet."""
    for obj in fleet.of(FLEET):
        if fleet.settings.obeyed and (known := recorded(fleet.settings)):
            yield Decision(obj.id, RECORD, known, _BECAUSE)
