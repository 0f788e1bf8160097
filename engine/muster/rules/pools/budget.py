"""What may hold a replacement back besides the pool itself: the fleet's disruption budgets."""

from dataclasses import dataclass
from datetime import datetime

from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.pools.model import Cluster
from muster.rules.pools.rules import Rules

EFFECT = "replacement"


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a replacement waits: a reason for programs, a sentence for people, and when time alone ends the wait."""

    reason: str
    message: str
    until: datetime | None = None


def held_by_budget(view: View, allowance: Allowance, cluster: Cluster, rules: Rules) -> Hold | None:
    """Return what a DisruptionBudget says against replacing a cluster; None where it may go."""
    held = allowance.holds(view, cluster.id, EFFECT) if rules.asks_budgets else None
    return None if held is None else Hold("DisruptionBudget", f"{held.because.rule}: {held.reason}", held.horizon)
