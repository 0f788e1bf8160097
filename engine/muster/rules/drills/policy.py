"""Compiled Drills: which clusters are lost together, for how long, and which states must not be.

No stage reads them: a run decides nothing because of a Drill. `muster.features.drill` rehearses them.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import combinations
from typing import Final

from muster import cel
from muster.cel.types import BOOL, INT, STRING, ListType, MapType, ObjectType, required
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_POOL, MULTI_CLUSTER_INGRESS, PLACEMENT, ROLLOUT, Kind
from muster.data.names import did_you_mean
from muster.data.times import parse_duration
from muster.data.tree import At, Tree, mappings_at
from muster.data.wildcards import matches
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.policies.environments import Bounds
from muster.rules.policies.expressions import Compiler
from muster.rules.policies.selectors import LabelSelector, selector_mistakes

_LABELS: Final = MapType(STRING, STRING)
_NAMES: Final = {"namespace": STRING, "name": STRING, "labels": _LABELS}
#: A cluster of a Placement. `lost`: its agent is silent by the Drill; `gained`: it joined after the outage began.
_CLUSTER: Final = ObjectType(
    "drillCluster", required(name=STRING, labels=_LABELS, available=BOOL, lost=BOOL, gained=BOOL)
)
_BACKEND: Final = ObjectType("drillBackend", required(service=STRING, cluster=STRING, available=BOOL, blocked=BOOL))
#: What an expression can be about, by the variable that names it: the kind of the objects, and their type.
SUBJECTS: Final[Mapping[str, tuple[Kind, ObjectType]]] = {
    "placement": (
        PLACEMENT,
        ObjectType("drillPlacement", required(**_NAMES, satisfied=BOOL, clusters=ListType(_CLUSTER))),
    ),
    "pool": (CLUSTER_POOL, ObjectType("drillPool", required(**_NAMES, size=INT, ready=INT, standby=INT))),
    "rollout": (
        ROLLOUT,
        ObjectType("drillRollout", required(**_NAMES, revision=STRING, completed=STRING, stage=STRING, reason=STRING)),
    ),
    "ingress": (MULTI_CLUSTER_INGRESS, ObjectType("drillIngress", required(**_NAMES, backends=ListType(_BACKEND)))),
}
_LOSE: Final[At] = ("spec", "lose")


@dataclass(frozen=True, slots=True)
class DrillRule:
    """A state that must not be: its name, what it is about (a name in SUBJECTS), and the expression with its place."""

    name: str
    subject: str
    when: cel.Program
    at: At


@dataclass(frozen=True, slots=True)
class Domain:
    """Clusters that are lost together, and what they are called."""

    name: str
    clusters: frozenset[str]


@dataclass(frozen=True, slots=True)
class Drill:
    """A compiled Drill."""

    source: Object
    span: timedelta
    rules: tuple[DrillRule, ...]

    @property
    def id(self) -> ObjectId:
        """The id of the Drill."""
        return self.source.id

    def domains(self, clusters: Iterable[Object]) -> list[Domain]:
        """Return what is lost, one after the other; sorted, and each domain has clusters."""
        lose = self.source.spec["lose"]
        return [domain for domain in _domains(lose, list(clusters)) if domain.clusters]

    def lost_nothing(self, clusters: Iterable[Object]) -> Finding:
        """Return the finding that no cluster is lost, at the field that names the clusters."""
        ((form, value),) = self.source.spec["lose"].items()
        objects = list(clusters)
        if form in ("each", "pairs"):
            message = f"{self.id} loses clusters by the label {value!r}, which no cluster has"
            hint = did_you_mean(value, {key for obj in objects for key in obj.labels})
            if any(value in obj.labels for obj in objects):
                message = f"{self.id} loses pairs of the label {value!r}, which has one value only"
            return finding_at(self.source, (*_LOSE, form), Code.DRILL_LOSES_NOTHING, message, hint)
        names = {obj.id.name for obj in objects}
        hint = did_you_mean(value[0], names) if form == "clusters" else ""
        return finding_at(self.source, (*_LOSE, form), Code.DRILL_LOSES_NOTHING, f"{self.id} loses no cluster", hint)


def _domains(lose: Tree, clusters: list[Object]) -> Iterator[Domain]:
    ((form, value),) = lose.items()
    if form == "clusters":
        named = sorted({obj.id.name for obj in clusters if any(matches(pattern, obj.id.name) for pattern in value)})
        yield from (Domain(name, frozenset((name,))) for name in named)
    elif form == "selector":
        selector = LabelSelector.parse(value)
        yield Domain("selected", frozenset(obj.id.name for obj in clusters if selector.matches(obj.labels)))
    else:
        groups: dict[str, set[str]] = {}
        for obj in clusters:
            if value in obj.labels:
                groups.setdefault(obj.labels[value], set()).add(obj.id.name)
        for values in combinations(sorted(groups), 2 if form == "pairs" else 1):
            name = " and ".join(f"{value}={domain}" for domain in values)
            yield Domain(name, frozenset().union(*(groups[domain] for domain in values)))


def compile_drill(obj: Object, bounds: Bounds) -> tuple[Drill | None, list[Finding]]:
    """Compile a valid Drill; None if it has an error."""
    variables = {name: type_ for name, (_, type_) in SUBJECTS.items()}
    compiler = Compiler(obj, cel.Env(variables=variables, max_cost=bounds.max_cost))
    rules = [_rule(compiler, index, rule) for index, rule in enumerate(mappings_at(obj.spec, "never"))]
    for at, text in selector_mistakes(obj.spec["lose"].get("selector")):
        compiler.findings.append(finding_at(obj, (*_LOSE, "selector", *at), Code.INVALID_SELECTOR, text))
    if compiler.failed:
        return None, compiler.findings
    span = parse_duration(obj.spec.get("for", "1h"))
    return Drill(obj, span, tuple(filter(None, rules))), compiler.findings


def _rule(compiler: Compiler, index: int, rule: Tree) -> DrillRule | None:
    at: At = ("spec", "never", index, "expression")
    failed = compiler.failed
    program = compiler.condition(at)
    if compiler.failed and not failed:
        return None
    named = [name for name in SUBJECTS if name in program.reads]
    if len(named) == 1:
        return DrillRule(str(rule["name"]), named[0], program, at)
    wrong = f"names both {named[0]} and {named[1]}" if named else "names nothing that a drill looks at"
    hint = f"write about one of {', '.join(SUBJECTS)}"
    compiler.refuse(at, Code.DRILL_SUBJECT, f"the expression {wrong}", hint)
    return None
