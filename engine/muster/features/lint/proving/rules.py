"""A policy as formulas: when each of its rules decides, when an expression fails, and the outcome. The order is that of
evaluation: `matchConditions`, rules, texts, each only if those before allow it. Gates of Rollouts count as rules."""

from collections.abc import Mapping
from dataclasses import field, replace
from functools import partial

from muster import cel
from muster.cel.types import FieldType, ObjectType, StringType, Type
from muster.cel.values import INT_MAX, INT_MIN
from muster.data.kinds import CLUSTERS, MANAGED_CLUSTER, Kind
from muster.data.tree import At
from muster.dataclass import dataclass
from muster.features.lint.proving.inputs import PolicyInputs, is_built_in, schema_at
from muster.features.lint.proving.logic import Formula, before, both, either, negation, same, some
from muster.features.lint.proving.translate import Translator
from muster.features.lint.proving.unknown import condition_of
from muster.features.lint.proving.values import (
    FAILURE,
    Int,
    Lazy,
    Opaque,
    Result,
    SymbolicText,
    WrittenTime,
    given,
    merged,
    surely,
)
from muster.features.lint.proving.world import SymbolicWorld
from muster.rules.admission.policies import AuditAnnotation, Validation
from muster.rules.conditions.policy import HOLD_WHEN, OBSERVED, ConditionPolicy, Rule
from muster.rules.conditions.stage import POLICY_ERROR
from muster.rules.policies.expressions import TextExpression
from muster.rules.policies.policies import Policy, Target
from muster.rules.policies.selectors import LabelSelector
from muster.rules.policies.variables import PULSE_VARIABLES
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import STATUSES, ExpressionMatch, Remedy
from muster.rules.rollouts.policy import GATE_VARIABLES, Gate, Rollout
from muster.rules.scores.policy import AT, ScorePolicy
from muster.rules.taints.policy import TaintPolicy


@dataclass(frozen=True, slots=True)
class Expressions(Policy):
    """The expressions of a Remedy, evaluated one by one, like taints."""

    matches: tuple[ExpressionMatch, ...]


@dataclass(frozen=True, slots=True)
class Validations(Policy):
    """The rules of an admission policy, evaluated one by one: a rule decides if it refuses. `inputs`: the types of
    variables."""

    rules: tuple[Validation, ...]
    notes: tuple[AuditAnnotation, ...]
    inputs: Mapping[str, Type]


@dataclass(frozen=True, slots=True)
class StageGate:
    """A gate; without a `stage` it is one of every stage. `after`: the indexes of the gates that are true before it is
    evaluated."""

    gate: Gate
    stage: str
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Gates(Policy):
    """The gates of a Rollout, each evaluated if those before it are true: first those of every stage, then its own."""

    rollout: Rollout
    gates: tuple[StageGate, ...]

    def inputs(self, *, any_revision: bool) -> Mapping[str, Type]:
        """The types of the gates' own variables, with the Rollout's revision or with any."""
        type_ = GATE_VARIABLES["rollout"]
        assert isinstance(type_, ObjectType)
        inputs = {
            "name": (self.id.name,),
            "namespace": (self.id.namespace,),
            "stage": tuple(stage.name for stage in self.rollout.stages),
        }
        if self.rollout.revision and not any_revision:
            inputs["revision"] = (self.rollout.revision,)
        fields = {name: FieldType(StringType(values=values), required=True) for name, values in inputs.items()}
        return {**GATE_VARIABLES, "rollout": replace(type_, fields={**type_.fields, **fields})}


