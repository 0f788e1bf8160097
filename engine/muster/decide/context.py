"""The context of a run: what is the same for all of its objects, and what stages tell all later ones.

A local stage decides from a view, this and the instant; it looks at nothing else of the fleet. What wide stages have
to tell every cluster are a few small values (`Broadcast`), which stand here for the stages after them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from muster.decide.allowance import EVERYTHING, Allowance
from muster.decide.removals import held_removals
from muster.fleet.faults import is_fault
from muster.fleet.reports import required_adapters
from muster.fleet.view import View
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import (
    ADAPTER_REPORT,
    CLUSTER_TAINT_POLICY,
    CONDITION_POLICY,
    DISRUPTION_BUDGET,
    FLEET,
    PULSE_POLICY,
    REMEDY,
    TAINT_POLICY,
    TARGETS,
    kind_of,
)
from muster.model.published import Memory
from muster.policy.in_force import InForce
from muster.policy.ruled import Ruled
from muster.policy.taint_policies import ClusterTaintPolicy, taint_policies


@dataclass(frozen=True, slots=True)
class LeaseFloor:
    """So many seconds the lease of every accepted cluster lasts at least."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Disruption:
    """On this cluster a disruptive effect is asked for, whether it stands already or not."""

    object: ObjectId


#: What is in no cluster's neighbourhood, and may be asked about by all.
_SHARED = frozenset(
    (FLEET, REMEDY, CONDITION_POLICY, TAINT_POLICY, PULSE_POLICY, CLUSTER_TAINT_POLICY, DISRUPTION_BUDGET)
)
#: What a stage tells all stages after it; that muster fails on something, too.
Broadcast: TypeAlias = LeaseFloor | Disruption | Allowance


@dataclass(frozen=True, slots=True)
class Context:
    """What a run holds for all of its objects.

    `shared`: the objects that belong to no cluster: policies, Remedies, the Fleet. `fresh`: no run has derived anything
    yet. `speaking` and `unheard`: see `muster.fleet.hearing`. `faulty`: the objects on which muster itself fails, None
    among them for a fault about no single one. `withheld`: the clusters whose removal a budget holds. `uses_adapters`:
    whether any kind requires one, or any has reported.
    """

    rules: InForce
    cluster_taints: tuple[ClusterTaintPolicy, ...]
    shared: View
    fresh: bool
    speaking: frozenset[str]
    unheard: frozenset[str]
    published: Memory
    faulty: frozenset[ObjectId | None]
    withheld: frozenset[ObjectId]
    uses_adapters: bool
    lease_floor: int = 0
    disrupted: frozenset[ObjectId] = field(default_factory=frozenset)
    allowance: Allowance = EVERYTHING

    @classmethod
    def of(cls, fleet: Ruled) -> "Context":
        """The context in which a fleet is decided, before any stage has told anything."""
        shared = {id_ for id_ in {*fleet.objects, *fleet.previous, *fleet.broken} if kind_of(id_) in _SHARED}
        return cls(
            rules=fleet.rules,
            cluster_taints=taint_policies(fleet),
            shared=fleet.only(shared),
            fresh=not (fleet.derived_paths or fleet.beyond.derived),
            speaking=fleet.speaking,
            unheard=fleet.unheard,
            published=fleet.published,
            faulty=frozenset(found.object for found in fleet.findings if is_fault(found)),
            withheld=frozenset(held.object for held in held_removals(fleet)),
            uses_adapters=_uses_adapters(fleet),
            lease_floor=fleet.beyond.lease_floor,
            disrupted=fleet.beyond.disrupted,
        )

    def about(self, fleet: Ruled) -> "Context":
        """Return what was told so far as the context of another fleet."""
        return replace(
            Context.of(fleet), lease_floor=self.lease_floor, disrupted=self.disrupted, allowance=self.allowance,
            faulty=self.faulty,
        )  # fmt: skip

    def after(self, outcomes: Iterable[object]) -> "Context":
        """Return the context for the stages after the one that had these outcomes."""
        context, disrupted, faulty = self, set[ObjectId](), set[ObjectId | None]()
        for outcome in outcomes:
            if isinstance(outcome, Disruption):
                disrupted.add(outcome.object)
            elif isinstance(outcome, LeaseFloor):
                context = replace(context, lease_floor=outcome.seconds)
            elif isinstance(outcome, Allowance):
                context = replace(context, allowance=outcome)
            elif isinstance(outcome, Finding) and is_fault(outcome):
                faulty.add(outcome.object)
        if disrupted or faulty:
            return replace(context, disrupted=context.disrupted | disrupted, faulty=context.faulty | faulty)
        return context


def _uses_adapters(fleet: Ruled) -> bool:
    if fleet.beyond.adapters or any(required_adapters(fleet.settings, kind) for kind in TARGETS.values()):
        return True
    return any(ADAPTER_REPORT.has(id_) for ids in (fleet.objects, fleet.previous) for id_ in ids)
