"""The questions about each policy, and the findings from their answers.

For each rule: is there an object for which it is the first to hold? For each expression: is there one for which it
fails? For each invariant: is there one that breaks it? For each gate and stage of a Rollout, and each score: see
`_ask_always`, `stages` and `_ask_score`. An example is sought among usual objects first, then among all; if none exists
at all, that is the proof.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, Kind
from muster.data.tree import At
from muster.data.yaml.emitter import emit
from muster.dataclass import dataclass
from muster.features.lint.proving.confirm import Example, evaluated, is_allowed, is_broken
from muster.features.lint.proving.inputs import is_built_in
from muster.features.lint.proving.invariants import Invariant, invariants_of
from muster.features.lint.proving.logic import Formula, Model, Term, both, either, negation, same, some, within
from muster.features.lint.proving.provable import provable_policies
from muster.features.lint.proving.rules import (
    Gates,
    PolicyFormulas,
    in_order,
    policy_formulas,
    rule_conditions,
)
from muster.features.lint.proving.solver import MAX_STEPS, Nothing, Solver
from muster.features.lint.proving.stages import unreachable_stages
from muster.features.lint.proving.translate import TooLarge
from muster.features.lint.proving.unknown import condition_of
from muster.features.lint.proving.values import Int, Result
from muster.fleet.faults import guarded
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.policies import Policy
from muster.rules.rollouts.policy import Rollout
from muster.rules.scores.policy import AT, HIGHEST, LOWEST, ScorePolicy

_ALWAYS: Final = "remove it, or let it read what differs between clusters"


@dataclass(slots=True)
class Proof:
    """The answers for one policy: how many of its rules can decide, expressions never fail, invariants hold, and stages
    of a Rollout can have clusters; and in words the undecided questions, and the rules that its parameters disable."""

    policy: ObjectId
    deciding: int = 0
    sound: int = 0
    kept: int = 0
    reached: int = 0
    findings: list[Finding] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    disabled: list[str] = field(default_factory=list)


def prove(fleet: FleetWithPolicies, *, any_params: bool = False) -> list[Proof]:
    """Prove all policies in force, built-in ones included: with the fleet's parameters, or with `any_params`."""
    proofs = []
    for policy in provable_policies(fleet):

        def attempt(policy: Policy = policy) -> list[Proof]:
            return [prove_policy(fleet, policy, any_params=any_params)]

        for proof in guarded(f"proving {policy.id}", attempt, "nothing of it is proved"):
            proofs.append(Proof(policy.id, findings=[proof]) if isinstance(proof, Finding) else proof)
    return proofs


def prove_policy(
    fleet: FleetWithPolicies, policy: Policy, most_steps: int = MAX_STEPS, *, any_params: bool = False
) -> Proof:
    """Prove one policy; `most_steps`: the solver's limit for one question."""
    return _Questions(fleet, policy, most_steps, any_params=any_params).answers()


@dataclass(frozen=True, slots=True, eq=False)
class _TargetKind:
    """A policy for the objects of one kind, with the solver for its questions."""

    kind: Kind
    formulas: PolicyFormulas
    broken: Mapping[tuple[str, At], Formula]
    solver: Solver

    def find_example(
        self, question: Formula, confirmed: Callable[[Example], bool], *, usual: bool = False, simplify: bool = True
    ) -> Example | Nothing:
        """Return an object for which a formula holds, confirmed by the evaluator. `usual`: among usual ones only."""
        world = self.formulas.world
        for narrowed in ((world.small, world.usual), (world.small,)):
            model = self.solver.find(question, *narrowed)
            if isinstance(model, Model):
                example = self._simplest(model, question, narrowed, confirmed) if simplify else self._read(model)
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
        """Is any object possible? Otherwise everything would be proved."""
        world = self.formulas.world
        return isinstance(self.solver.find(world.usual, world.small), Model)

    def _simplest(
        self, model: Model, question: Formula, narrowed: Sequence[Formula], confirmed: Callable[[Example], bool]
    ) -> Example:
        """The simplest example, without the variables that the evaluator does not read."""
        example = self._read(self.solver.simpler(model, question, *narrowed))
        if not (confirmed(example) and is_allowed(self.kind, example)):
            example = self._read(model)
            if not confirmed(example):
                return example
        return Example({name: value for name, value in example.items() if name in example.read})

    def _read(self, model: Model) -> Example:
        return Example(self.formulas.inputs.read(model))