def of_rollout(rollout: Rollout) -> Gates:
    """Return the gates of a Rollout, which are about clusters of Open Cluster Management."""
    target = Target((MANAGED_CLUSTER,), LabelSelector.parse(None), frozenset())
    common = len(rollout.source.spec.get("gate") or ())
    gates: list[StageGate] = [
        StageGate(gate, "", tuple(range(index))) for index, gate in enumerate(rollout.stages[0].gates[:common])
    ]
    for stage in rollout.stages:
        first = len(gates)
        for index, gate in enumerate(stage.gates[common:], first):
            gates.append(StageGate(gate, stage.name, (*range(common), *range(first, index))))
    return Gates(rollout.id, rollout.source, target, (), {}, {}, rollout, tuple(gates))


def of_remedy(remedy: Remedy) -> Expressions:
    """Return the expressions of a Remedy, which target clusters of both kinds."""
    target = Target(CLUSTERS, LabelSelector.parse(None), frozenset())
    return Expressions(remedy.id, remedy.source, target, (), {}, {}, remedy.expressions)


def in_order(policy: Policy) -> bool:
    """Does the first rule that holds decide, rather than each one?"""
    return not isinstance(policy, (TaintPolicy, Expressions, Validations, Gates))


@dataclass(frozen=True, slots=True)
class RuleCondition:
    """The condition of a rule or taint: `when` is None if it always holds; `label` names it in messages; `after`: the
    indexes of those that must hold for it to be evaluated."""

    name: str
    at: At
    when_at: At
    when: cel.Program | None
    label: str
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RuleStep:
    """A rule as formulas: when it `holds`; and when it is `asked` and `decides`, given the rules before it and the
    matchConditions."""

    condition: RuleCondition
    holds: Formula
    asked: Formula
    decides: Formula


@dataclass(frozen=True, slots=True, eq=False)
class PossibleFailure:
    """An expression that may fail: its label, its place, and when it fails."""

    label: str
    at: At
    fails: Formula


@dataclass(slots=True, eq=False)
class PolicyFormulas:
    """A policy for any object of one kind. `guards_hold`: all matchConditions hold; `no_outcome`: no rule decides;
    `status` and `reason` of a condition, empty without an outcome; `score` of a ScorePolicy, as numbers."""

    world: SymbolicWorld
    inputs: PolicyInputs
    translator: Translator
    guards_hold: Formula = True
    steps: list[RuleStep] = field(default_factory=list)
    failures: list[PossibleFailure] = field(default_factory=list)
    no_outcome: Formula = False
    status: Result = field(default_factory=lambda: surely(SymbolicText("")))
    reason: Result = field(default_factory=lambda: surely(SymbolicText("")))
    score: Result = FAILURE


def rule_conditions(policy: Policy) -> list[RuleCondition]:
    """Return the conditions of a policy's rules or taints, in order."""
    match policy:
        case ConditionPolicy():
            return [_rule(rule.name, rule.at, (*rule.at, "when"), rule.when) for rule in policy.rules]
        case PulsePolicy():
            return [_rule(rule.name, rule.at, rule.at, rule.when) for rule in policy.rules]
        case TaintPolicy():
            named = [(f"{taint.key}:{taint.effect}", taint) for taint in policy.taints]
            return [RuleCondition(name, taint.at, taint.at, taint.when, f"taint {name!r}") for name, taint in named]
        case Expressions():
            label = "the expression of decisionMatches[{}]"
            return [
                RuleCondition(str(match.at[2]), match.at, match.at, match.when, label.format(match.at[2]))
                for match in policy.matches
            ]
        case Validations():
            return [
                RuleCondition(
                    rule.expression, rule.at, (*rule.at, "expression"), rule.holds, f"validations[{rule.at[2]}]"
                )
                for rule in policy.rules
            ]
        case Gates():
            return [_gate(gate) for gate in policy.gates]
        case _:
            return []


def _gate(gate: StageGate) -> RuleCondition:
    label = f"gate {gate.gate.name!r}{f' of stage {gate.stage!r}' if gate.stage else ''}"
    return RuleCondition(gate.gate.name, gate.gate.at, gate.gate.at, gate.gate.when, label, gate.after)


