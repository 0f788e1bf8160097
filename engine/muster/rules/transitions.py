"""Conditions in time: `lastTransitionTime` changes only with the status."""

from datetime import datetime

from muster.data.decision import Because, Decision
from muster.data.ids import ObjectId
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.fleet.view import View


def condition(
    before: Tree, status: str, reason: str, message: str, *, now: datetime, generation: int | None = None
) -> Tree:
    """Return a condition (without its type) as Kubernetes' `meta.SetStatusCondition` would set it. `before`: the last
    run's, or None."""
    same = isinstance(before, dict) and before.get("status") == status
    since = before.get("lastTransitionTime") if same else None
    decided: Tree = {
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since if isinstance(since, str) else format_time(now),
    }
    if generation is not None:
        decided["observedGeneration"] = generation
    return decided


def condition_decision(
    view: View,
    id_: ObjectId,
    type_: str,
    statement: tuple[str, str, str],
    because: Because,
    now: datetime,
    horizon: datetime | None = None,
    generation: int | None = None,
) -> Decision:
    """Decide a condition of an object: its status, reason and message, over what the last run derived."""
    decided = condition(view.conditions_before(id_).get(type_), *statement, now=now, generation=generation)
    return Decision(id_, ("status", "conditions", (type_,)), decided, because, horizon)


def unchanged_condition(
    id_: ObjectId, type_: str, before: Tree, because: Because, horizon: datetime | None = None
) -> Decision:
    """Decide a condition with its known value."""
    value = {name: field for name, field in before.items() if name != "type"}
    return Decision(id_, ("status", "conditions", (type_,)), value, because, horizon)
