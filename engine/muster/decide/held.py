"""Last stage: what was held, on the objects themselves.

`status.muster.held` of an object lists its effects that a budget holds or that wait for approval, so that whoever looks
at the cluster sees why it stays as it is; and of the latter since when, by which Approvals know them. How many clusters
of how many stands on the Fleet alone: it would touch every object otherwise.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.decide.context import Context
from muster.fleet.view import View
from muster.model.decision import Decision, Held, Path
from muster.model.ids import ObjectId
from muster.model.times import format_time
from muster.model.tree import Tree

PATH: Path = ("status", "muster", "held")


def stage(view: View, _context: Context, _now: datetime) -> Iterator[Decision]:
    """Decide `status.muster.held` of every object with held effects."""
    by_object: dict[ObjectId, list[Held]] = {}
    for held in view.held:
        by_object.setdefault(held.object, []).append(held)
    for id_, found in sorted(by_object.items()):
        entries = sorted({(held.effect, held.because.rule, _since(held)) for held in found})
        value: Tree = [
            {"effect": effect, "heldBy": rule, **({"since": since} if since else {})} for effect, rule, since in entries
        ]
        path, whole = PATH, view.now(id_, *PATH[:2])
        if isinstance(whole, dict):  # the stage `kept` has decided the whole of it: replace it as a whole
            path, value = PATH[:2], {**whole, "held": value}
        yield Decision(id_, path, value, found[0].because._replace(text=found[0].reason))


def _since(held: Held) -> str:
    return format_time(held.wait.since) if held.wait else ""
