"""Remedies: which actions each cluster needs, from which Remedy, by its conditions as they are now (seed 003).

Level-based: the actions are computed anew in every run, so they go when the condition or the Remedy goes, and nothing
that was written by hand survives. `status.remedyActions` is the sorted set; `status.muster.remedies` says which Remedy
each action comes from. A new action is a disruptive effect, which a budget may hold.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from muster.decide.budgets import Allowance, allowance, in_service
from muster.decide.failures import Failures, PolicyFailure
from muster.decide.scope import Scopes
from muster.fleet.faults import each
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.remedies import Remedy
from muster.model.decision import Because, Decision, Held, Path
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import REMEDY
from muster.model.source import Place
from muster.model.tree import Tree, dig, mappings_at

ACTIONS: Path = ("status", "remedyActions")
ORIGINS: Path = ("status", "muster", "remedies")

_MOST_NAMED = 10
_KEPT = Because("kept", text="the cluster is being removed, so its actions stay as they are")

#: An action and the name of the Remedy that asks for it.
Pair: TypeAlias = tuple[str, str]


def stage(fleet: Fleet, now: datetime) -> Iterator[Decision | Held | Finding]:
    """Decide the actions of every cluster."""
    asking = Asking.of(fleet, now)
    allowed = allowance(fleet, now)
    yield from each(fleet.clusters(), lambda obj: cluster_actions(asking, allowed, obj))
    yield from asking.failures.findings()


def wishes(fleet: Fleet, now: datetime) -> Iterator[ObjectId | Finding]:
    """Yield the clusters on which some Remedy asks for an action, whether it stands or not."""
    asking = Asking.of(fleet, now)
    yield from each(fleet.clusters(), lambda obj: [obj.id] if in_service(obj) and asking.pairs(obj) else [])


@dataclass(frozen=True)
class Index:
    """The Remedies by the clusters that they speak of: all, all with an expression to ask, or the named ones.

    Those that speak of all clusters are matched once per combination of statuses: a thousand Remedies over ten
    thousand clusters meet few combinations.
    """

    everywhere: tuple[Remedy, ...]
    asked_everywhere: tuple[Remedy, ...]
    named: Mapping[str, tuple[Remedy, ...]]
    types: frozenset[str]
    _matched: dict[frozenset[tuple[str, str]], tuple[Remedy, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, remedies: Iterable[Remedy]) -> "Index":
        """Sort Remedies that do something."""
        named: dict[str, list[Remedy]] = {}
        everywhere = []
        for remedy in remedies:
            if not remedy.actions:
                continue
            if remedy.clusters is None:
                everywhere.append(remedy)
            for cluster in remedy.clusters or ():
                named.setdefault(cluster, []).append(remedy)
        types = frozenset(match.type for remedy in everywhere for match in remedy.matches)
        asked = tuple(remedy for remedy in everywhere if remedy.expressions)
        return cls(tuple(everywhere), asked, {name: tuple(found) for name, found in named.items()}, types)

    def matching(self, cluster: str, statuses: Mapping[str, str]) -> list[Remedy]:
        """The Remedies that act on a cluster by its conditions alone, given as status by type."""
        key = frozenset(item for item in statuses.items() if item[0] in self.types)
        if key not in self._matched:
            self._matched[key] = tuple(remedy for remedy in self.everywhere if _acts(remedy, statuses))
        return [*self._matched[key], *(remedy for remedy in self.named.get(cluster, ()) if _acts(remedy, statuses))]

    def expressive(self, cluster: str) -> Iterator[Remedy]:
        """The Remedies that speak of a cluster and have expressions."""
        yield from self.asked_everywhere
        yield from (remedy for remedy in self.named.get(cluster, ()) if remedy.expressions)


def _acts(remedy: Remedy, statuses: Mapping[str, str]) -> bool:
    """One match is enough, and without any the Remedy acts at once."""
    return remedy.immediate or any(
        match.type in statuses and match.holds(statuses[match.type]) for match in remedy.matches
    )


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks the Remedies of one run what they want of a cluster."""

    fleet: Fleet
    index: Index
    scopes: Scopes
    failures: Failures

    @classmethod
    def of(cls, fleet: Fleet, now: datetime) -> "Asking":
        """Prepare for the clusters of a fleet at an instant."""
        return cls(fleet, Index.of(fleet.compiled.remedies), Scopes.of(fleet, now), Failures())

    def pairs(self, obj: Object) -> frozenset[Pair]:
        """The actions that are wanted of a cluster, each with its Remedy; `scopes.clock` has their horizon."""
        self.scopes.clock.reset()
        conditions = conditions_of(self.fleet, obj.id)
        statuses = {type_: str(condition.get("status")) for type_, condition in conditions.items()}
        acting = {remedy.id: remedy for remedy in self.index.matching(obj.id.name, statuses)}
        scope: dict[str, object] | None = None
        for remedy in self.index.expressive(obj.id.name):
            if remedy.id not in acting:
                scope = scope or {**self.scopes.base(obj), "conditions": conditions}
                if self._expression_holds(remedy, obj, scope):
                    acting[remedy.id] = remedy
        wanted = {(action, remedy.id.name) for remedy in acting.values() for action in remedy.actions}
        return frozenset(wanted | set(self._kept(obj)))

    def _expression_holds(self, remedy: Remedy, obj: Object, scope: dict[str, object]) -> bool:
        """Whether any expression gives true. One that fails does not, but takes nothing off."""
        failed = False
        for expression in remedy.expressions:
            result = expression.when.run(scope, clock=self.scopes.clock)
            if result.error is not None:
                self.failures.add(remedy, PolicyFailure(remedy.id.name, expression.at, result.error), obj.id)
                failed = True
            elif result.value is True:
                return True
        return failed and any(name == remedy.id.name for _, name in pairs_before(self.fleet, obj.id))

    def _kept(self, obj: Object) -> Iterator[Pair]:
        """What a Remedy that cannot be read had asked for: a typo in it is no recovery."""
        if self.fleet.uncertain(REMEDY):
            for action, name in pairs_before(self.fleet, obj.id):
                id_ = REMEDY.id(name)
                if id_ in self.fleet.broken or (self.fleet.unidentified and id_ not in self.fleet.objects):
                    yield action, name

    def frozen(self, obj: Object) -> Iterator[Pair]:
        """What the last run derived and existing Remedies still could ask for, whatever the conditions say now."""
        remedies = {remedy.id.name: remedy for remedy in self.fleet.compiled.remedies}
        for action, name in pairs_before(self.fleet, obj.id):
            remedy = remedies.get(name)
            if remedy and action in remedy.actions and remedy.speaks_of(obj.id.name):
                yield action, name


