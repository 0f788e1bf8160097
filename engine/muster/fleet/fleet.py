"""The fleet: every object of a snapshot, what the last run derived, and what this run has decided so far.

A `Fleet` is a value. Stages read it and return outcomes; `with_outcomes` gives the next stage a fleet in which
they are visible. Nothing in it is ever mutated.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self, TypeVar

from muster.fleet.derived import derived_body
from muster.fleet.foreign import ByKind
from muster.fleet.merge import overlay
from muster.fleet.objects import Object, by_type, with_params
from muster.fleet.settings import Settings
from muster.model.decision import Decision, Held, Outcome, Path, Pulse
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import CLUSTERS, Kind
from muster.model.published import Memory
from muster.model.snapshot import Authors
from muster.model.tree import Tree, dig, mappings_at

_NOTHING: Mapping[Path, Decision] = {}


@dataclass(frozen=True)
class Fleet:
    """Everything that a run may look at.

    `objects`: every object by id, inputs only, the broken ones among them. `builtin`: the bundle's objects that no
    input replaces.
    `previous`: the derived part of the last run by id, also of objects that exist only there.
    `broken`: objects that have an error in them; they keep their last derived state. `unidentified`: whether a
    file could not even be told what it holds; then no derived file is removed for want of an input.
    `departed`: clusters that people have removed while their agents still speak, by name, with what those say.
    `asked`: the labels that agents ask for, by cluster: nothing of them counts until a person gives them.
    `foreign`: people's objects of kinds that nobody knows, of which admission policies may speak; `authors`: who wrote
    which file, None where nobody knows.
    `speaking`: the clusters that speak through refs of their own; `unheard`: those that did at the last run, and whose
    refs could not be looked at (`muster.fleet.hearing`).
    `published`: the pulses that went out before, the one thing that is not in the snapshot.
    """

    objects: Mapping[ObjectId, Object]
    previous: Mapping[ObjectId, Tree]
    settings: Settings
    builtin: Mapping[ObjectId, Object] = field(default_factory=dict)
    broken: frozenset[ObjectId] = frozenset()
    unidentified: bool = False
    undeclared: frozenset[ObjectId] = frozenset()  # reports speak of them, and nobody declares them
    departed: Mapping[str, Object | None] = field(default_factory=dict)
    allowances: tuple[str, ...] = ()  # what the commits since the last run allow to be removed, in their own words
    whole_at: str = ""  # where a file is not: the commit of the last run at which every file was whole
    asked: Mapping[ObjectId, Mapping[str, str]] = field(default_factory=dict)
    foreign: ByKind = field(default_factory=dict)
    authors: Authors | None = None
    findings: tuple[Finding, ...] = ()
    derived_files: Mapping[str, str] = field(default_factory=dict)  # path -> content id, everything under derived/
    derived_paths: Mapping[ObjectId, str] = field(default_factory=dict)
    decided: Mapping[ObjectId, Mapping[Path, Decision]] = field(default_factory=dict)
    texts: Mapping[ObjectId, str] = field(default_factory=dict)  # of derived files, once all is decided
    speaking: frozenset[str] = frozenset()
    unheard: frozenset[str] = frozenset()
    published: Memory = field(default_factory=dict)
    pulses: tuple[Pulse, ...] = ()
    held: tuple[Held, ...] = ()

    # -- objects

    @cached_property
    def _by_kind(self) -> Mapping[tuple[str, str], tuple[Object, ...]]:
        grouped: dict[tuple[str, str], list[Object]] = {}
        for id_ in sorted(self.objects.keys() - self.broken):
            grouped.setdefault((id_.group, id_.kind), []).append(self.objects[id_])
        return {kind: tuple(objects) for kind, objects in grouped.items()}

    def of(self, *kinds: Kind) -> tuple[Object, ...]:
        """The fleet's own sound objects of these kinds, sorted by kind as given, then namespace and name."""
        return tuple(obj for kind in kinds for obj in self._by_kind.get((kind.group, kind.name), ()))

    def clusters(self) -> tuple[Object, ...]:
        """ManagedClusters and Karmada Clusters."""
        return self.of(*CLUSTERS)

    def policies(self, kind: Kind) -> tuple[Object, ...]:
        """Objects of a policy kind, the built-in ones that no object of the fleet replaces among them, by name.

        Parameters that the Fleet sets are in them.
        """
        builtin = (obj for id_, obj in self.builtin.items() if kind.has(id_))
        found = sorted((*self.of(kind), *builtin), key=lambda obj: obj.id)
        return tuple(with_params(obj, self.settings.policy_params(obj.id.name)) for obj in found)

    def sorted_findings(self) -> list[Finding]:
        """What is wrong, each once, sorted by place."""
        return sorted(set(self.findings), key=Finding.sort_key)

    def uncertain(self, kind: Kind) -> bool:
        """Whether an object of this kind is broken, or may be in a file that could not be read."""
        return self.unidentified or any(kind.has(id_) for id_ in self.broken)

    # -- what the last run derived

    def before(self, id_: ObjectId, *path: str) -> Tree:
        """The value at `path` of the object's previous derived part; None where there is none."""
        return dig(self.previous.get(id_), *path)

    def conditions_before(self, id_: ObjectId) -> dict[str, Tree]:
        """Condition by type, as the last run derived them."""
        return by_type(mappings_at(self.previous.get(id_), "status", "conditions"))

    # -- what this run has decided so far

    def decisions(self, id_: ObjectId) -> Mapping[Path, Decision]:
        """This run's decisions about an object, by path."""
        return self.decided.get(id_, _NOTHING)

    def now(self, id_: ObjectId, *path: str | tuple[str, ...]) -> Tree:
        """The value that this run decided for exactly this path; None where nothing was decided."""
        decision = self.decisions(id_).get(path)
        return None if decision is None else decision.value

    def conditions(self, id_: ObjectId) -> dict[str, Tree]:
        """Condition by type, as this run has decided them so far."""
        return {
            path[2][0]: decision.value
            for path, decision in self.decisions(id_).items()
            if len(path) == 3 and path[:2] == ("status", "conditions") and decision.value is not None
        }

    def reported(self, id_: ObjectId) -> dict[str, Tree]:
        """Condition by type, as the inputs (agents) report them."""
        obj = self.objects.get(id_)
        return by_type(mappings_at(obj.body, "status", "conditions")) if obj else {}

    def whole(self, id_: ObjectId) -> Tree:
        """The object with this run's decisions laid over its inputs: what upstream's API server would show."""
        obj = self.objects.get(id_)
        derived = derived_body(id_, self.decisions(id_))
        if obj is None:
            return derived
        return overlay(obj.body, derived, obj.kind.list_keys) if derived else obj.body

    def with_outcomes(self, outcomes: Iterable[Outcome]) -> Self:
        """Return the fleet as the next stage sees it. A later decision on the same path replaces an earlier one."""
        decided = dict(self.decided)
        touched: set[ObjectId] = set()
        pulses, held, findings = list(self.pulses), list(self.held), list(self.findings)
        for outcome in outcomes:
            if isinstance(outcome, Pulse):
                pulses.append(outcome)
            elif isinstance(outcome, Held):
                held.append(outcome)
            elif isinstance(outcome, Finding):
                findings.append(outcome)
            else:
                if outcome.object not in touched:
                    touched.add(outcome.object)
                    decided[outcome.object] = dict(decided.get(outcome.object, _NOTHING))
                decided[outcome.object][outcome.path] = outcome  # type: ignore[index]
        return replace(
            self, decided=decided, texts={}, pulses=tuple(pulses), held=tuple(held), findings=tuple(findings)
        )


#: A fleet, with or without the policies that rule it.
AnyFleet = TypeVar("AnyFleet", bound=Fleet)


def sorted_objects(fleet: Fleet) -> Iterator[ObjectId]:
    """Every object that exists in the inputs or was decided, by kind, namespace and name."""
    ids = {*fleet.objects, *fleet.decided}
    return iter(sorted(ids, key=lambda id_: (id_.kind, id_.namespace, id_.name, id_.group)))
