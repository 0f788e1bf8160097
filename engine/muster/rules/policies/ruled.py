"""A fleet with the policies that rule it: what is decided. Stages are given of it what they may look at."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from muster.fleet.fleet import Fleet
from muster.fleet.leases import grace_factor
from muster.rules.policies.in_force import NOTHING, Compiled, InForce

if TYPE_CHECKING:
    from muster.rules.policies.witness import Witness


@dataclass(frozen=True)
class Ruled(Fleet):
    """A fleet, and its policies as compiled from it (`muster.rules.compiling`). `witness`: whom to tell how
    their expressions were evaluated."""

    compiled: Compiled = NOTHING
    witness: "Witness | None" = None

    @classmethod
    def by(cls, compiled: Compiled, fleet: Fleet) -> "Ruled":
        """Return the fleet under these policies."""
        return cls(**{field.name: getattr(fleet, field.name) for field in fields(Fleet)}, compiled=compiled)

    @property
    def rules(self) -> InForce:
        """What rules every object of it alike."""
        return InForce(self.settings, self.compiled, grace_factor(self), self.counts(), self.witness)
