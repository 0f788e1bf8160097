"""What a stage is, and its context: what is the same for all objects, and what stages pass on to later stages.

A stage is *local*, `stage(view, context, now)`, or *wide*, `stage(shared, context, now)`, by its signature. It reads
nothing else. A stage that passes on something besides its decisions yields a `Broadcast`: about the fleet, or about one
object. `muster.rules.pipeline` lists the stages in order.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from muster.data.codes import Code
from muster.data.decision import Decision, Failed, Memory, Outcome
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, CLUSTER_POOL, FLEET, POLICIES, PROJECTION, ROLLOUT, TARGETS, Kind, kind_of
from muster.data.snapshot import SignerIdentity
from muster.dataclass import dataclass
from muster.fleet.faults import is_fault
from muster.fleet.reports import required_adapters
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.policies.in_force import FleetWithPolicies, InForce

#: Kinds outside every cluster's neighbourhood: every stage may read their objects.
_SHARED = frozenset((*POLICIES, FLEET, CLUSTER_POOL, ROLLOUT, PROJECTION))


class Broadcast:
    """A stage's message to all later stages. Of several about the same thing the last one counts."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ObjectBroadcast(Broadcast):
    """A stage's message to later stages about one object."""

    object: ObjectId

    @property
    def disrupts(self) -> bool:
        """Does it request or keep a disruptive effect on a cluster? Budgets count such clusters."""
        return False


@dataclass(frozen=True, slots=True)
class StepRecord(ObjectBroadcast):
    """All that a stage needs of the fleet to decide an object's next step, while only its clusters make progress."""

    data: bytes


B = TypeVar("B", bound=Broadcast)
T = TypeVar("T", bound=ObjectBroadcast)


@dataclass(frozen=True, slots=True)
class Context:
    """What is the same for all objects of a run.

    `shared`: the objects outside of clusters: policies, Remedies, the Fleet, pools. `fresh`: no run has derived
    anything yet. `speaking`, `unheard`, `lost` and `identities`: see `muster.fleet.agent_refs`. `faulty`: the objects
    on which muster itself fails; None for a fault about no single object. `undecided`: those that read an object with
    an error. `withheld`: the clusters whose removal a
    budget holds. `uses_adapters`: does any kind require an adapter, or has any adapter reported? `disrupted`: the
    clusters with a disruptive effect.
    """

    rules: InForce
    shared: View
    fresh: bool
    speaking: frozenset[str]
    unheard: frozenset[str]
    lost: frozenset[ObjectId]
    identities: Mapping[str, SignerIdentity] | None
    published: Memory
    faulty: frozenset[ObjectId | None]
    undecided: frozenset[ObjectId | None]
    withheld: frozenset[ObjectId]
    uses_adapters: bool
    disrupted: frozenset[ObjectId]
    _of_fleet: Mapping[type[Broadcast], Broadcast] = field(default_factory=dict)
    _of_objects: Mapping[type[Broadcast], Mapping[ObjectId, Broadcast]] = field(default_factory=dict)

    @classmethod
    def of(cls, fleet: FleetWithPolicies, withheld: Iterable[ObjectId], known: Iterable[Broadcast]) -> "Context":
        """The context of a fleet before the first stage; `known`: broadcasts known from the start."""
        shared = {id_ for id_ in {*fleet.objects, *fleet.previous, *fleet.broken} if kind_of(id_) in _SHARED}
        return cls(
            rules=fleet.rules,
            shared=fleet.only(shared),
            fresh=not (fleet.derived_paths or fleet.beyond.derived),
            speaking=fleet.refs.speaking,
            unheard=fleet.refs.unheard,
            lost=fleet.refs.lost,
            identities=fleet.refs.identities,
            published=fleet.published,
            faulty=frozenset(found.object for found in fleet.findings if is_fault(found)),
            undecided=frozenset(found.object for found in fleet.findings if found.code == Code.UNDECIDED),
            withheld=frozenset(withheld),
            uses_adapters=_uses_adapters(fleet),
            disrupted=fleet.beyond.disrupted,
        ).after(known)

    def for_fleet(self, other: "Context") -> "Context":
        """Return another fleet's context with the broadcasts of this one."""
        return replace(
            other, disrupted=self.disrupted, faulty=self.faulty, _of_fleet=self._of_fleet, _of_objects=self._of_objects
        )

    def after(self, outcomes: Iterable[object]) -> "Context":
        """Return the context for the stages after the one with these outcomes."""
        of_fleet = dict[type[Broadcast], Broadcast]()
        of_objects = dict[type[Broadcast], dict[ObjectId, Broadcast]]()
        faulty, disrupted = set[ObjectId | None](), set[ObjectId]()
        for outcome in outcomes:
            if outcome.__class__ is Decision:  # nearly all
                continue
            if isinstance(outcome, ObjectBroadcast):
                of_objects.setdefault(type(outcome), {})[outcome.object] = outcome
                if outcome.disrupts:
                    disrupted.add(outcome.object)
            elif isinstance(outcome, Broadcast):
                of_fleet[type(outcome)] = outcome
            elif isinstance(outcome, Finding) and is_fault(outcome):
                faulty.add(outcome.object)
        if not (of_fleet or of_objects or faulty):
            return self
        return replace(
            self, faulty=self.faulty | faulty, disrupted=self.disrupted | disrupted,
            _of_fleet={**self._of_fleet, **of_fleet},
            _of_objects={
                **self._of_objects,
                **{sort: {**self._of_objects.get(sort, {}), **found} for sort, found in of_objects.items()},
            },
        )  # fmt: skip

    def broadcast(self, sort: type[B]) -> B:
        """Return the last broadcast of this type about the fleet. KeyError if there is none."""
        found: Any = self._of_fleet[sort]
        return found  # type: ignore[no-any-return]

    def object_broadcast(self, sort: type[T], id_: ObjectId) -> T | None:
        """Return the last broadcast of this type about an object; None if there is none."""
        return self.object_broadcasts(sort).get(id_)

    def object_broadcasts(self, sort: type[T]) -> Mapping[ObjectId, T]:
        """Return the last broadcast of this type about each object."""
        found: Any = self._of_objects.get(sort, {})
        return found  # type: ignore[no-any-return]


