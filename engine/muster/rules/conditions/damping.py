"""Damping: a new outcome must last for a while before it is adopted, in both directions.

Karmada's thresholds as a feature of every ConditionPolicy (`holdFor`). The pending outcome and since when it lasts lie
in the derived file (`status.muster.pending`), so a restart loses nothing: in Karmada the first probe after a restart is
believed at once. The window begins anew whenever the status that is observed changes; its end is the horizon.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from muster.data.decision import Path
from muster.data.times import format_time, later, try_time
from muster.data.tree import Tree
from muster.rules.conditions.policy import ConditionPolicy

PENDING: Path = ("status", "muster", "pending")
_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class Pending:
    """An outcome that is not adopted yet: its status and reason, since when it lasts, and when its window ends."""

    status: str
    reason: str
    since: datetime
    until: datetime | None

    def entry(self) -> Tree:
        """The pending outcome as it stands in the derived file."""
        return {"status": self.status, "reason": self.reason, "since": format_time(self.since)}


def pending(
    policy: ConditionPolicy, status: str, reason: str, *, current: Tree, known: Tree, now: datetime
) -> Pending | None:
    """Return the outcome as pending while `current` stays, or None where it is to be adopted now.

    `current` is the condition as the last run derived it, `known` the entry of the outcome that was pending then;
    either may be None. What is said for the first time is adopted at once, and so are another reason and message of
    the same status. The window is over at its end exactly: `now == since + holdFor` adopts.
    """
    before = current.get("status") if isinstance(current, dict) else None
    if not isinstance(before, str):
        return None
    hold = policy.hold_for.get(status, _NO_TIME)
    if before == status or hold <= _NO_TIME or _is_no_recovery(policy, before, status):
        return None
    since = try_time(known.get("since")) if isinstance(known, dict) and known.get("status") == status else None
    # A time ahead of now is one that muster did not write: a window must not be lengthened by hand.
    since = min(since or now, now)
    until = later(since, hold)
    return None if until is not None and now >= until else Pending(status, reason, since, until)


def _is_no_recovery(policy: ConditionPolicy, before: str, status: str) -> bool:
    """Whether the change is one between False and Unknown that the policy does not damp."""
    return not policy.hold_unhealthy and "True" not in (before, status)
