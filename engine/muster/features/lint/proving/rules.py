"""A policy as formulas: when each of its rules is the one that decides, when an expression of it fails, and what it
then says. The order of evaluation is that of `decide`: `matchConditions`, rules, texts, each only where those before
allow it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from muster import cel
from muster.cel.types import Type
from muster.data.kinds import ADAPTER_REPORT, CLUSTERS, FLEET, LEASE, MANAGED_CLUSTER, Kind
from muster.data.tree import At, Tree, dig, mapping_at
from muster.features.lint.proving.doubt import condition_of
from muster.features.lint.proving.inputs import Roots, is_built_in
from muster.features.lint.proving.logic import Formula, before, both, either, negation, same, some
from muster.features.lint.proving.translate import Translator
from muster.features.lint.proving.values import (
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
from muster.fleet.schemas import common_definitions, load_schema, schema_of
from muster.rules.admission.policies import AuditAnnotation, Validation
from muster.rules.conditions.policy import HOLD_WHEN, OBSERVED, ConditionPolicy, Rule
from muster.rules.conditions.stage import POLICY_ERROR
from muster.rules.policies.expressions import TextExpression
from muster.rules.policies.parameters import LEAST, LONGEST, MOST
from muster.rules.policies.policies import Policy, Target
from muster.rules.policies.selectors import LabelSelector
from muster.rules.policies.variables import PULSE_VARIABLES
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import STATUSES, ExpressionMatch, Remedy
from muster.rules.taints.policy import TaintPolicy

#: A step of a path: a field, or an element or a key.
_STEP: Final = re.compile(r"\.([^.\[]+)|\[[^\]]*\]")
_CONDITIONS: Final = {"additionalProperties": {"$ref": "_common.json#/$defs/condition"}}


def schema_at(kind: Kind, path: str) -> Mapping[str, Tree]:
    """Return the schema of an input of policies over a kind, by a path such as `self.spec.leaseDurationSeconds`; empty
    where there is none. `longest`, which is no word of schemas, bounds a duration in seconds that is not negative."""
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    schema, file = _root(kind, name)
    for step in _STEP.finditer(path, len(name)):
        named = mapping_at(schema, "properties").get(step[1])
        below = named or schema.get("items") or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return {}
        schema, file = _resolved(below, file)
    return schema


def _root(kind: Kind, name: str) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """The schema of a variable, and the file that it stands in."""
    match name:
        case "self" | "object" | "oldObject" | "derived" | "lease" | "cluster":
            schema = schema_of({"lease": LEASE, "cluster": MANAGED_CLUSTER}.get(name, kind))
            return schema, schema
        case "fleet":
            return mapping_at(schema_of(FLEET), "properties", "spec"), schema_of(FLEET)
        case "reports":
            return {"items": dig(schema_of(ADAPTER_REPORT), "properties", "spec")}, schema_of(ADAPTER_REPORT)
        case "params":
            return {"additionalProperties": {"minimum": LEAST, "maximum": MOST, "longest": LONGEST.total_seconds()}}, {}
        case "reported" | "previous" | "conditions":
            return _CONDITIONS, common_definitions()
        case _:
            return {}, {}


def _resolved(schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """Follow `$ref`; what stands beside the reference counts as well."""
    while isinstance(reference := schema.get("$ref"), str):
        name, _, pointer = reference.partition("#")
        file = load_schema(name) if name else file
        beside = {word: value for word, value in schema.items() if word != "$ref"}
        target = mapping_at(file, *filter(None, pointer.split("/")))
        fields = {**mapping_at(target, "properties"), **mapping_at(beside, "properties")}
        schema = {**target, **beside, "properties": fields}
    return schema, file


@dataclass(frozen=True, slots=True)
class Expressions(Policy):
    """The expressions of a Remedy, which are asked one by one, like taints."""

    matches: tuple[ExpressionMatch, ...]


@dataclass(frozen=True, slots=True)
class Validations(Policy):
    """The rules of an admission policy, asked one by one: each decides where it refuses. `inputs` are the types of what
    its expressions see."""

    rules: tuple[Validation, ...]
    notes: tuple[AuditAnnotation, ...]
    inputs: Mapping[str, Type]


def of_remedy(remedy: Remedy) -> Expressions:
    """Return the expressions of a Remedy, which speak of clusters of both kinds."""
    target = Target(CLUSTERS, LabelSelector.parse(None), frozenset())
    return Expressions(remedy.id, remedy.source, target, (), {}, {}, remedy.expressions)


def in_order(policy: Policy) -> bool:
    """Whether the first rule that holds decides, and not each by itself."""
    return not isinstance(policy, (TaintPolicy, Expressions, Validations))


@dataclass(frozen=True, slots=True)
class Ask:
    """A rule or taint as it is asked: `when` is None where it always holds."""

    name: str
    at: At
    when_at: At
    when: cel.Program | None
    called: str


@dataclass(frozen=True, slots=True, eq=False)
class RuleStep:
    """A rule in the policy: `holds` by itself, and `decides` where those before it and the matchConditions let it."""

    ask: Ask
    holds: Formula
    decides: Formula


@dataclass(frozen=True, slots=True, eq=False)
class FailureSite:
    """An expression that may fail: what it belongs to, where it stands, and when it does."""

    of: str
    at: At
    fails: Formula


@dataclass(slots=True, eq=False)
class Saying:
    """What a policy says of any object of one kind. `clean` holds where all matchConditions do; `status` and `reason`
    are those of a condition, empty where nothing is said."""

    world: SymbolicWorld
    roots: Roots
    translator: Translator
    clean: Formula = True
    steps: list[RuleStep] = field(default_factory=list)
    sites: list[FailureSite] = field(default_factory=list)
    silent: Formula = False
    status: Result = field(default_factory=lambda: surely(SymbolicText("")))
    reason: Result = field(default_factory=lambda: surely(SymbolicText("")))


def asks(policy: Policy) -> list[Ask]:
    """Return the rules or taints of a policy, in the order in which they are asked."""
    match policy:
        case ConditionPolicy():
            return [_rule(rule.name, rule.at, (*rule.at, "when"), rule.when) for rule in policy.rules]
        case PulsePolicy():
            return [_rule(rule.name, rule.at, rule.at, rule.when) for rule in policy.rules]
        case TaintPolicy():
            named = [(f"{taint.key}:{taint.effect}", taint) for taint in policy.taints]
            return [Ask(name, taint.at, taint.at, taint.when, f"taint {name!r}") for name, taint in named]
        case Expressions():
            called = "the expression of decisionMatches[{}]"
            return [
                Ask(str(match.at[2]), match.at, match.at, match.when, called.format(match.at[2]))
                for match in policy.matches
            ]
        case Validations():
            return [
                Ask(rule.expression, rule.at, (*rule.at, "expression"), rule.holds, f"validations[{rule.at[2]}]")
                for rule in policy.rules
            ]
        case _:
            return []


def _rule(name: str, at: At, when_at: At, when: cel.Program | None) -> Ask:
    return Ask(name, at, when_at, when, f"rule {name!r}")


def say(policy: Policy, kind: Kind, *, any_params: bool = False) -> Saying:
    """Return what a policy says of any object of a kind, with its own parameters or with any like them. TooMuch."""
    world = SymbolicWorld(partial(schema_at, kind))
    further: Mapping[str, Type] = PULSE_VARIABLES if isinstance(policy, PulsePolicy) else {}
    if isinstance(policy, Validations):
        further = policy.inputs
    if is_built_in(policy.source):
        world.in_our_time()
    roots = Roots(world, policy, kind, further, any_params=any_params)
    translator = Translator(world, roots)
    roots.derived["variables"] = surely(_variables(policy, translator))
    saying = Saying(world, roots, translator)
    state: Formula = True
    stopped: list[Formula] = []
    for guard in policy.guards:
        fails, truth = _truth(translator, guard.when)
        saying.sites.append(FailureSite(f"matchCondition {guard.name!r}", guard.at, both(state, fails)))
        stopped.append(both(state, negation(fails), negation(truth)))
        state = both(state, negation(fails), truth)
    saying.clean = state
    for ask in asks(policy):
        fails, truth = (False, True) if ask.when is None else _truth(translator, ask.when)
        holds = both(negation(fails), negation(truth) if isinstance(policy, Validations) else truth)
        saying.sites.append(FailureSite(ask.called, ask.when_at, both(state, fails)))
        saying.steps.append(RuleStep(ask, holds, both(state, holds)))
        if in_order(policy):
            state = both(state, negation(fails), negation(truth))
    saying.silent = either(state, *stopped)
    if isinstance(policy, ConditionPolicy):
        _outcome(policy, saying)
    elif isinstance(policy, Validations):
        _words(policy, saying)
    return saying


def _variables(policy: Policy, translator: Translator) -> Lazy:
    translated: dict[str, Result] = {}

    def value(name: str) -> Result:
        if name not in translated:
            translated[name] = translator.program(policy.variables[name])
        return translated[name]

    return Lazy(frozenset(policy.variables), value)


def _truth(translator: Translator, program: cel.Program) -> tuple[Formula, Formula]:
    return condition_of(translator.world, translator.program(program))


def _outcome(policy: ConditionPolicy, saying: Saying) -> None:
    """Work out status and reason, and where the texts of rules fail."""
    translator = saying.translator
    statuses: list[tuple[Formula, Result]] = []
    reasons: list[tuple[Formula, Result]] = []
    for rule, step in zip(policy.rules, saying.steps, strict=True):
        say_it = _Texts(saying, rule, step.decides)
        status = say_it.text("status", rule.status)
        reason = say_it.text("reason", rule.reason)
        say_it.text("message", rule.message)
        odd = negation(some(both(guard, same(atom.term, one)) for guard, atom in status.cases
                            if isinstance(atom, SymbolicText) for one in STATUSES))  # fmt: skip
        say_it.site("statusExpression", odd)
        if rule.observed_generation is not None:
            number = translator.program(rule.observed_generation)
            say_it.site(OBSERVED, either(number.fails, negation(_is_generation(number))))
        if policy.hold_when is not None:
            held = some(both(guard, same(atom.term, one)) for guard, atom in status.cases
                        if isinstance(atom, SymbolicText) for one in policy.hold_for)  # fmt: skip
            fails, _ = _truth(translator, policy.hold_when)
            saying.sites.append(FailureSite(HOLD_WHEN, ("spec", HOLD_WHEN), both(say_it.state, held, fails)))
            say_it.state = both(say_it.state, negation(both(held, fails)))
        statuses.append((say_it.state, given(status.cases)))
        reasons.append((say_it.state, given(reason.cases)))
    failed = some(site.fails for site in saying.sites)
    statuses += [(saying.silent, surely(SymbolicText(""))), (failed, surely(SymbolicText("Unknown")))]
    reasons += [(saying.silent, surely(SymbolicText(""))), (failed, surely(SymbolicText(POLICY_ERROR)))]
    saying.status, saying.reason = merged(statuses), merged(reasons)


def _words(policy: Validations, saying: Saying) -> None:
    """Add where the texts of an admission policy fail: the message of a rule that refuses, and what it notes."""
    for rule, step in zip(policy.rules, saying.steps, strict=True):
        if rule.message.program is not None:
            fails = saying.translator.program(rule.message.program).fails
            at = (*rule.at, "messageExpression")
            saying.sites.append(FailureSite(f"the message of {step.ask.called}", at, both(step.decides, fails)))
    for note in policy.notes:
        fails = saying.translator.program(note.value).fails
        saying.sites.append(FailureSite(f"auditAnnotation {note.key!r}", note.at, both(saying.clean, fails)))


class _Texts:
    """The texts of a rule, each asked where the ones before it did not fail; `state` says whether."""

    def __init__(self, saying: Saying, rule: Rule, state: Formula) -> None:
        self.saying, self.rule, self.state = saying, rule, state

    def text(self, name: str, text: TextExpression) -> Result:
        if text.program is None:
            return surely(SymbolicText(text.literal))
        found = self.saying.translator.program(text.program)
        texts = tuple((guard, _any_text(self.saying, atom)) for guard, atom in found.cases)
        good = tuple((guard, atom) for guard, atom in texts if atom is not None)
        perhaps = [both(guard, self.saying.world.truth()) for guard, atom in found.cases if isinstance(atom, Opaque)]
        never = some(guard for guard, atom in texts if atom is None)
        self.site(f"{name}Expression", either(found.fails, never, *perhaps))
        return given(good)

    def site(self, name: str, fails: Formula) -> None:
        if fails is not False:
            self.saying.sites.append(
                FailureSite(f"rule {self.rule.name!r}", (*self.rule.at, name), both(self.state, fails))
            )
            self.state = both(self.state, negation(fails))


def _any_text(saying: Saying, atom: object) -> SymbolicText | None:
    """The text that a value is, or stands for; None for what is none."""
    if isinstance(atom, SymbolicText):
        return atom
    return SymbolicText(saying.world.text()) if isinstance(atom, (Opaque, WrittenTime)) else None


def _is_generation(number: Result) -> Formula:
    return some(both(guard, _not_negative(atom)) for guard, atom in number.cases if isinstance(atom, (Int, Opaque)))


def _not_negative(atom: Int | Opaque) -> Formula:
    return before(0, atom.term, strictly=False) if isinstance(atom, Int) else True