def cluster_actions(asking: Asking, allowed: Allowance, obj: Object) -> Iterator[Decision | Held]:
    """Decide the actions of one cluster. The cost depends on its own conditions and Remedies alone."""
    fleet = asking.fleet
    before = _texts(fleet.before(obj.id, *map(str, ACTIONS)))
    if obj.deleting:
        yield from _decide(obj, before, pairs_before(fleet, obj.id), _KEPT, None)
        return
    if not in_service(obj):
        return  # never accepted, or denied: nothing is asked of what is not the fleet's
    pairs = set(asking.pairs(obj))
    horizon = asking.scopes.clock.horizon
    if allowed.freezes(obj.id):
        pairs.update(asking.frozen(obj))
    for action in sorted({action for action, _ in pairs} - set(before)):
        held = allowed.holds(obj.id, f"remedy {action}")
        if held is not None:
            yield held
            pairs = {pair for pair in pairs if pair[0] != action}
    yield from _decide(obj, sorted({action for action, _ in pairs}), sorted(pairs), _because(fleet, pairs), horizon)


def _decide(
    obj: Object, actions: list[str], pairs: Iterable[Pair], because: Because, horizon: datetime | None
) -> Iterator[Decision]:
    """An empty set is spelled out only where an input says otherwise; otherwise the field is absent."""
    origins = [{"action": action, "remedy": remedy} for action, remedy in pairs]
    overwritten = bool(dig(obj.body, *map(str, ACTIONS)))
    if actions or overwritten or horizon is not None:
        yield Decision(obj.id, ACTIONS, actions if actions or overwritten else None, because, horizon)
    if origins:
        yield Decision(obj.id, ORIGINS, origins, because, horizon)


def _because(fleet: Fleet, pairs: Iterable[Pair]) -> Because:
    """The Remedies behind the actions; of very many, the first few."""
    names = sorted({name for _, name in pairs})
    ids = [REMEDY.id(name) for name in names[:_MOST_NAMED]]
    places = (part for id_ in ids if id_ in fleet.objects for part in fleet.objects[id_].parts)
    more = f" and {len(names) - len(ids)} more" if len(names) > len(ids) else ""
    rule = f"{', '.join(map(str, ids))}{more}" or "remedies"
    return Because(rule, tuple(Place(part.source.label, part.line) for part in places))


def conditions_of(fleet: Fleet, id_: ObjectId) -> dict[str, Tree]:
    """Condition by type as a reader of the whole object sees them: reported, with what muster decided over it."""
    return {**fleet.reported(id_), **fleet.conditions(id_)}


def pairs_before(fleet: Fleet, id_: ObjectId) -> list[Pair]:
    """The actions of the last run, each with its Remedy."""
    entries = mappings_at(fleet.previous.get(id_), *map(str, ORIGINS))
    return sorted((str(entry.get("action")), str(entry.get("remedy"))) for entry in entries)


def _texts(value: Tree) -> list[str]:
    return sorted({text for text in value if isinstance(text, str)}) if isinstance(value, list) else []
