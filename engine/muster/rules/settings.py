"""The first thing a run remembers: by which settings it went.

They stand in the Fleet's derived part, so that a Fleet with an error in it changes nothing until it is mended
(`muster.fleet.settings`). A fleet that sets nothing has nothing to remember.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import OF_SPEC, Because, Decision
from muster.data.kinds import FLEET
from muster.fleet.settings import RECORD, recorded
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.stages import Local

_BECAUSE = Because("settings", OF_SPEC, "what this run went by; it stays in force while the Fleet has an error")


def stage(view: View, context: Context, _now: datetime) -> Iterator[Decision]:
    """Remember the settings of a sound Fleet."""
    settings = context.rules.settings
    for obj in view.of(FLEET):
        if settings.obeyed and (known := recorded(settings)):
            yield Decision(obj.id, RECORD, known, _BECAUSE)


STAGE = Local("settings", stage, derives=(((FLEET,), (RECORD,)),))
