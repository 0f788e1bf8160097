"""The scopes of one stage: what the expressions of a policy see of an object, and what they may cost together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muster import cel
from muster.fleet.leases import effective_leases, grace_factor
from muster.model.kinds import Kind
from muster.policy.adapters import Adapters
from muster.policy.lazy import PolicyScope, cost_share
from muster.policy.policies import Policy
from muster.policy.ruled import Ruled
from muster.policy.variables import Sight


@dataclass(frozen=True, slots=True)
class Scopes(Sight):
    """Makes the scopes of one stage."""

    fleet: Ruled
    shares: dict[tuple[Kind, ...], int] = field(default_factory=dict)

    @classmethod
    def of(cls, fleet: Ruled, now: datetime) -> "Scopes":
        """Prepare for the objects of a fleet at an instant."""
        return cls(fleet, cel.Clock(now), effective_leases(fleet), grace_factor(fleet), Adapters.of(fleet))

    def for_policy(self, policy: Policy, base: Mapping[str, object]) -> PolicyScope:
        """The base with the policy's own `params` and `variables`, and what the policy may cost for one object."""
        return PolicyScope({**base, "params": policy.params}, policy.variables, self.share(policy.target.kinds))

    def share(self, kinds: tuple[Kind, ...]) -> int:
        """The units that a policy over objects of these kinds may cost for each."""
        known = self.shares.get(kinds)
        if known is None:
            settings, count = self.fleet.settings, sum(1 for _ in self.fleet.of(*kinds))
            known = self.shares[kinds] = cost_share(settings.policy_cost, settings.expression_cost, count)
        return known
