"""The cells of a drill: which forbidden states come about when a domain is lost, for each object, to the second.

A state begins and ends at instants of runs, because nothing changes between them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final

from muster import cel
from muster.data.ids import ObjectId
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.times import format_duration, format_time, parse_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.drill.facts import Facts, facts_of
from muster.features.drill.rehearsing import OutageStep
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.rules.drills.policy import SUBJECTS, Domain, Drill, DrillRule

#: How an expression that fails is shown: it counts as a forbidden state.
_FAILS: Final = "the expression fails: "


@dataclass(frozen=True, slots=True)
class Spell:
    """A forbidden state of an object, or a held effect on one of its clusters, from an instant on. `end`: the first
    instant without it; None if it lasts until the end. `clusters` joined and are not available, if there are any."""

    name: str
    begin: datetime
    end: datetime | None = None
    clusters: tuple[str, ...] = ()

    def text(self, start: datetime) -> str:
        """`short for 6m10s, until 12:09:10`; the date only if it is another one."""
        names = f" (gains {', '.join(self.clusters)})" if self.clusters else ""
        if self.end is None:
            return f"{self.name} from {_clock(self.begin, start)}{names}"
        return f"{self.name} for {format_duration(self.end - self.begin)}, until {_clock(self.end, start)}{names}"


def _clock(instant: datetime, start: datetime) -> str:
    return f"{instant:%H:%M:%S}" if instant.date() == start.date() else format_time(instant)


@dataclass(frozen=True, slots=True)
class Cell:
    """An object while a domain is lost. `broken`: forbidden states; `held`: effects on its clusters, by rule."""

    object: ObjectId
    broken: tuple[Spell, ...]
    held: tuple[Spell, ...]

    def text(self, start: datetime) -> str:
        """`ok`, or what is wrong; and what is held."""
        return "; ".join(spell.text(start) for spell in (*self.broken, *self.held)) or "ok"


@dataclass
class _Spells:
    """The spells of one object so far: those that go on, by name."""

    ended: list[Spell] = field(default_factory=list)
    going: dict[str, Spell] = field(default_factory=dict)

    def see(self, at: datetime, names: Mapping[str, tuple[str, ...]]) -> None:
        """Note what is there at an instant."""
        for name in [name for name in self.going if name not in names]:
            spell = self.going.pop(name)
            self.ended.append(Spell(name, spell.begin, at, spell.clusters))
        for name, clusters in names.items():
            self.going.setdefault(name, Spell(name, at, None, clusters))

    @property
    def all(self) -> tuple[Spell, ...]:
        return tuple(sorted((*self.ended, *self.going.values()), key=lambda spell: (spell.begin, spell.name)))


@dataclass
class _Outage:
    """The fleet during an outage, as facts so far."""

    labels: Mapping[str, Mapping[str, str]]
    lost: frozenset[str]
    facts: dict[str, Tree]
    before: Mapping[str, frozenset[str]] = field(default_factory=dict)
    gained: dict[str, set[str]] = field(default_factory=dict)

    def take(self, facts: Facts) -> None:
        """Add the facts of a step; note which clusters join a Placement."""
        self.facts.update(facts)
        chosen = self.chosen()
        for placement in chosen.keys() | self.before.keys():
            now, was = frozenset(chosen.get(placement, ())), self.before.get(placement, frozenset())
            self.gained[placement] = (self.gained.get(placement, set()) & now) | (now - was)
        self.before = {placement: frozenset(names) for placement, names in chosen.items()}

    def chosen(self) -> dict[str, list[str]]:
        """The clusters of each Placement, sorted."""
        by_placement: dict[str, list[str]] = {}
        for key, fact in self.facts.items():
            if key.startswith("PlacementDecision/") and fact is not None:
                by_placement.setdefault(fact["placement"], []).extend(fact["clusters"])
        return {placement: sorted(names) for placement, names in by_placement.items()}

    def subject(self, subject: str, obj: Object, chosen: Mapping[str, Sequence[str]]) -> Tree:
        """What an expression sees of an object."""
        key, fact = str(obj.id), dict(self.facts.get(str(obj.id)) or _NOTHING[subject])
        names = {"namespace": obj.id.namespace, "name": obj.id.name, "labels": obj.labels}
        if subject == "placement":
            gained = self.gained.get(key, set())
            fact["clusters"] = [
                {
                    "name": name,
                    "labels": self.labels.get(name, {}),
                    "lost": name in self.lost,
                    "available": self.facts.get(f"{MANAGED_CLUSTER.name}/{name}") is True,
                    "gained": name in gained,
                }
                for name in chosen.get(key, ())
            ]
        elif subject == "ingress":
            fact["backends"] = [
                {**backend, "available": self._available(backend["cluster"])} for backend in fact["backends"]
            ]
        return {**names, **fact}

    def _available(self, cluster: str) -> bool:
        kinds = (KARMADA_CLUSTER, MANAGED_CLUSTER)
        return any(self.facts.get(f"{kind.name}/{cluster}") is True for kind in kinds)


#: What is seen of an object without a derived part.
_NOTHING: Final[Mapping[str, Tree]] = {
    "placement": {"satisfied": False},
    "pool": {"size": 0, "ready": 0, "standby": 0},
    "rollout": {"revision": "", "completed": "", "stage": "", "reason": ""},
    "ingress": {"backends": []},
}


def cells_of(
    drill: Drill, fleet: Fleet, domain: Domain, facts: Facts, steps: Iterable[OutageStep], start: datetime
) -> list[Cell]:
    """Return the cell of each object that the Drill's expressions are about, sorted by object.

    `fleet` is the fleet before the first run, `facts` are those after a run at `start` with all agents. A cluster that
    this run gives to a Placement has joined, too.
    """
    labels = {obj.id.name: obj.labels for obj in fleet.clusters()}
    outage = _Outage(labels, domain.clusters, dict(facts_of(fleet.previous.values())))
    outage.before = {placement: frozenset(names) for placement, names in outage.chosen().items()}
    outage.facts.update(facts)
    rules = {subject: [rule for rule in drill.rules if rule.subject == subject] for subject in SUBJECTS}
    objects = [
        (subject, obj)
        for subject, subject_rules in rules.items()
        if subject_rules
        for obj in fleet.of(SUBJECTS[subject][0])
    ]
    broken, held = ({obj.id: _Spells() for _, obj in objects} for _ in range(2))
    last: dict[ObjectId, tuple[Tree, Mapping[str, tuple[str, ...]]]] = {}
    for step in steps:
        at = parse_time(step.at)
        if at > start + drill.span:
            break
        outage.take(step.facts)
        chosen, holding = outage.chosen(), _holding(step)
        for subject, obj in objects:
            seen = outage.subject(subject, obj, chosen)
            last_states = last.get(obj.id)
            if last_states is None or last_states[0] != seen:
                last_states = last[obj.id] = (seen, dict(_states(rules[subject], subject, seen)))
            broken[obj.id].see(at, last_states[1])
            concerned = [str(obj.id), *(f"{MANAGED_CLUSTER.name}/{cluster}" for cluster in chosen.get(str(obj.id), ()))]
            rules_holding = sorted({rule for concerned_id in concerned for rule in holding.get(concerned_id, ())})
            held[obj.id].see(at, {f"held by {rule}": () for rule in rules_holding})
    return [
        Cell(obj.id, broken[obj.id].all, held[obj.id].all) for _, obj in sorted(objects, key=lambda pair: pair[1].id)
    ]


def _holding(step: OutageStep) -> dict[str, set[str]]:
    by_object: dict[str, set[str]] = {}
    for object_, _, rule in step.held:
        by_object.setdefault(object_, set()).add(rule)
    return by_object


def _states(rules: Iterable[DrillRule], subject: str, seen: Tree) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The forbidden states that are there, with the clusters that joined and are not available."""
    gained = tuple(
        cluster["name"] for cluster in seen.get("clusters", ()) if cluster["gained"] and not cluster["available"]
    )
    for rule in rules:
        result: cel.EvaluationResult = rule.when.run({subject: seen})
        if result.error is not None:
            yield f"{rule.name}: {_FAILS}{result.error.message}", ()
        elif result.value is True:
            yield rule.name, gained
