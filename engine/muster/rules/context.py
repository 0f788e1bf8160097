"""The context of a run: what is the same for all of its objects, and what stages tell all later ones.

A local stage decides from a view, this and the instant; it looks at nothing else of the fleet. What stages have to tell
those after them (`Broadcast`) stands here: of wide ones a few small values for every cluster, of local ones what each
of their objects is concerned in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeAlias

from muster.data.decision import Decision, Path, Wake
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, CLUSTER_POOL, FLEET, POLICIES, TARGETS, kind_of
from muster.data.published import Memory
from muster.data.snapshot import Identity
from muster.fleet.faults import is_fault
from muster.fleet.reports import required_adapters
from muster.fleet.view import View
from muster.rules.budgets.allowance import EVERYTHING, Allowance
from muster.rules.budgets.approval import Approvals
from muster.rules.budgets.policy import Budget, budgets_of
from muster.rules.effects.requested import NOTHING, Wish, Wished
from muster.rules.policies.in_force import InForce
from muster.rules.policies.ruled import Ruled
from muster.rules.registration.removals import held_removals
from muster.rules.taints.cluster_policy import ClusterTaintPolicy, taint_policies


@dataclass(frozen=True, slots=True)
class LeaseFloor:
    """So many seconds the lease of every accepted cluster lasts at least."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Stated:
    """What a ClusterDeployment says by itself, and policies say of it, for its pool to go on from. `wakes`: when time
    alone would change a field, unless the pool does."""

    object: ObjectId
    decisions: tuple[Decision, ...]
    wakes: Mapping[Path, Wake]


#: What is in no cluster's neighbourhood, and may be asked about by all.
_SHARED = frozenset((*POLICIES, FLEET, CLUSTER_POOL))
#: What a stage tells all stages after it; that muster fails on something, too.
Broadcast: TypeAlias = LeaseFloor | Wished | Stated | Allowance


@dataclass(frozen=True, slots=True)
class Context:
    """What a run holds for all of its objects.

    `shared`: the objects that belong to no cluster: policies, Remedies, the Fleet, pools. `fresh`: no run has derived
    anything yet. `speaking`, `unheard`, `lost` and `identities`: see `muster.fleet.hearing`. `faulty`: the objects on
    which muster itself fails, None among them for a fault about no single one. `withheld`: the clusters whose removal a
    budget holds. `uses_adapters`: whether any kind requires one, or any has reported. `wishes`: what is asked for on
    clusters;
    `disrupted`: those on which anything disruptive is, wherever they are decided. `stated`: what the clusters of pools
    say.
    """

    rules: InForce
    cluster_taints: tuple[ClusterTaintPolicy, ...]
    budgets: tuple[Budget, ...]
    shared: View
    fresh: bool
    speaking: frozenset[str]
    unheard: frozenset[str]
    lost: frozenset[ObjectId]
    identities: Mapping[str, Identity] | None
    published: Memory
    faulty: frozenset[ObjectId | None]
    withheld: frozenset[ObjectId]
    uses_adapters: bool
    lease_floor: int = 0
    disrupted: frozenset[ObjectId] = field(default_factory=frozenset)
    wishes: Mapping[ObjectId, Wish] = field(default_factory=dict)
    stated: Mapping[ObjectId, Stated] = field(default_factory=dict)
    allowance: Allowance = EVERYTHING

    @classmethod
    def of(cls, fleet: Ruled, now: datetime) -> "Context":
        """The context in which a fleet is decided at an instant, before any stage has told anything."""
        shared = {id_ for id_ in {*fleet.objects, *fleet.previous, *fleet.broken} if kind_of(id_) in _SHARED}
        return cls(
            rules=fleet.rules,
            cluster_taints=taint_policies(fleet),
            budgets=budgets_of(fleet),
            shared=fleet.only(shared),
            fresh=not (fleet.derived_paths or fleet.beyond.derived),
            speaking=fleet.speaking,
            unheard=fleet.unheard,
            lost=fleet.lost,
            identities=fleet.identities,
            published=fleet.published,
            faulty=frozenset(found.object for found in fleet.findings if is_fault(found)),
            withheld=frozenset(held.object for held in held_removals(fleet)),
            uses_adapters=_uses_adapters(fleet),
            lease_floor=fleet.beyond.lease_floor,
            disrupted=fleet.beyond.disrupted,
            allowance=Allowance((), (), now, Approvals.of(fleet)),
        )

    def about(self, fleet: Ruled) -> "Context":
        """Return what was told so far as the context of another fleet."""
        return replace(
            Context.of(fleet, self.allowance.now), lease_floor=self.lease_floor, disrupted=self.disrupted,
            wishes=self.wishes, stated=self.stated, allowance=self.allowance, faulty=self.faulty,
        )  # fmt: skip

    def after(self, outcomes: Iterable[object]) -> "Context":
        """Return the context for the stages after the one that had these outcomes."""
        context, faulty = self, set[ObjectId | None]()
        wishes, stated = dict[ObjectId, Wish](), dict[ObjectId, Stated]()
        for outcome in outcomes:
            if isinstance(outcome, Wished):
                wishes[outcome.object] = outcome.wish
            elif isinstance(outcome, Stated):
                stated[outcome.object] = outcome
            elif isinstance(outcome, LeaseFloor):
                context = replace(context, lease_floor=outcome.seconds)
            elif isinstance(outcome, Allowance):
                context = replace(context, allowance=outcome)
            elif isinstance(outcome, Finding) and is_fault(outcome):
                faulty.add(outcome.object)
        if wishes:
            disrupted = self.disrupted.union(id_ for id_, wish in wishes.items() if wish.disrupts)
            context = replace(context, wishes=wishes, disrupted=disrupted)
        if stated:
            context = replace(context, stated=stated)
        return replace(context, faulty=self.faulty | faulty) if faulty else context

    def wish(self, id_: ObjectId) -> Wish:
        """What is asked for on a cluster."""
        return self.wishes.get(id_, NOTHING)


def _uses_adapters(fleet: Ruled) -> bool:
    if fleet.beyond.adapters or any(required_adapters(fleet.settings, kind) for kind in TARGETS.values()):
        return True
    return any(ADAPTER_REPORT.has(id_) for ids in (fleet.objects, fleet.previous) for id_ in ids)
