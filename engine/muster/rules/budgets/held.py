"""Last stage: held effects, recorded on the objects themselves.

`status.muster.held` of an object lists its effects that a budget holds or that wait for approval, so its reader sees
why it does not change; for the latter since when, which Approvals refer to. Counts of clusters are on the Fleet alone,
because they would change every object.

An effect that waits for approval on a broken object goes on waiting, so that nobody has to approve it twice.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from muster.data.decision import Decision, Held, Path
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ALL
from muster.data.times import format_time
from muster.data.tree import Tree, mappings_at
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import REMOVAL, Approvals
from muster.rules.stages import Local

PATH: Path = ("status", "muster", "held")
_UNREAD = "it is approved, and waits until its object has no error any more"


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Held]:
    """Decide `status.muster.held` of every object with held effects."""
    kept = list(_kept(view, context.told(Allowance).approvals, now))
    yield from kept
    for id_, found in sorted(grouped((held.object, held) for held in (*view.held, *kept)).items()):
        entries = sorted({(held.effect, held.because.rule, _since(held)) for held in found})
        value: Tree = [
            {"effect": effect, "heldBy": rule, **({"since": since} if since else {})} for effect, rule, since in entries
        ]
        path, whole = PATH, view.now(id_, *PATH[:2])
        if isinstance(whole, dict):  # the stage `kept` decided all of it: replace it as a whole
            effects = {held.effect for held in found}
            others = [one for one in mappings_at(whole, "held") if one.get("effect") not in effects]
            value = sorted([*others, *value], key=lambda entry: str(entry["effect"]))
            path, value = PATH[:2], {**whole, "held": value}
        yield Decision(id_, path, value, found[0].because._replace(text=found[0].reason))


def _kept(view: View, approvals: Approvals, now: datetime) -> Iterator[Held]:
    """Effects that go on waiting on objects that keep their last state."""
    lost = view.previous.keys() - view.objects.keys() if view.unidentified else frozenset[ObjectId]()
    for id_ in sorted(view.broken | lost):
        for entry in mappings_at(view.previous.get(id_), *map(str, PATH)):
            effect = str(entry.get("effect"))
            if effect != REMOVAL and "since" in entry and (wait := approvals.wait(view, id_, effect, now)):
                held = approvals.held(id_, effect, wait)
                yield replace(held, reason=_UNREAD) if wait.approved else held


def _since(held: Held) -> str:
    return format_time(held.wait.since) if held.wait else ""


STAGE = Local("held", stage, derives=((ALL, (("status", "muster", "held"),)),))