def _rule(name: str, at: At, when_at: At, when: cel.Program | None) -> RuleCondition:
    return RuleCondition(name, at, when_at, when, f"rule {name!r}")


def policy_formulas(policy: Policy, kind: Kind, *, any_params: bool = False) -> PolicyFormulas:
    """Translate a policy for any object of a kind, with its own parameters or with any of their types. TooLarge."""
    world = SymbolicWorld(partial(schema_at, kind))
    further: Mapping[str, Type] = PULSE_VARIABLES if isinstance(policy, PulsePolicy) else {}
    if isinstance(policy, Validations):
        further = policy.inputs
    elif isinstance(policy, Gates):
        further = policy.inputs(any_revision=any_params)
    if is_built_in(policy.source):
        world.in_our_time()
    inputs = PolicyInputs(world, policy, kind, further, any_params=any_params)
    translator = Translator(world, inputs)
    inputs.derived["variables"] = surely(_variables(policy, translator))
    formulas = PolicyFormulas(world, inputs, translator)
    state: Formula = True
    stopped: list[Formula] = []
    for guard in policy.guards:
        fails, truth = _truth(translator, guard.when)
        formulas.failures.append(PossibleFailure(f"matchCondition {guard.name!r}", guard.at, both(state, fails)))
        stopped.append(both(state, negation(fails), negation(truth)))
        state = both(state, negation(fails), truth)
    formulas.guards_hold = state
    for condition in rule_conditions(policy):
        fails, truth = (False, True) if condition.when is None else _truth(translator, condition.when)
        holds = both(negation(fails), negation(truth) if isinstance(policy, Validations) else truth)
        asked = both(state, *(formulas.steps[index].holds for index in condition.after))
        formulas.failures.append(PossibleFailure(condition.label, condition.when_at, both(asked, fails)))
        formulas.steps.append(RuleStep(condition, holds, asked, both(asked, holds)))
        if in_order(policy):
            state = both(state, negation(fails), negation(truth))
    formulas.no_outcome = either(state, *stopped)
    if isinstance(policy, ConditionPolicy):
        _outcome(policy, formulas)
    elif isinstance(policy, Validations):
        _admission_texts(policy, formulas)
    elif isinstance(policy, ScorePolicy):
        _score(policy, formulas)
    return formulas


def _variables(policy: Policy, translator: Translator) -> Lazy:
    translated: dict[str, Result] = {}

    def value(name: str) -> Result:
        if name not in translated:
            translated[name] = translator.program(policy.variables[name])
        return translated[name]

    return Lazy(frozenset(policy.variables), value)


def _truth(translator: Translator, program: cel.Program) -> tuple[Formula, Formula]:
    return condition_of(translator.world, translator.program(program))


def _outcome(policy: ConditionPolicy, formulas: PolicyFormulas) -> None:
    """Translate status and reason, and the failures of the texts of rules."""
    translator = formulas.translator
    statuses: list[tuple[Formula, Result]] = []
    reasons: list[tuple[Formula, Result]] = []
    for rule, step in zip(policy.rules, formulas.steps, strict=True):
        texts = _Texts(formulas, rule, step.decides)
        status = texts.text("status", rule.status)
        reason = texts.text("reason", rule.reason)
        texts.text("message", rule.message)
        odd = negation(
            some(
                both(guard, same(atom.term, status_name))
                for guard, atom in status.cases
                if isinstance(atom, SymbolicText)
                for status_name in STATUSES
            )
        )
        texts.site("statusExpression", odd)
        if rule.observed_generation is not None:
            number = translator.program(rule.observed_generation)
            texts.site(OBSERVED, either(number.fails, negation(_is_generation(number))))
        if policy.hold_when is not None:
            held = some(
                both(guard, same(atom.term, status_name))
                for guard, atom in status.cases
                if isinstance(atom, SymbolicText)
                for status_name in policy.hold_for
            )
            fails, _ = _truth(translator, policy.hold_when)
            formulas.failures.append(PossibleFailure(HOLD_WHEN, ("spec", HOLD_WHEN), both(texts.state, held, fails)))
            texts.state = both(texts.state, negation(both(held, fails)))
        statuses.append((texts.state, given(status.cases)))
        reasons.append((texts.state, given(reason.cases)))
    failed = some(site.fails for site in formulas.failures)
    statuses += [(formulas.no_outcome, surely(SymbolicText(""))), (failed, surely(SymbolicText("Unknown")))]
    reasons += [(formulas.no_outcome, surely(SymbolicText(""))), (failed, surely(SymbolicText(POLICY_ERROR)))]
    formulas.status, formulas.reason = merged(statuses), merged(reasons)


