"""What is in force for every object of a fleet alike: its settings, its compiled policies, and what they may cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from muster.data.finding import Finding
from muster.data.kinds import Kind
from muster.fleet.fleet import Fleet
from muster.fleet.leases import grace_factor
from muster.fleet.settings import Settings

if TYPE_CHECKING:
    from muster.rules.policies.witness import Witness

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Compiled:
    """The sound policies of a fleet by their type; the unsound ones are in `findings` and decide nothing.

    Of the Placements the misconfigured ones are among them.
    """

    policies: Mapping[type, tuple[Any, ...]]
    findings: tuple[Finding, ...] = ()

    def of(self, sort: type[P]) -> tuple[P, ...]:
        """Return the policies of a type, in the order in which they decide."""
        return self.policies.get(sort, ())

    def all_of(self, *sorts: type) -> tuple[Any, ...]:
        """Return the policies of several types."""
        return tuple(chain.from_iterable(self.policies.get(sort, ()) for sort in sorts))


NOTHING = Compiled({})


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


@dataclass(frozen=True)
class FleetWithPolicies(Fleet):
    """A fleet, and its policies as compiled from it (`muster.rules.compiling`). `witness`: whom to tell how
    their expressions were evaluated."""

    compiled: Compiled = NOTHING
    witness: "Witness | None" = None

    @classmethod
    def by(cls, compiled: Compiled, fleet: Fleet) -> "FleetWithPolicies":
        """Return the fleet under these policies."""
        return cls(**{field.name: getattr(fleet, field.name) for field in fields(Fleet)}, compiled=compiled)

    @property
    def rules(self) -> InForce:
        """What rules every object of it alike."""
        return InForce(self.settings, self.compiled, grace_factor(self), self.counts(), self.witness)
