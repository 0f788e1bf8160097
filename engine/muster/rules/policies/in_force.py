"""What is in force for every object of a fleet alike: its settings, its compiled policies, and what they may cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import Kind
from muster.fleet.settings import Settings

if TYPE_CHECKING:
    from muster.rules.conditions.policy import ConditionPolicy
    from muster.rules.notifications.policy import NotificationPolicy
    from muster.rules.placements.policy import CompiledPlacement
    from muster.rules.policies.witness import Witness
    from muster.rules.pulses.policy import PulsePolicy
    from muster.rules.remedies.policy import Remedy
    from muster.rules.taints.policy import TaintPolicy


@dataclass(frozen=True, slots=True)
class Compiled:
    """The sound policies of a fleet; the unsound ones are in `findings` and decide nothing.

    `placements` has every sound Placement, the misconfigured ones among them.
    """

    conditions: "tuple[ConditionPolicy, ...]"
    taints: "tuple[TaintPolicy, ...]"
    findings: tuple[Finding, ...]
    remedies: "tuple[Remedy, ...]" = ()
    placements: "Mapping[ObjectId, CompiledPlacement]" = field(default_factory=dict)
    pulses: "tuple[PulsePolicy, ...]" = ()
    notifications: "tuple[NotificationPolicy, ...]" = ()


NOTHING = Compiled((), (), ())


@dataclass(frozen=True, slots=True)
class InForce:
    """The settings and policies in force.

    `grace`: for how many durations of its lease a cluster may be silent. `counts`: how many sound objects of each kind
    there are in the fleet. `witness`: whom to tell how expressions were evaluated.
    """

    settings: Settings
    compiled: Compiled
    grace: int
    counts: Mapping[Kind, int]
    witness: "Witness | None" = None
    _shares: dict[tuple[Kind, ...], int] = field(default_factory=dict)

    def share(self, kinds: tuple[Kind, ...]) -> int:
        """The units that a policy over objects of these kinds may cost for each."""
        known = self._shares.get(kinds)
        if known is None:
            from muster.rules.policies.lazy import cost_share

            settings, count = self.settings, sum(self.counts.get(kind, 0) for kind in kinds)
            known = self._shares[kinds] = cost_share(settings.policy_cost, settings.expression_cost, count)
        return known
