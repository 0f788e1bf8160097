"""What a stage is, and what it is given.

A stage is a function of one neighbourhood (*local*) or of what clusters share (*wide*), its first parameter, and of
*terms*: each further parameter is one, chosen by its type. It sees nothing else, so what a stage depends on is written
in its signature:

    def stage(view: View, now: datetime, rules: InForce, allowance: Allowance) -> Iterator[Decision | Held]

Terms are the instant (`datetime`), what is in force (`InForce`), and the other values of `Terms.of_fleet`; and what
earlier stages pass on. A stage yields a `StageTerm` besides its decisions, about the fleet or, as an `ObjectTerm`,
about one object. Of these, a stage is given `Mapping[ObjectId, T]`. `muster.rules.pipeline` lists the stages in order.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, NewType, TypeAlias, TypeVar

from muster.data.codes import Code
from muster.data.decision import Decision, Failed, Memory, Outcome, Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADAPTER_REPORT,
    ADMISSION,
    CLUSTER_POOL,
    FLEET,
    POLICIES,
    PROJECTION,
    ROLLOUT,
    TARGETS,
    Kind,
    kind_of,
)
from muster.dataclass import dataclass
from muster.fleet.faults import is_fault
from muster.fleet.fleet import RefsRead
from muster.fleet.objects import Object
from muster.fleet.reports import required_adapters
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.policies.in_force import FleetWithPolicies, InForce

if TYPE_CHECKING:
    from muster.rules.unread_authors import EntryAuthor

#: Kinds outside every cluster's neighbourhood: every stage may read their objects.
_GOVERNING = frozenset((*POLICIES, *ADMISSION, FLEET, CLUSTER_POOL, ROLLOUT, PROJECTION))

#: The objects that govern clusters and lie in no neighbourhood: policies, Remedies, the Fleet, pools, Rollouts and
#: Projections, with what the last run derived of them.
GoverningObjects = NewType("GoverningObjects", View)
#: The clusters whose removal a budget holds.
HeldRemovals = NewType("HeldRemovals", frozenset[ObjectId])


class StageTerm:
    """A value that a stage yields for all later stages. Of several of one type the last one counts."""

    __slots__ = ()


class Concerned(NamedTuple):
    """What tells which terms concern a cluster: the cluster, whether its stages make `requests` that budgets
    grant, and what was decided about it."""

    cluster: Object
    requests: bool
    decided: Mapping[Path, Decision]


#: Returns the part of a term that concerns a cluster; None if its stages did not read it.
Concerns: TypeAlias = Callable[[Concerned], object]


class FleetTerm(StageTerm):
    """A term about the fleet for the stages of clusters. A cluster whose part of it differs is decided again."""

    __slots__ = ()

    def concerns(self) -> Concerns:
        """Return a function that returns the part of the term that concerns a cluster."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ObjectTerm(StageTerm):
    """A term about one object. Of several about the same object the last one counts."""

    object: ObjectId

    @property
    def disrupts(self) -> bool:
        """Does it request or keep a disruptive effect on a cluster? Budgets count such clusters."""
        return False


