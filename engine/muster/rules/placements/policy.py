"""A compiled Placement: its spec and predicates, or why it is misconfigured.

Predicates select by labels, by claims and by expressions. Expressions read `managedCluster`, the whole object with this
run's decisions; `managedCluster.scores(name)`, the scores of the cluster's AddOnPlacementScore of that name; and
`text.parseJSON()`. A Placement with an expression that does not compile is misconfigured: it keeps its last decisions,
with a finding at the mistake.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from muster import cel
from muster.cel.types import BOOL, DYN, INT, STRING, ListType, ObjectType, required
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, mapping_at, mappings_at, read_json
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.placements.spec import Misconfigured, PlacementSpec, read_spec, wanted
from muster.rules.policies.expressions import expression_findings
from muster.rules.policies.selectors import LabelSelector, selector_mistakes
from muster.rules.policies.types import object_type

#: The values of a toleration's fields that match a taint of a ManagedCluster.
_TOLERATION_WORDS: Final = {
    "operator": ("Equal", "Exists"),
    "effect": ("NoSelect", "NoSelectIfNew", "PreferNoSelect"),
}


class ClusterView(dict[str, Tree]):
    """A cluster as expressions see it, with its AddOnPlacementScores by name."""

    def __init__(self, body: Tree, scores: Mapping[str, Tree]) -> None:
        super().__init__(body)
        self.by_name = scores

    def scores(self, name: str) -> Tree:
        """The scores of an AddOnPlacementScore: a list of name and value. KeyError if the cluster has none."""
        if name not in self.by_name:
            raise KeyError(f"the cluster has no AddOnPlacementScore {name!r}")
        return [
            {"name": score.get("name"), "value": score.get("value")}
            for score in mappings_at(self.by_name[name], "status", "scores")
        ]


@dataclass(frozen=True, slots=True)
class Predicate:
    """One alternative of `spec.predicates`; all its parts must match, and one without parts matches every cluster."""

    labels: LabelSelector
    claims: LabelSelector
    expressions: tuple[cel.Program, ...]


def compile_predicates(obj: Object) -> tuple[tuple[Predicate, ...], list[Finding], str]:
    """Compile a Placement's predicates; also return findings, and the first error as a message."""
    predicates: list[Predicate] = []
    findings: list[Finding] = []
    message = ""
    for index, entry in enumerate(mappings_at(obj.spec, "predicates")):
        selector = mapping_at(entry, "requiredClusterSelector")
        programs: list[cel.Program] = []
        for number, text in enumerate(mapping_at(selector, "celSelector").get("celExpressions") or ()):
            expression_path = (
                "spec",
                "predicates",
                index,
                "requiredClusterSelector",
                "celSelector",
                "celExpressions",
                number,
            )
            try:
                programs.append(cel.compile(text, environment()))
            except cel.CompileError as raised:
                findings.extend(expression_findings(obj, expression_path, raised))
                message = message or f"compilation failed: {raised}"
        for name in ("labelSelector", "claimSelector"):
            for at, mistake in selector_mistakes(selector.get(name)):
                path: At = ("spec", "predicates", index, "requiredClusterSelector", name, *at)
                findings.append(
                    finding_at(obj, path, Code.INVALID_SELECTOR, mistake, "until this is fixed it keeps its decisions")
                )
                message = message or mistake
        labels, claims = (LabelSelector.parse(selector.get(name)) for name in ("labelSelector", "claimSelector"))
        predicates.append(Predicate(labels, claims, tuple(programs)))
    return tuple(predicates), findings, message


@cache
def environment() -> cel.Env:
    """The environment of a Placement's expressions."""
    cluster = object_type(MANAGED_CLUSTER)
    score = ObjectType("score", required(name=STRING, value=INT))
    return cel.Env(
        variables={"managedCluster": cluster},
        functions={
            "scores": cel.Function(
                _scores, (cluster, STRING), ListType(score), cost=30, member=True, moving=cel.TimeUse.CARRIED
            ),
            "parseJSON": cel.Function(_parse_json, (STRING,), DYN, cost=100, member=True, walks=True),
        },
        result=BOOL,
    )


def _scores(cluster: ClusterView, name: str) -> Tree:
    return cluster.scores(name)


def _parse_json(text: str) -> Tree:
    return read_json(text)


@dataclass(frozen=True, slots=True)
class CompiledPlacement:
    """`spec` is None for a misconfigured Placement; `error` is then `<plugin>:<message>`."""

    id: ObjectId
    wanted: int | None
    predicates: tuple[Predicate, ...] = ()
    spec: PlacementSpec | None = None
    error: str = ""


def compile_placement(obj: Object) -> tuple[CompiledPlacement, list[Finding]]:
    """Compile a valid Placement, with findings.

    A mistake does not break the object: it keeps its last decisions, and its condition says why.
    """
    number = wanted(obj.spec)
    try:
        spec = read_spec(obj.spec)
    except Misconfigured as error:
        return CompiledPlacement(obj.id, number, error=str(error)), [_misconfigured(obj, error)]
    predicates, findings, message = compile_predicates(obj)
    if message:
        return CompiledPlacement(obj.id, number, error=f"Predicate:{message}"), findings
    return CompiledPlacement(obj.id, number, predicates, spec), [*findings, *_useless_tolerations(obj)]


def _useless_tolerations(obj: Object) -> Iterator[Finding]:
    """Yield a warning for each toleration with a value that upstream's schema accepts and that matches nothing."""
    for index, entry in enumerate(mappings_at(obj.spec, "tolerations")):
        for name, allowed in _TOLERATION_WORDS.items():
            value = entry.get(name)
            if isinstance(value, str) and value and value not in allowed:
                message = f"{obj.id}: the {name} {value!r} tolerates nothing; it is {' or '.join(allowed)}"
                at = ("spec", "tolerations", index, name)
                yield finding_at(obj, at, Code.UNKNOWN_OPERATOR, message, did_you_mean(value, allowed))


def _misconfigured(obj: Object, error: Misconfigured) -> Finding:
    message = f"{obj.id} cannot be carried out: {error.message}"
    hint = "Until this is fixed it keeps its last decisions."
    return finding_at(obj, ("spec", *error.path), Code.MISCONFIGURED_PLACEMENT, message, hint)