def _uses_adapters(fleet: FleetWithPolicies) -> bool:
    if fleet.beyond.adapters or any(required_adapters(fleet.settings, kind) for kind in TARGETS.values()):
        return True
    return any(ADAPTER_REPORT.has(id_) for ids in (fleet.objects, fleet.previous) for id_ in ids)


#: Results of a stage: outcomes for the fleet, broadcasts for later stages, and failed expressions.
Yielded: TypeAlias = Outcome | Broadcast | Failed
#: Kinds, and the sections, fields or elements of keyed lists that a stage derives for them.
Derives: TypeAlias = tuple[tuple[tuple[Kind, ...], tuple[tuple[str, ...], ...]], ...]

METADATA, SPEC, STATUS, CONDITIONS = ("metadata",), ("spec",), ("status",), ("status", "conditions")
#: What a Rollout remembers of a cluster, by the Rollout's id.
ROLLOUTS = ("status", "muster", "rollouts")


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
    """A stage that decides what many clusters share, from that and the context alone.

    `steps`: the kind whose objects it can decide by themselves, from a `StepRecord` and the clusters that changed. See
    `Local` for the other fields.
    """

    name: str
    decide: Callable[[Shared, Context, datetime], Iterable[Yielded]]
    derives: Derives = ()
    foundation: bool = False
    steps: Kind | None = None

    def ask(self, fleet: FleetWithPolicies, context: Context, now: datetime) -> Iterable[Yielded]:
        """Decide everything, if this run includes wide stages, or the steps that it includes without them."""
        asked = fleet.beyond.asked or any(kind_of(id_) is self.steps for id_ in fleet.beyond.steps)
        return self.decide(Shared.by(fleet), context, now) if asked else ()


Stage: TypeAlias = Local | Wide
