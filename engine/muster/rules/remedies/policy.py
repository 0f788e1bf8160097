"""Compiled Remedies: the clusters of each, its conditions, and its actions (seed 003).

Empty means the same as absent, as the seed's API comments say: no `clusterAffinity` selects all clusters, no
`decisionMatches` acts at once, no `actions` does nothing. Karmada's controller reads an explicit `{}` or `[]` as
"nothing", so an explicit empty value gets a warning about its meaning here.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from muster import cel
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import path_text
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, REMEDY
from muster.data.names import did_you_mean
from muster.data.tree import At, Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at, unknown_clusters
from muster.rules.policies.environments import policy_environment
from muster.rules.policies.expressions import Compiler, handles_silence_itself
from muster.rules.policies.grounds import Grounds
from muster.rules.policies.in_force import Compiled, compile_each

#: The possible statuses of a condition.
STATUSES = ("True", "False", "Unknown")
_VARIABLES = ("self", "reported", "previous", "conditions", "fleet", "now", "calendars")

#: The only action that is carried out, as in Karmada: no traffic to the cluster.
TRAFFIC_CONTROL = "TrafficControl"
#: The known actions.
ACTIONS = (TRAFFIC_CONTROL,)


@dataclass(frozen=True, slots=True)
class ConditionMatch:
    """A `clusterConditionMatch`: an existing condition whose status equals, or differs from, the given one."""

    type: str
    equal: bool
    status: str

    @property
    def operator(self) -> str:
        """The operator, as written."""
        return "Equal" if self.equal else "NotEqual"

    def holds(self, status: str) -> bool:
        """Does an existing condition with this status match?"""
        return (status == self.status) is self.equal


@dataclass(frozen=True, slots=True)
class ExpressionMatch:
    """An `expression` in place of a `clusterConditionMatch`, and its path. `ground`: a digest of what it says.
    `handles_silence`: the expression decides what silence means."""

    when: cel.Program
    at: At
    ground: str
    handles_silence: bool = False


@dataclass(frozen=True, slots=True)
class Remedy:
    """A compiled Remedy. `clusters` None: all; without any match it acts `immediate`ly."""

    id: ObjectId
    source: Object
    clusters: frozenset[str] | None
    matches: tuple[ConditionMatch, ...]
    expressions: tuple[ExpressionMatch, ...]
    immediate: bool
    actions: tuple[str, ...]

    def selects(self, cluster: str) -> bool:
        """Is a cluster of this name in its affinity?"""
        return self.clusters is None or cluster in self.clusters

    def handles_silence(self, type_: str) -> bool:
        """Does it handle the status Unknown of this condition itself?"""
        return any(match.type == type_ and match.status == "Unknown" for match in self.matches)


def compile_remedies(fleet: Fleet) -> Compiled:
    """Compile the Remedies of a fleet."""
    findings: list[Finding] = []
    remedies = tuple(remedy for _, remedy in compile_each(fleet.of(REMEDY), compile_remedy, findings))
    return Compiled({Remedy: remedies}, tuple(findings))


def compile_remedy(obj: Object) -> tuple[Remedy | None, list[Finding]]:
    """Compile one Remedy; None if an expression has an error."""
    environment = policy_environment(CLUSTERS, {})
    variables = {name: type_ for name, type_ in environment.variables.items() if name in _VARIABLES}
    compiler = Compiler(obj, replace(environment, variables=variables))
    matches, expressions = [], []
    entries = mappings_at(obj.spec, "decisionMatches")
    for index, entry in enumerate(entries):
        condition = mapping_at(entry, "clusterConditionMatch")
        if condition:
            equal = condition["operator"] == "Equal"
            matches.append(ConditionMatch(condition["conditionType"], equal, condition["conditionStatus"]))
        if "expression" in entry:
            at = ("spec", "decisionMatches", index, "expression")
            program = compiler.condition(at)
            ground = Grounds.of({}, {}).digest(program)
            expressions.append(ExpressionMatch(program, at, ground, handles_silence_itself(program.node)))
    named = frozenset(dig(obj.spec, "clusterAffinity", "clusterNames") or ())
    remedy = Remedy(
        obj.id,
        obj,
        named or None,
        tuple(matches),
        tuple(expressions),
        immediate=not entries,
        actions=tuple(sorted(set(obj.spec.get("actions") or ()))),
    )
    return (None if compiler.failed else remedy), compiler.findings


def lint_remedy(obj: Object, clusters: Collection[str]) -> Iterator[Finding]:
    """Yield warnings about explicit empty values, impossible statuses, missing clusters and unknown actions."""
    yield from _empty_values(obj)
    yield from _unknown_actions(obj)
    for index, entry in enumerate(mappings_at(obj.spec, "decisionMatches")):
        status = dig(entry, "clusterConditionMatch", "conditionStatus")
        if isinstance(status, str) and status not in STATUSES:
            at: At = ("spec", "decisionMatches", index, "clusterConditionMatch", "conditionStatus")
            message = f"no condition ever has the status {status!r}; it is True, False or Unknown"
            yield finding_at(obj, at, Code.IMPOSSIBLE_STATUS, message, did_you_mean(status, STATUSES))
    yield from unknown_clusters(obj, ("spec", "clusterAffinity", "clusterNames"), clusters)


def _unknown_actions(obj: Object) -> Iterator[Finding]:
    """Actions that nothing carries out. They are still written to `status.remedyActions`, as upstream's schema has no
    list."""
    actions: Sequence[str] = obj.spec.get("actions") or ()
    for index, action in enumerate(actions):
        if action not in ACTIONS and actions.index(action) == index:
            hint = did_you_mean(action, ACTIONS) or f"the known actions are {', '.join(ACTIONS)}"
            at: At = ("spec", "actions", index)
            yield finding_at(obj, at, Code.UNKNOWN_ACTION, f"nothing carries out the action {action!r}", hint)


_MEANINGS: tuple[tuple[At, str], ...] = (
    (("spec", "clusterAffinity"), "it selects every cluster"),
    (("spec", "clusterAffinity", "clusterNames"), "it selects every cluster"),
    (("spec", "decisionMatches"), "it acts at once"),
    (("spec", "actions"), "it does nothing"),
)


def _empty_values(obj: Object) -> Iterator[Finding]:
    for at, meaning in _MEANINGS:
        value: Tree = dig(obj.body, *(str(step) for step in at))
        if value in ({}, []):
            message = f"{path_text(at)} is empty, which means the same as absent: {meaning}"
            yield finding_at(
                obj,
                at,
                Code.EXPLICIT_EMPTY_VALUE,
                message,
                "remove the field if that is meant; Karmada reads it as nothing",
            )
