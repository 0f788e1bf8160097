"""What a stage is: its name, its function, what it derives, and whether other stages depend on it.

A stage is *local*, `stage(view, context, now)`, or *wide*, `stage(shared, context, now)`, by its signature. It reads
nothing else. `muster.rules.pipeline` lists the stages in order.
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

#: Results of a stage: outcomes for the fleet, broadcasts for later stages, and failed expressions.
Yielded: TypeAlias = Outcome | Broadcast | Failed
#: Kinds, and the sections, fields or elements of keyed lists that a stage derives for them.
Derives: TypeAlias = tuple[tuple[tuple[Kind, ...], tuple[tuple[str, ...], ...]], ...]

METADATA, SPEC, STATUS, CONDITIONS = ("metadata",), ("spec",), ("status",), ("status", "conditions")


@dataclass(frozen=True, slots=True)
class Local:
    """A stage that decides each neighbourhood from its view and the context alone.

    `derives`: what keeps its last state if the stage fails as a whole. `foundation`: if it fails as a whole, no other
    stage may act, and everything keeps its last state.
    """

    name: str
    decide: Callable[[View, Context, datetime], Iterable[Yielded]]
    derives: Derives = ()
    foundation: bool = False

    def ask(self, fleet: FleetWithPolicies, context: Context, now: datetime) -> Iterable[Yielded]:
        """Decide the objects of this run."""
        return self.decide(fleet.looked_at(), context, now)


@dataclass(frozen=True, slots=True)
class Wide:
    """A stage that decides what many clusters share, from that and the context alone. See `Local` for the fields."""

    name: str
    decide: Callable[[Shared, Context, datetime], Iterable[Yielded]]
    derives: Derives = ()
    foundation: bool = False

    def ask(self, fleet: FleetWithPolicies, context: Context, now: datetime) -> Iterable[Yielded]:
        """Decide everything, if this run includes wide stages."""
        return self.decide(Shared.by(fleet), context, now) if fleet.beyond.asked else ()


Stage: TypeAlias = Local | Wide