@dataclass(frozen=True, slots=True)
class StepRecord(ObjectTerm):
    """All that a stage needs of the fleet to decide an object's next step, while only its clusters make progress."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Traits(FleetTerm):
    """`fresh`: no run has derived anything yet. `uses_adapters`: does any kind require an adapter, or has any adapter
    reported?"""

    fresh: bool
    uses_adapters: bool

    @classmethod
    def of(cls, fleet: FleetWithPolicies) -> "Traits":
        """Return the traits of a whole fleet."""
        required = any(required_adapters(fleet.settings, kind) for kind in TARGETS.values())
        reported = (ADAPTER_REPORT.has(id_) for ids in (fleet.objects, fleet.previous) for id_ in ids)
        return cls(
            fresh=not (fleet.derived_paths or fleet.beyond.derived),
            uses_adapters=fleet.beyond.adapters or required or any(reported),
        )

    def concerns(self) -> Concerns:
        """Return whether adapters are used. Whether anything is derived concerns no cluster, but the whole fleet."""
        return lambda _: self.uses_adapters


@dataclass(frozen=True, slots=True)
class UnsoundObjects(StageTerm):
    """`faulty`: the objects on which muster itself fails; None for a fault about no single object. `undecided`: those
    that read an object with an error."""

    faulty: frozenset[ObjectId | None] = frozenset()
    undecided: frozenset[ObjectId | None] = frozenset()


@dataclass(frozen=True, slots=True)
class Disrupted(StageTerm):
    """The clusters with a disruptive effect, requested or present."""

    clusters: frozenset[ObjectId] = frozenset()


T = TypeVar("T")
O = TypeVar("O", bound=ObjectTerm)  # noqa: E741 - an object's term


@dataclass(frozen=True, slots=True)
class Terms:
    """What stages are given: the values of the fleet, and those that stages have passed on so far."""

    of_fleet: Mapping[object, Any]
    passed: Mapping[object, Any] = field(default_factory=dict)

    @classmethod
    def by(
        cls, fleet: FleetWithPolicies, now: datetime, withheld: Iterable[ObjectId], first_terms: Iterable[StageTerm]
    ) -> "Terms":
        """Return the terms of a fleet before the first stage; `first_terms`: those that are given from the start."""
        governing = {id_ for id_ in {*fleet.objects, *fleet.previous, *fleet.broken} if kind_of(id_) in _GOVERNING}
        of_fleet: dict[object, Any] = {
            datetime: now,
            InForce: fleet.rules,
            GoverningObjects: GoverningObjects(fleet.only(governing)),
            RefsRead: fleet.refs,
            Memory: fleet.published,
            HeldRemovals: HeldRemovals(frozenset(withheld)),
        }
        unsound = UnsoundObjects(
            frozenset(finding.object for finding in fleet.findings if is_fault(finding)),
            frozenset(finding.object for finding in fleet.findings if finding.code == Code.UNDECIDED),
        )
        return cls(of_fleet).after((Traits.of(fleet), unsound, Disrupted(fleet.beyond.disrupted), *first_terms))

    def for_fleet(self, other: "Terms") -> "Terms":
        """Return another fleet's terms with what stages have passed on in this one."""
        return replace(other, passed={**self.passed, Traits: other.of(Traits)})

    def after(self, outcomes: Iterable[object]) -> "Terms":
        """Return the terms for the stages after the one with these outcomes."""
        passed, faulty, disrupted = dict[object, Any](), set[ObjectId | None](), set[ObjectId]()
        for outcome in outcomes:
            if outcome.__class__ is Decision:  # nearly all
                continue
            if isinstance(outcome, ObjectTerm):
                passed.setdefault(type(outcome), {})[outcome.object] = outcome
                if outcome.disrupts:
                    disrupted.add(outcome.object)
            elif isinstance(outcome, StageTerm):
                passed[type(outcome)] = outcome
            elif isinstance(outcome, Finding) and is_fault(outcome):
                faulty.add(outcome.object)
        if faulty:
            unsound = self.of(UnsoundObjects)
            passed[UnsoundObjects] = replace(unsound, faulty=unsound.faulty | faulty)
        if disrupted:
            passed[Disrupted] = Disrupted(self.of(Disrupted).clusters | disrupted)
        if not passed:
            return self
        earlier = self.passed
        merged = ((sort, {**earlier.get(sort, {}), **v} if isinstance(v, dict) else v) for sort, v in passed.items())
        return replace(self, passed={**earlier, **dict(merged)})

    def of(self, sort: type[T]) -> T:
        """Return the term of a type. KeyError if there is none."""
        term: T = self.passed[sort] if sort in self.passed else self.of_fleet[sort]
        return term

    def about(self, sort: type[O]) -> Mapping[ObjectId, O]:
        """Return the terms of a type about objects."""
        terms: Mapping[ObjectId, O] = self.passed.get(sort, {})
        return terms

    @property
    def objects(self) -> set[ObjectId]:
        """The objects about which stages have passed on anything."""
        return {id_ for sort, terms in self.passed.items() if _is_about_objects(sort) for id_ in terms}

    def arguments(self, decide: Callable[..., object]) -> list[Any]:
        """Return the terms that a stage's function is given after its first argument."""
        return [self.about(sort) if _is_about_objects(sort) else self.of(sort) for sort in parameters(decide)]


