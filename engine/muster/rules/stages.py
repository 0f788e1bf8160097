"""What a stage is: its name, the function that decides, what it derives, and whether others rest on it.

By its signature a stage is *local*, `stage(view, context, now)`, or *wide*, `stage(shared, context, now)`. It is given
no more than that. `muster.rules.pipeline` lists the stages in their order.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import Failed, Outcome
from muster.data.kinds import Kind
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.context import Broadcast, Context
from muster.rules.policies.in_force import FleetWithPolicies

#: What a stage may yield: outcomes for the fleet, broadcasts for later stages, and failed expressions.
Yielded: TypeAlias = Outcome | Broadcast | Failed
#: Kinds, and the sections, fields or elements of keyed lists that a stage derives of their objects.
Derives: TypeAlias = tuple[tuple[tuple[Kind, ...], tuple[tuple[str, ...], ...]], ...]

METADATA, SPEC, STATUS, CONDITIONS = ("metadata",), ("spec",), ("status",), ("status", "conditions")


@dataclass(frozen=True, slots=True)
class Local:
    """A stage that decides each neighbourhood by itself, from the objects of a view and the context alone.

    `derives`: what stays as it was where the stage fails as a whole. `foundation`: where it fails as a whole, no other
    stage may act, and everything stays as it is.
    """

    name: str
    decide: Callable[[View, Context, datetime], Iterable[Yielded]]
    derives: Derives = ()
    foundation: bool = False

    def ask(self, fleet: FleetWithPolicies, context: Context, now: datetime) -> Iterable[Yielded]:
        """Decide what this run looks at."""
        return self.decide(fleet.looked_at(), context, now)


@dataclass(frozen=True, slots=True)
class Wide:
    """A stage that decides what many clusters share, from that and the context alone. See `Local` for the fields."""

    name: str
    decide: Callable[[Shared, Context, datetime], Iterable[Yielded]]
    derives: Derives = ()
    foundation: bool = False

    def ask(self, fleet: FleetWithPolicies, context: Context, now: datetime) -> Iterable[Yielded]:
        """Decide everything, if this run asks wide stages."""
        return self.decide(Shared.by(fleet), context, now) if fleet.beyond.asked else ()


Stage: TypeAlias = Local | Wide
