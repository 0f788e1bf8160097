"""The branches of policies, for coverage.

A rule, a taint, a match condition or a validation holds, or does not; an operand of `&&` or `||` is true, or false;
either arm of `? :` is taken; a rule without a condition is used. Inside a macro (`exists`, `filter`, `cel.bind`) one
element suffices. A gate of a Rollout passes, or does not. A budget, which has no expressions, holds effects, or does
not. Any other policy without expressions acts.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from muster import cel
from muster.cel import ast
from muster.data.ids import ObjectId
from muster.data.source import Place
from muster.data.tree import At
from muster.dataclass import dataclass
from muster.features.explain.reads import title_of
from muster.fleet.files import builtin_objects
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.rules.admission.policies import AdmissionPolicy, compile_admissions
from muster.rules.conditions.policy import HOLD_WHEN, OBSERVED, ConditionPolicy
from muster.rules.effects.budget import Budget, budgets_of
from muster.rules.notifications.policy import NotificationPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.lazy import VARIABLES_AT
from muster.rules.policies.policies import Policy
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import Remedy
from muster.rules.rollouts.policy import Rollout
from muster.rules.scores.policy import AT, ScorePolicy
from muster.rules.taints.cluster_policy import taint_policies
from muster.rules.taints.policy import TaintPolicy

#: The fields with conditions.
_CONDITION_FIELDS: Final = frozenset(("when", "resolvedWhen", "expression", HOLD_WHEN))
_LOGIC: Final = frozenset(("_&&_", "_||_"))
#: Identifies a branch in its policy: the place (of a variable: its name), the node of the expression (or `NO_NODE`),
#: and the way.
Key: TypeAlias = tuple[At, int, str]
_Tested: TypeAlias = Policy | Remedy | AdmissionPolicy | Rollout

#: The node of a branch without an expression: a rule without a condition, or a whole policy.
NO_NODE: Final = -1
USED: Final = "used"
#: The ways of the fields of budgets.
EXCEEDED, KEPT, AWAITED, REACHED = "exceeded", "kept", "waited for", "reached"
_OF_BUDGETS: Final = (
    ("maxDisrupted", EXCEEDED),
    ("maxDisrupted", KEPT),
    ("cooldown", AWAITED),
    ("suspectObserverAt", REACHED),
    ("maxRemoved", EXCEEDED),
)
MIN_BACKENDS: Final = "minAvailableBackends"


@dataclass(frozen=True, slots=True)
class PolicyBranch:
    """A branch of a policy: the expression (`rule lease-expired`), the text of its part (empty: the whole), the way,
    and the place of the expression."""

    expression: str
    part: str
    way: str
    place: Place

    def __str__(self) -> str:
        """`rule lease-expired is never false`."""
        of = f"{self.expression}: {self.part}" if self.part else self.expression
        return f"{of} is never {self.way}"


def branches_of(fleet: FleetWithPolicies) -> dict[ObjectId, dict[Key, PolicyBranch]]:
    """Return the branches of every policy in force, built-in ones included."""
    compiled = fleet.compiled
    branches: dict[ObjectId, dict[Key, PolicyBranch]] = {}
    policies: tuple[_Tested, ...] = (
        *compiled.all_of(ConditionPolicy, TaintPolicy, PulsePolicy, ScorePolicy, Remedy),
        *_admissions(fleet),
        *compiled.of(NotificationPolicy),
        *(rollout for rollout in compiled.of(Rollout) if any(_gates(rollout))),
    )
    for policy in policies:
        branches[policy.id] = dict(_branches(policy)) or _whole(policy.source)
    for budget in budgets_of(fleet):
        branches[budget.id] = _of_budget(_source(fleet, budget.id), budget)
    for taint_policy in taint_policies(fleet):
        branches[taint_policy.id] = _whole(_source(fleet, taint_policy.id))
    return branches


def _admissions(fleet: Fleet) -> Iterator[AdmissionPolicy]:
    """The admission policies that have a binding."""
    bound = {binding.policy.id: binding.policy for binding in compile_admissions(fleet).bindings}
    yield from bound.values()


def _source(fleet: Fleet, id_: ObjectId) -> Object:
    return fleet.objects.get(id_) or builtin_objects()[id_]


def _whole(source: Object) -> dict[Key, PolicyBranch]:
    return {(("spec",), NO_NODE, USED): PolicyBranch("it", "", USED, place_of(source.parts, ("spec",)))}


def _of_budget(source: Object, budget: Budget) -> dict[Key, PolicyBranch]:
    ways = (*_OF_BUDGETS, *([(MIN_BACKENDS, REACHED)] if budget.min_backends else ()))
    return {
        budget_key(name, way): PolicyBranch(name, "", way, place_of(source.parts, ("spec", name))) for name, way in ways
    }


def budget_key(name: str, way: str) -> Key:
    """The key of a branch of a budget's field."""
    return ("spec", name), NO_NODE, way