@cache
def parameters(decide: Callable[..., object]) -> tuple[Any, ...]:
    """Return the types of the terms that a stage's function is given; for terms about objects, the type of these."""
    types = [type_ for name, type_ in decide.__annotations__.items() if name != "return"][1:]
    last = (getattr(type_, "__args__", (type_,))[-1] for type_ in types)
    return tuple(about if _is_about_objects(about) else type_ for about, type_ in zip(last, types, strict=True))


def _is_about_objects(sort: Any) -> bool:
    return isinstance(sort, type) and issubclass(sort, ObjectTerm)


#: Results of a stage: outcomes for the fleet, terms for later stages, and failed expressions.
Yielded: TypeAlias = Outcome | StageTerm | Failed
#: Kinds, and the sections, fields or elements of keyed lists that a stage derives for them.
Derives: TypeAlias = tuple[tuple[tuple[Kind, ...], tuple[tuple[str, ...], ...]], ...]

METADATA, SPEC, STATUS, CONDITIONS = ("metadata",), ("spec",), ("status",), ("status", "conditions")
#: What a Rollout remembers of a cluster, by the Rollout's id.
ROLLOUTS = ("status", "muster", "rollouts")


@dataclass(frozen=True, slots=True)
class Local:
    """A stage that decides each neighbourhood from its view and the terms of its parameters alone.

    `derives`: what keeps its last state if the stage fails as a whole. `foundation`: if it fails as a whole, no other
    stage may act, and everything keeps its last state. `authors`: whose decisions it makes.
    """

    name: str
    decide: Callable[..., Iterable[Yielded]]
    derives: Derives = ()
    foundation: bool = False
    authors: "tuple[EntryAuthor, ...]" = ()

    def ask(self, fleet: FleetWithPolicies, terms: Terms) -> Iterable[Yielded]:
        """Decide the objects of this run."""
        return self.ask_of(fleet.looked_at(), terms)

    def ask_of(self, view: View, terms: Terms) -> Iterable[Yielded]:
        """Decide the objects of a view; the entries of authors that cannot be read stay."""
        outcomes, governing = self.decide(view, *terms.arguments(self.decide)), terms.of(GoverningObjects)
        if not any(governing.uncertain(author.kind) for author in self.authors):
            return outcomes
        from muster.rules.unread_authors import of_unread_authors  # a broken policy is rare

        decided, sound = list(outcomes), view.objects.keys() - view.broken
        return [*decided, *of_unread_authors(view, sound, governing, self.authors, decided)]


@dataclass(frozen=True, slots=True)
class Wide:
    """A stage that decides what many clusters share, from that and the terms of its parameters alone.

    `steps`: the kind whose objects it can decide by themselves, from a `StepRecord` and the clusters that changed. See
    `Local` for the other fields.
    """

    name: str
    decide: Callable[..., Iterable[Yielded]]
    derives: Derives = ()
    foundation: bool = False
    steps: Kind | None = None

    def ask(self, fleet: FleetWithPolicies, terms: Terms) -> Iterable[Yielded]:
        """Decide everything, if this run includes wide stages, or the steps that it includes without them."""
        included = fleet.beyond.asked or any(kind_of(id_) is self.steps for id_ in fleet.beyond.steps)
        return self.decide(Shared.by(fleet), *terms.arguments(self.decide)) if included else ()


Stage: TypeAlias = Local | Wide
