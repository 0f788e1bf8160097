"""What is asked of each policy, and what of the answers is told.

Of each rule: is there an object for which it is the first to hold? Of each expression: is there one for which it fails?
Of each invariant: is there one that breaks it? An example is looked for among usual objects first, and among all where
that finds none; that there is none at all is the proof.

The built-in ValidatingAdmissionPolicies as they are proved: over every object of their kind, as it is and as it was.

A fleet's own are not asked about: what they see of a request depends on more than types tell.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from muster.cel.types import DYN, NullableType, Type
from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import Kind
from muster.data.tree import At
from muster.data.yaml.emitter import emit
from muster.features.lint.proving.confirm import Example, evaluated, is_allowed, is_broken
from muster.features.lint.proving.doubt import condition_of
from muster.features.lint.proving.inputs import in_parts, is_built_in
from muster.features.lint.proving.invariants import Invariant, invariants_of
from muster.features.lint.proving.logic import Formula, either, negation
from muster.features.lint.proving.rules import Saying, Validations, asks, in_order, of_remedy, say
from muster.features.lint.proving.translate import TooMuch
from muster.features.lint.proving.world import MOST_STEPS, Model, Nothing, Solver
from muster.fleet.faults import guarded
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.admission.policies import REQUEST, compile_admissions
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.policies import Policy, Target
from muster.rules.policies.selectors import LabelSelector
from muster.rules.policies.types import object_type
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import Remedy
from muster.rules.taints.policy import TaintPolicy


def admission_policies(fleet: Fleet) -> list[Validations]:
    """Return the built-in policies in force."""
    found = {binding.policy.id: binding.policy for binding in compile_admissions(fleet).bindings}
    policies = []
    for policy in found.values():
        kind = policy.match.kind()
        if kind is not None and is_built_in(policy.source):
            target = Target((kind,), LabelSelector.parse(None), frozenset())
            policies.append(
                Validations(
                    policy.id, policy.source, target, policy.guards, policy.variables, {}, policy.validations,
                    policy.notes, _inputs(kind),
                )
            )  # fmt: skip
    return policies


def _inputs(kind: Kind) -> Mapping[str, Type]:
    """What the expressions see: any part of the object may be missing, and so may the object as it was."""
    type_ = in_parts(object_type(kind))
    return {"object": type_, "oldObject": NullableType(type_), "derived": type_, "request": REQUEST,
            "namespaceObject": DYN}  # fmt: skip


@dataclass(slots=True)
class Proof:
    """What was found of one policy: how many of its rules can decide, how many expressions never fail, how many
    invariants hold; and in words, what was not decided, and which rules its parameters have switched `off`."""

    policy: ObjectId
    deciding: int = 0
    sound: int = 0
    kept: int = 0
    findings: list[Finding] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    off: list[str] = field(default_factory=list)


def prove(fleet: FleetWithPolicies, *, any_params: bool = False) -> list[Proof]:
    """Ask everything of all policies in force, the built-in ones among them: with the parameters that the fleet sets,
    or with any that it could set."""
    remedies = (of_remedy(remedy) for remedy in fleet.compiled.of(Remedy) if remedy.expressions)
    compiled, admissions = fleet.compiled, admission_policies(fleet)
    policies = (
        *compiled.all_of(ConditionPolicy, TaintPolicy, PulsePolicy),
        *remedies,
        *admissions,
    )
    proofs = []
    for policy in sorted(policies, key=lambda one: one.id):
        ask = partial(_alone, fleet, policy, any_params)
        for found in guarded(f"proving {policy.id}", ask, "nothing of it is proved"):
            proofs.append(Proof(policy.id, findings=[found]) if isinstance(found, Finding) else found)
    return proofs


def _alone(fleet: FleetWithPolicies, policy: Policy, any_params: bool) -> list[Proof]:  # noqa: FBT001 - of a partial
    return [prove_policy(fleet, policy, any_params=any_params)]


def prove_policy(
    fleet: FleetWithPolicies, policy: Policy, most_steps: int = MOST_STEPS, *, any_params: bool = False
) -> Proof:
    """Ask everything of one policy; `most_steps` are those of the solver for one question."""
    return _Questions(fleet, policy, most_steps, any_params=any_params).answers()


@dataclass(frozen=True, slots=True, eq=False)
class _PolicyQuestion:
    """A policy over objects of one kind, and who answers what is asked of it."""

    kind: Kind
    saying: Saying
    broken: Mapping[tuple[str, At], Formula]
    solver: Solver

    def example(
        self, question: Formula, confirmed: Callable[[Example], bool], *, usual: bool = False, plain: bool = True
    ) -> Example | Nothing:
        """Return an object of which something holds, as the evaluator confirms. `usual`: nobody asks for others."""
        world = self.saying.world
        for narrowed in ((world.small, world.usual), (world.small,)):
            found = self.solver.find(question, *narrowed)
            if isinstance(found, Model):
                example = self._plain(found, question, narrowed, confirmed) if plain else self._read(found)
                if confirmed(example) and is_allowed(self.kind, example):
                    return example
            if narrowed == (world.small, world.usual):
                never = self.solver.find(question, *((world.usual,) if usual else ()))
                if never is Nothing.NEVER:
                    return never
            if usual:
                break
        return Nothing.UNDECIDED

    def is_possible(self) -> bool:
        """Whether there is any object at all: of none, everything would be proved."""
        world = self.saying.world
        return isinstance(self.solver.find(world.usual, world.small), Model)

    def _plain(
        self, model: Model, question: Formula, narrowed: Sequence[Formula], confirmed: Callable[[Example], bool]
    ) -> Example:
        """The example without what does not matter, and without the variables that nobody looks at."""
        example = self._read(self.solver.plainer(model, question, *narrowed))
        if not (confirmed(example) and is_allowed(self.kind, example)):
            example = self._read(model)
            if not confirmed(example):
                return example
        return Example({name: value for name, value in example.items() if name in example.read})

    def _read(self, model: Model) -> Example:
        return Example(self.saying.roots.read(model))


class _Questions:
    """All that is asked of one policy."""

    def __init__(self, fleet: FleetWithPolicies, policy: Policy, most_steps: int, *, any_params: bool) -> None:
        self.policy, self.proof, self.most_steps, self.any_params = policy, Proof(policy.id), most_steps, any_params
        self.invariants = list(invariants_of(fleet, policy)) if isinstance(policy, ConditionPolicy) else []
        self.asked: list[_PolicyQuestion] = []
        try:
            self.asked = [self._asked(kind) for kind in policy.target.kinds]
        except (TooMuch, RecursionError):
            self.proof.undecided.append("it is too much to translate")

    def _asked(self, kind: Kind) -> _PolicyQuestion:
        saying = say(self.policy, kind, any_params=self.any_params)
        saying.roots.derived.update(status=saying.status, reason=saying.reason)
        broken = {}
        for invariant in self.invariants:
            if invariant.kind is kind:
                fails, truth = condition_of(saying.translator.world, saying.translator.program(invariant.never))
                broken[str(invariant.test.id), invariant.at] = either(fails, truth)
        return _PolicyQuestion(kind, saying, broken, Solver(saying.world, self.most_steps))

    def answers(self) -> Proof:
        """Ask, and note what is found."""
        if any(not asked.is_possible() for asked in self.asked):
            self.proof.undecided.append("what its inputs can be contradicts itself")
        elif self.asked and not self.proof.undecided:
            for index in range(len(asks(self.policy))):
                self._rule(index)
            for at in dict.fromkeys(site.at for asked in self.asked for site in asked.saying.sites):
                self._site(at)
            for invariant in self.invariants:
                self._invariant(invariant)
        return self.proof

    def _rule(self, index: int) -> None:
        """Whether a rule can decide, of an object of any of the kinds."""
        ask = asks(self.policy)[index]
        answers = []
        for asked in self.asked:
            step = asked.saying.steps[index]

            def decides(one: Example) -> bool:
                return ask.at in evaluated(self.policy, one).decided

            found = asked.example(step.decides, decides, plain=False)
            if found is Nothing.UNDECIDED:  # the texts of a plain one have the form that schemas ask for more often
                found = asked.example(step.decides, decides)
            if not isinstance(found, Nothing):
                self.proof.deciding += 1
                return
            answers.append(found)
        if Nothing.UNDECIDED in answers:
            self.proof.undecided.append(f"whether {ask.called} can ever decide")
            return
        if self._is_off(index):
            self.proof.off.append(ask.called)
        elif why := self._why_never(index):
            message = f"{ask.called} of {self.policy.id} can never decide: {why}"
            hint = "remove it, or put it before what stands in its way"
            self._found(self.policy.source, ask.at, Code.RULE_NEVER_DECIDES, message, hint)

    def _is_off(self, index: int) -> bool:
        """Whether a rule could decide if the policy's parameters were others."""
        if not self.policy.params:
            return False
        for kind in self.policy.target.kinds:
            saying = say(self.policy, kind, any_params=True)
            if Solver(saying.world, self.most_steps).find(saying.steps[index].decides) is not Nothing.NEVER:
                return True
        return False

    def _why_never(self, index: int) -> str:
        """What is in the way of a rule that never decides; empty where that is told otherwise."""
        needed: set[int] = set()
        clean = False
        for asked in self.asked:
            steps = asked.saying.steps[:index]
            if any(step.ask.when is None for step in steps):
                return ""  # MUS605
            free = [negation(step.holds) for step in steps] if in_order(self.policy) else []
            kept = asked.solver.needed(asked.saying.steps[index].holds, [*free, asked.saying.clean])
            if kept is None:
                return "no object lets it be the first to hold"
            needed.update(kept)
            clean = clean or len(free) in kept
        shadows = [ask.name for at, ask in enumerate(asks(self.policy)[:index]) if at in needed]
        if shadows:
            names = " or ".join(map(repr, shadows))
            return f"wherever it holds, {names} before it holds{' (or the policy says nothing)' if clean else ''}"
        return "where it would hold, the policy says nothing (matchConditions)" if clean else "it never holds"

    def _site(self, at: At) -> None:
        """Whether the expression at a place can fail, for objects of any of the kinds."""
        of, undecided, usual = "", False, not is_built_in(self.policy.source)
        for asked in self.asked:
            for site in (one for one in asked.saying.sites if one.at == at):
                of = site.of
                found = asked.example(site.fails, lambda one: at in evaluated(self.policy, one).failed, usual=usual)
                if not isinstance(found, Nothing):
                    message = f"{of} of {self.policy.id} can fail"
                    hint = "guard it where what it reads may be missing or malformed: has(...), or a matchCondition"
                    self._found(self.policy.source, at, Code.EXPRESSION_CAN_FAIL, message, hint, found)
                    return
                undecided = undecided or found is Nothing.UNDECIDED
        if undecided:
            self.proof.undecided.append(f"whether {of} can fail")
        else:
            self.proof.sound += 1

    def _invariant(self, invariant: Invariant) -> None:
        policy = self.policy
        assert isinstance(policy, ConditionPolicy)
        asked = next(one for one in self.asked if one.kind is invariant.kind)
        question = asked.broken[str(invariant.test.id), invariant.at]
        found = asked.example(question, lambda one: is_broken(invariant, policy, one))
        if found is Nothing.NEVER:
            self.proof.kept += 1
        elif isinstance(found, Nothing):
            self.proof.undecided.append(f"whether it keeps {invariant.name!r} of {invariant.test.id}")
        else:
            said = evaluated(policy, found)
            rule = next((rule for rule in policy.rules if rule.at in said.decided), None)
            what = invariant.message or f"invariant {invariant.name!r} of {invariant.test.id} does not hold"
            by = f" (rule {rule.name!r}, status {said.status})" if rule is not None else ""
            at: At = ("spec", "rules") if rule is None else rule.at
            hint = f"it is {invariant.name!r} of {invariant.test.id} that rules it out"
            self._found(policy.source, at, Code.INVARIANT_BROKEN, f"{policy.id}: {what}{by}", hint, found)

    def _found(
        self, source: Object, at: At, code: Code, message: str, hint: str, example: Example | None = None
    ) -> None:
        shown = "" if example is None else emit(_shown(example), block_depth=1)
        self.proof.findings.append(finding_at(source, at, code, message, hint, shown))


def _shown(example: Example) -> Example:
    """An example as it is told: what the object itself need not have is left out."""
    return Example({name: value for name, value in example.items() if value != {} or name not in ("self", "fleet")})