class _Questions:
    """All questions about one policy."""

    def __init__(self, fleet: FleetWithPolicies, policy: Policy, most_steps: int, *, any_params: bool) -> None:
        self.policy, self.proof, self.most_steps, self.any_params = policy, Proof(policy.id), most_steps, any_params
        self.fleet = fleet
        self.invariants = list(invariants_of(fleet, policy)) if isinstance(policy, ConditionPolicy) else []
        self.targets: list[_TargetKind] = []
        try:
            self.targets = [self._target(kind) for kind in policy.target.kinds]
        except (TooLarge, RecursionError):
            self.proof.undecided.append("it is too large to translate")

    def _target(self, kind: Kind) -> _TargetKind:
        formulas = policy_formulas(self.policy, kind, any_params=self.any_params)
        formulas.inputs.derived.update(status=formulas.status, reason=formulas.reason)
        broken = {}
        for invariant in self.invariants:
            if invariant.kind is kind:
                fails, truth = condition_of(formulas.translator.world, formulas.translator.program(invariant.never))
                broken[str(invariant.test.id), invariant.at] = either(fails, truth)
        return _TargetKind(kind, formulas, broken, Solver(formulas.world, self.most_steps))

    def answers(self) -> Proof:
        """Answer them, and return the proof."""
        if any(not target.is_possible() for target in self.targets):
            self.proof.undecided.append("its inputs contradict each other")
        elif self.targets and not self.proof.undecided:
            for index in range(len(rule_conditions(self.policy))):
                if self._ask_rule(index) and isinstance(self.policy, Gates):
                    self._ask_always(index)
            if isinstance(self.policy, ScorePolicy) and not self._ask_score(self.policy):
                return self.proof
            for at in dict.fromkeys(site.at for target in self.targets for site in target.formulas.failures):
                self._ask_failure(at)
            for invariant in self.invariants:
                self._ask_invariant(invariant)
        if isinstance(self.policy, Gates):
            self._ask_stages(self.policy.rollout)
        return self.proof

    def _ask_rule(self, index: int) -> bool:
        """Can a rule decide, for an object of any of the kinds? False if not, or if that is undecided."""
        condition = rule_conditions(self.policy)[index]
        answers = []
        for target in self.targets:
            step = target.formulas.steps[index]

            def decides(example: Example) -> bool:
                return condition.at in evaluated(self.policy, example).decided

            example = target.find_example(step.decides, decides, simplify=False)
            if example is Nothing.UNDECIDED:  # a plain example's strings match the schemas' formats more often
                example = target.find_example(step.decides, decides)
            if not isinstance(example, Nothing):
                self.proof.deciding += 1
                return True
            answers.append(example)
        gate = isinstance(self.policy, Gates)
        if Nothing.UNDECIDED in answers:
            self.proof.undecided.append(f"whether {condition.label} can ever {'pass' if gate else 'decide'}")
        elif self._is_off(index):
            self.proof.disabled.append(condition.label)
        elif why := self._why_never(index):
            code, never = Code.RULE_NEVER_DECIDES, "can never decide"
            hint = "remove it, or move it before the rule that prevents it"
            if gate:
                code, never = Code.GATE_NEVER_PASSES, "can never pass"
                hint = "no cluster succeeds until it can; compare it with what the clusters report"
            message = f"{condition.label} of {self.policy.id} {never}: {why}"
            self._add_finding(self.policy.source, condition.at, code, message, hint)
        return False

    def _ask_always(self, index: int) -> None:
        """Does a gate pass for each cluster for which it is evaluated, with any revision?"""
        assert isinstance(self.policy, Gates)
        formulas = policy_formulas(self.policy, MANAGED_CLUSTER, any_params=True)
        step, solver = formulas.steps[index], Solver(formulas.world, self.most_steps)
        earlier = [formulas.steps[after].holds for after in step.condition.after]
        kept = solver.needed(negation(step.holds), earlier)
        if kept is None:
            return
        names = [repr(formulas.steps[step.condition.after[number]].condition.name) for number in kept]
        why = f" where {' and '.join(names)} before it {'do' if len(names) > 1 else 'does'}" if names else ""
        message = f"{step.condition.label} of {self.policy.id} always passes{why}"
        self._add_finding(self.policy.source, step.condition.at, Code.ALWAYS_THE_SAME, message, _ALWAYS)

    def _ask_stages(self, rollout: Rollout) -> None:
        """Can each stage have a cluster?"""
        why = unreachable_stages(self.fleet, rollout, self.most_steps)
        for index, stage in enumerate(rollout.stages):
            if stage.name in why:
                message = f"no cluster can be in stage {stage.name!r} of {rollout.id}: {why[stage.name]}"
                hint = "change its selector, or move it before the stage that takes its clusters"
                at: At = ("spec", "stages", index)
                self._add_finding(rollout.source, at, Code.STAGE_NEVER_REACHED, message, hint)
        self.proof.reached = len(rollout.stages) - len(why)

    def _ask_score(self, policy: ScorePolicy) -> bool:
        """Can the expression give a score, another than the one found first, and one out of range? False if it never
        gives any."""
        [target] = self.targets
        score, state = target.formulas.score, target.formulas.guards_hold
        answered = both(state, negation(score.fails))
        first = target.find_example(
            answered, lambda example: evaluated(policy, example).score is not None, simplify=False
        )
        if first is Nothing.NEVER:
            guarded_off = target.solver.find(state) is Nothing.NEVER
            why = "its matchConditions never all hold" if guarded_off else "its expression always fails"
            message = f"{policy.id} never gives a score: {why}"
            self._add_finding(policy.source, AT, Code.RULE_NEVER_DECIDES, message, "compare it with what clusters have")
            return False
        if isinstance(first, Nothing):
            self.proof.undecided.append("whether it ever gives a score")
            return True
        self.proof.deciding += 1
        self._ask_range(policy, target, answered)
        value = evaluated(policy, first).score
        others = [
            other
            for other in self.fleet.compiled.of(ScorePolicy)
            if (other.resource, other.score) == (policy.resource, policy.score)
        ]
        differs = _some_score(score, lambda term: negation(same(term, value)))
        plain = not policy.guards and not policy.target.selector.requirements and len(others) == 1
        if plain and target.solver.find(both(answered, differs)) is Nothing.NEVER:
            message = f"{policy.id} gives every cluster the same score: {value}"
            self._add_finding(policy.source, AT, Code.ALWAYS_THE_SAME, message, _ALWAYS)
        return True

    def _ask_range(self, policy: ScorePolicy, target: _TargetKind, answered: Formula) -> None:
        """Can a score be out of the range of Open Cluster Management?"""
        outside = _some_score(target.formulas.score, lambda term: negation(within(LOWEST, term, HIGHEST)))

        def is_outside(example: Example) -> bool:
            value = evaluated(policy, example).score
            return value is not None and not LOWEST <= value <= HIGHEST

        example = target.find_example(both(answered, outside), is_outside, usual=True)
        if not isinstance(example, Nothing):
            value = evaluated(policy, example).score
            message = f"{policy.id} can give the score {value}; scores are from {LOWEST} to {HIGHEST}"
            hint = f"limit it, for example with math.least({HIGHEST}, math.greatest({LOWEST}, ...))"
            self._add_finding(policy.source, AT, Code.SCORE_OUT_OF_RANGE, message, hint, example)
        elif example is Nothing.UNDECIDED:
            self.proof.undecided.append("whether its scores can be out of range")

    def _is_off(self, index: int) -> bool:
        """Could a rule decide with other parameters of the policy?"""
        if not self.policy.params:
            return False
        for kind in self.policy.target.kinds:
            formulas = policy_formulas(self.policy, kind, any_params=True)
            if Solver(formulas.world, self.most_steps).find(formulas.steps[index].decides) is not Nothing.NEVER:
                return True
        return False

    def _why_never(self, index: int) -> str:
        """Why a rule never decides; empty if another finding says so."""
        needed: set[int] = set()
        clean = False
        for target in self.targets:
            steps = target.formulas.steps[:index]
            if any(step.condition.when is None for step in steps):
                return ""  # MUS605
            after = rule_conditions(self.policy)[index].after
            free = (
                [negation(step.holds) for step in steps] if in_order(self.policy) else [steps[i].holds for i in after]
            )
            kept = target.solver.needed(target.formulas.steps[index].holds, [*free, target.formulas.guards_hold])
            if kept is None:
                return "no object lets it be the first to hold"
            needed.update(kept)
            clean = clean or len(free) in kept
        conditions = rule_conditions(self.policy)
        earlier = conditions[:index] if in_order(self.policy) else [conditions[i] for i in conditions[index].after]
        shadows = [condition.name for at, condition in enumerate(earlier) if at in needed]
        if shadows:
            names = " or ".join(map(repr, shadows))
            if isinstance(self.policy, Gates):
                return f"where it would, {names} before it does not"
            return f"wherever it holds, {names} before it holds{' (or a matchCondition does not)' if clean else ''}"
        return "where it would hold, a matchCondition does not" if clean else "it never holds"

    def _ask_failure(self, at: At) -> None:
        """Can the expression at a place fail, for objects of any of the kinds?"""
        label, undecided, usual = "", False, not is_built_in(self.policy.source)
        for target in self.targets:
            for site in (failure for failure in target.formulas.failures if failure.at == at):
                label = site.label

                def fails(example: Example) -> bool:
                    return at in evaluated(self.policy, example).failed

                example = target.find_example(site.fails, fails, usual=usual)
                if not isinstance(example, Nothing):
                    message = f"{label} of {self.policy.id} can fail"
                    hint = "guard what may be missing or malformed: has(...), or a matchCondition"
                    self._add_finding(self.policy.source, at, Code.EXPRESSION_CAN_FAIL, message, hint, example)
                    return
                undecided = undecided or example is Nothing.UNDECIDED
        if undecided:
            self.proof.undecided.append(f"whether {label} can fail")
        else:
            self.proof.sound += 1

    def _ask_invariant(self, invariant: Invariant) -> None:
        policy = self.policy
        assert isinstance(policy, ConditionPolicy)
        target = next(of_kind for of_kind in self.targets if of_kind.kind is invariant.kind)
        question = target.broken[str(invariant.test.id), invariant.at]
        example = target.find_example(question, lambda tried: is_broken(invariant, policy, tried))
        if example is Nothing.NEVER:
            self.proof.kept += 1
        elif isinstance(example, Nothing):
            self.proof.undecided.append(f"whether it keeps {invariant.name!r} of {invariant.test.id}")
        else:
            outcome = evaluated(policy, example)
            rule = next((rule for rule in policy.rules if rule.at in outcome.decided), None)
            what = invariant.message or f"invariant {invariant.name!r} of {invariant.test.id} does not hold"
            by = f" (rule {rule.name!r}, status {outcome.status})" if rule is not None else ""
            at: At = ("spec", "rules") if rule is None else rule.at
            hint = f"{invariant.name!r} of {invariant.test.id} rules it out"
            self._add_finding(policy.source, at, Code.INVARIANT_BROKEN, f"{policy.id}: {what}{by}", hint, example)

    def _add_finding(
        self, source: Object, at: At, code: Code, message: str, hint: str, example: Example | None = None
    ) -> None:
        shown = "" if example is None else emit(_without_empty(example), block_depth=1)
        self.proof.findings.append(finding_at(source, at, code, message, hint, shown))


def _some_score(score: Result, holds: Callable[[Term], Formula]) -> Formula:
    return some(both(guard, holds(atom.term)) for guard, atom in score.cases if isinstance(atom, Int))


def _without_empty(example: Example) -> Example:
    """The example without empty objects that do not matter."""
    return Example({name: value for name, value in example.items() if value != {} or name not in ("self", "fleet")})