def _branches(policy: _Tested) -> Iterator[tuple[Key, PolicyBranch]]:
    for at, program in _expressions(policy):
        title, place = title_of(policy.source.spec, at), place_of(policy.source.parts, _indexed(policy, at))
        if program is None:
            yield (at, NO_NODE, USED), PolicyBranch(title, "", USED, place)
            continue
        for node, ways in _branching(program.node, whole=at[-1] in _CONDITION_FIELDS and at[:2] != VARIABLES_AT):
            part = "" if node is program.node else _text(program.text, node)
            for way in ways:
                yield (at, node.id, way), PolicyBranch(title, part, way, place)


def _indexed(policy: _Tested, at: At) -> At:
    """The place of a variable that is identified by name."""
    if at[:2] != VARIABLES_AT or isinstance(policy, Remedy | Rollout):
        return at
    return (*VARIABLES_AT, list(policy.variables).index(str(at[2])), "expression")


def _gates(rollout: Rollout) -> Iterator[tuple[At, cel.Program | None]]:
    """The gates of a Rollout, those of every stage once."""
    yield from {gate.at: gate.when for stage in rollout.stages for gate in stage.gates}.items()


def _expressions(policy: _Tested) -> Iterator[tuple[At, cel.Program | None]]:
    """The expressions of a policy by place; None for a rule without a condition."""
    if isinstance(policy, Remedy):
        yield from ((expression.at, expression.when) for expression in policy.expressions)
        return
    if isinstance(policy, Rollout):
        yield from _gates(policy)
        return
    yield from ((guard.at, guard.when) for guard in policy.guards)
    yield from _of_variables(policy.variables)
    if isinstance(policy, AdmissionPolicy):
        for rule in policy.validations:
            yield (*rule.at, "expression"), rule.holds
            if rule.message.program is not None:
                yield (*rule.at, "messageExpression"), rule.message.program
        yield from ((note.at, note.value) for note in policy.notes)
    elif isinstance(policy, TaintPolicy | PulsePolicy):
        yield from (
            (rule.at, rule.when) for rule in (policy.taints if isinstance(policy, TaintPolicy) else policy.rules)
        )
    elif isinstance(policy, ScorePolicy):
        yield AT, policy.value
    elif isinstance(policy, NotificationPolicy):
        yield ("spec", "when"), policy.when
        if policy.resolved is not None:
            yield ("spec", "resolvedWhen"), policy.resolved
        if policy.by is not None:
            yield ("spec", "group", "by"), policy.by
    elif isinstance(policy, ConditionPolicy):
        for each in policy.rules:
            yield (*each.at, "when"), each.when
            texts = (("status", each.status), ("reason", each.reason), ("message", each.message))
            yield from (((*each.at, f"{name}Expression"), text.program) for name, text in texts if text.program)
            if each.observed_generation is not None:
                yield (*each.at, OBSERVED), each.observed_generation
        if policy.hold_when is not None:
            yield ("spec", HOLD_WHEN), policy.hold_when


def _of_variables(variables: Mapping[str, cel.Program]) -> Iterator[tuple[At, cel.Program]]:
    yield from (((*VARIABLES_AT, name), program) for name, program in variables.items())


def _branching(root: ast.Node, *, whole: bool) -> Iterator[tuple[ast.Node, tuple[str, ...]]]:
    """The nodes with several outcomes, and these."""
    if whole and not isinstance(root, ast.Literal):
        yield root, ("true", "false")
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call) and node.function in _LOGIC:
            yield from ((arg, ("true", "false")) for arg in node.args if not isinstance(arg, ast.Literal))
        elif isinstance(node, ast.Call) and node.function == "_?_:_" and not _is_generated(node.args[0]):
            yield from ((arg, ("taken",)) for arg in node.args[1:])
        pending.extend(ast.children(node))


def _is_generated(condition: ast.Node) -> bool:
    """Did the parser generate the condition for a macro such as `optMap`?"""
    return any(isinstance(inner, ast.Ident) and inner.name.startswith("@") for inner in ast.walk(condition))


def _text(text: str, node: ast.Node) -> str:
    """The text of a part of an expression, from its first name to its last."""
    offsets = [_offset(text, inner) for inner in ast.walk(node)]
    end = max(offsets)
    if text[end : end + 1] in "'\"":
        end = text.find(text[end], end + 1)
    while 0 <= end < len(text) - 1 and (text[end + 1].isalnum() or text[end + 1] in "_."):
        end += 1
    start = min(offsets)
    for brackets in (("[", "]"), ("(", ")")):
        start, end = _balanced(text, start, end, *brackets)
    return " ".join(text[start : end + 1].split())


def _offset(text: str, node: ast.Node) -> int:
    """The offset of a node: that of `has(x.y)` is at its word, not at its last dot."""
    if not isinstance(node, ast.Has):
        return node.offset
    return text.rfind("has", 0, min(inner.offset for inner in ast.walk(node.operand)))


def _balanced(text: str, start: int, end: int, opening: str, closing: str) -> tuple[int, int]:
    """Widen a part until its brackets are balanced."""
    depth = lowest = 0
    for letter in text[start : end + 1]:
        depth += (letter == opening) - (letter == closing)
        lowest = min(lowest, depth)
    for _ in range(-lowest):
        start = max(text.rfind(opening, 0, start), 0)
    for _ in range(depth - lowest):
        end = close if (close := text.find(closing, end + 1)) >= 0 else end
    return start, end
