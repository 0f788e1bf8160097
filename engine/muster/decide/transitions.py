"""Conditions in time: `lastTransitionTime` moves only when the status does."""

from datetime import datetime

from muster.model.times import format_time
from muster.model.tree import Tree


def condition(
    before: Tree, *, status: str, reason: str, message: str, now: datetime, generation: int | None = None
) -> Tree:
    """Return a condition (without its type) as Kubernetes' `meta.SetStatusCondition` would set it.

    `before` is the same condition as the last run derived it, or None.
    """
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
