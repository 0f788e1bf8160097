"""Records the settings of a run in the Fleet's derived part, so that an invalid Fleet changes nothing
(`muster.fleet.settings`). Default settings are not recorded."""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import OF_SPEC, Because, Decision
from muster.data.kinds import FLEET
from muster.fleet.settings import RECORD, to_record
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.stages import Local

_BECAUSE = Because("settings", OF_SPEC, "what this run went by; it stays in force while the Fleet has an error")


def stage(view: View, context: Context, _now: datetime) -> Iterator[Decision]:
    """Record the settings of a valid Fleet."""
    settings = context.rules.settings
    for obj in view.of(FLEET):
        if settings.obeyed and (known := to_record(settings)):
            yield Decision(obj.id, RECORD, known, _BECAUSE)


STAGE = Local("settings", stage, derives=(((FLEET,), (RECORD,)),))