def _admission_texts(policy: Validations, formulas: PolicyFormulas) -> None:
    """Add the failures of an admission policy's texts: messages of rules, and audit annotations."""
    for rule, step in zip(policy.rules, formulas.steps, strict=True):
        if rule.message.program is not None:
            fails = formulas.translator.program(rule.message.program).fails
            at = (*rule.at, "messageExpression")
            label = f"the message of {step.condition.label}"
            formulas.failures.append(PossibleFailure(label, at, both(step.decides, fails)))
    for note in policy.notes:
        fails = formulas.translator.program(note.value).fails
        label = f"auditAnnotation {note.key!r}"
        formulas.failures.append(PossibleFailure(label, note.at, both(formulas.guards_hold, fails)))


def _score(policy: ScorePolicy, formulas: PolicyFormulas) -> None:
    """Translate a score, which must be an integer."""
    score, world = formulas.translator.program(policy.value), formulas.world
    fails, numbers = [score.fails], []
    for guard, atom in score.cases:
        if isinstance(atom, Int):
            numbers.append((guard, atom))
            continue
        is_known = world.truth() if isinstance(atom, Opaque) else False
        fails.append(both(guard, negation(is_known)))
        numbers.append((both(guard, is_known), Int(world.between(INT_MIN, INT_MAX))))
    formulas.score = Result(some(fails), tuple(numbers))
    formulas.failures.append(PossibleFailure("the expression", AT, both(formulas.guards_hold, formulas.score.fails)))


class _Texts:
    """The texts of a rule, each evaluated if those before it did not fail; `state`: they did not."""

    def __init__(self, formulas: PolicyFormulas, rule: Rule, state: Formula) -> None:
        self.formulas, self.rule, self.state = formulas, rule, state

    def text(self, name: str, text: TextExpression) -> Result:
        if text.program is None:
            return surely(SymbolicText(text.literal))
        result = self.formulas.translator.program(text.program)
        texts = tuple((guard, _any_text(self.formulas, atom)) for guard, atom in result.cases)
        good = tuple((guard, atom) for guard, atom in texts if atom is not None)
        perhaps = [both(guard, self.formulas.world.truth()) for guard, atom in result.cases if isinstance(atom, Opaque)]
        never = some(guard for guard, atom in texts if atom is None)
        self.site(f"{name}Expression", either(result.fails, never, *perhaps))
        return given(good)

    def site(self, name: str, fails: Formula) -> None:
        if fails is not False:
            self.formulas.failures.append(
                PossibleFailure(f"rule {self.rule.name!r}", (*self.rule.at, name), both(self.state, fails))
            )
            self.state = both(self.state, negation(fails))


def _any_text(formulas: PolicyFormulas, atom: object) -> SymbolicText | None:
    """The string that a value is or may be; None if it is not a string."""
    if isinstance(atom, SymbolicText):
        return atom
    return SymbolicText(formulas.world.text()) if isinstance(atom, (Opaque, WrittenTime)) else None


def _is_generation(number: Result) -> Formula:
    return some(
        both(guard, before(0, atom.term, strictly=False) if isinstance(atom, Int) else True)
        for guard, atom in number.cases
        if isinstance(atom, (Int, Opaque))
    )
