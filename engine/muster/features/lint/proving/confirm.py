"""Check a counterexample with muster's own evaluator: only confirmed ones are reported."""

from collections.abc import Mapping
from typing import Final

from muster import cel
from muster.data.kinds import LEASE, Kind
from muster.data.times import parse_time
from muster.data.tree import At, Tree
from muster.dataclass import dataclass
from muster.features.lint.proving.invariants import Invariant
from muster.features.lint.proving.rules import Validations, in_order, rule_conditions
from muster.fleet.violations import validator_of
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.conditions.stage import POLICY_ERROR, evaluate_policy, guards_hold, holds
from muster.rules.failures import PolicyFailure
from muster.rules.policies.lazy import PolicyScope, Variables
from muster.rules.policies.policies import Policy
from muster.rules.scores.policy import AT, ScorePolicy, score_of

#: The keywords of a schema that constrain a present value, and not what must be present.
_VALUE_KEYWORDS: Final = frozenset(
    ("type", "enum", "const", "pattern", "format", "minLength", "maxLength", "minimum", "maximum", "maxItems")
)
#: The instant of an example if no expression reads `now`.
_ANY_TIME: Final = "2026-01-01T12:00:00Z"


@dataclass(frozen=True, slots=True)
class ExampleOutcome:
    """A policy's outcome for an example: the places of the rules or taints that decided and of the expressions that
    failed; the status and reason of a condition; and the value of a score."""

    decided: frozenset[At] = frozenset()
    failed: frozenset[At] = frozenset()
    status: str = ""
    reason: str = ""
    score: int | None = None


class Example(dict[str, Tree]):
    """Variables by name. `read`: those that an evaluation has read."""

    def __init__(self, variables: Mapping[str, Tree]) -> None:
        super().__init__(variables)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Tree:
        """Return a variable, and record that it was read."""
        value = super().__getitem__(name)
        self.read.add(name)
        return value


def evaluated(policy: Policy, example: Example) -> ExampleOutcome:
    """Evaluate a policy for an example."""
    scope = _scope(policy, example)
    try:
        if isinstance(policy, Validations):
            return _refusals(policy, scope)
        if isinstance(policy, ScorePolicy):
            return _scored(policy, scope)
        return _condition(policy, scope) if isinstance(policy, ConditionPolicy) else _rules(policy, scope)
    except PolicyFailure as failure:
        deciding = frozenset(
            condition.at for condition in rule_conditions(policy) if _is_text_of(condition.at, failure.at)
        )
        return ExampleOutcome(deciding, frozenset((failure.at,)), "Unknown", POLICY_ERROR)


def _is_text_of(rule: At, place: At) -> bool:
    return len(place) > len(rule) and place[: len(rule)] == rule and place[-1] != "when"


def _condition(policy: ConditionPolicy, scope: PolicyScope) -> ExampleOutcome:
    outcome = evaluate_policy(policy, scope)
    if outcome is None:
        return ExampleOutcome()
    rule = next(rule for rule in policy.rules if rule.because is outcome.because)
    return ExampleOutcome(frozenset((rule.at,)), status=outcome.status, reason=outcome.reason)


def _scored(policy: ScorePolicy, scope: PolicyScope) -> ExampleOutcome:
    if not guards_hold(policy.guards, scope):
        return ExampleOutcome()
    try:
        value = scope.evaluate(policy.value, AT)
    except cel.EvaluationError as error:
        raise PolicyFailure("expression", AT, error) from None
    return ExampleOutcome(frozenset((AT,)), score=score_of(value))


def _rules(policy: Policy, scope: PolicyScope) -> ExampleOutcome:
    if not guards_hold(policy.guards, scope):
        return ExampleOutcome()
    decided, failed = set[At](), set[At]()
    conditions = rule_conditions(policy)
    for condition in conditions:
        assert condition.when is not None
        if any(conditions[index].at not in decided for index in condition.after):
            continue
        try:
            if not holds(condition.when, scope, condition.name, condition.when_at):
                continue
            decided.add(condition.at)
        except PolicyFailure as failure:
            failed.add(failure.at)
        if in_order(policy):
            break
    return ExampleOutcome(frozenset(decided), frozenset(failed))


def _refusals(policy: Validations, scope: PolicyScope) -> ExampleOutcome:
    """The rules that refuse the example, and the expressions that failed."""
    if not guards_hold(policy.guards, scope):
        return ExampleOutcome()
    decided, failed = set[At](), set[At]()

    def value(program: cel.Program, at: At) -> object:
        try:
            return scope.evaluate(program, at)
        except cel.EvaluationError:
            failed.add(at)
            return None

    for rule in policy.rules:
        if value(rule.holds, (*rule.at, "expression")) is False:
            decided.add(rule.at)
            if rule.message.program is not None:
                value(rule.message.program, (*rule.at, "messageExpression"))
    for note in policy.notes:
        value(note.value, note.at)
    return ExampleOutcome(frozenset(decided), frozenset(failed))


def is_allowed(kind: Kind, example: Example) -> bool:
    """Do the schemas allow the present fields of the object and its Lease? Missing ones do not matter."""
    parts = [(kind, example.get(name)) for name in ("self", "object", "oldObject")]
    parts.append((LEASE, example.get("lease")))
    return not any(
        error.validator in _VALUE_KEYWORDS
        for part, body in parts
        if body
        for error in validator_of(part).iter_errors(body)
    )


def is_broken(invariant: Invariant, policy: ConditionPolicy, example: Example) -> bool:
    """Does an example break an invariant?"""
    outcome = evaluated(policy, example)
    scope = _scope(policy, example)
    scope["status"], scope["reason"] = outcome.status, outcome.reason
    try:
        return invariant.never.evaluate(scope) is True
    except cel.EvaluationError:
        return True


def _scope(policy: Policy, example: Example) -> PolicyScope:
    now = cel.Clock(parse_time(example.get("now", _ANY_TIME))).now

    def variable(name: str) -> object:
        value = example[name]
        return now if name == "now" else value

    scope = PolicyScope(Variables(variable), policy.variables, cel.EXPRESSION_LIMIT)
    scope["params"] = example.get("params", policy.params)
    return scope
