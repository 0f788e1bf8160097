"""Conditions: each ConditionPolicy's first rule that holds decides.

Policies run in the order in which they read each other's conditions. A failed expression never counts as true or
healthy: the condition becomes Unknown with reason `PolicyError` and names the rule.

Damping (`holdFor`, Karmada's thresholds for every ConditionPolicy): a new outcome must last for a while before it is
adopted, in both directions. The pending outcome and its start are in the derived file (`status.muster.pending`), so a
restart loses nothing; Karmada adopts the first probe after a restart at once. The window restarts whenever the observed
status changes; its end is the horizon.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from muster import cel
from muster.data.decision import Because, Decision, Failed, Input, Path
from muster.data.finding import Finding
from muster.data.kinds import ALL, CLUSTER_DEPLOYMENT, CONDITION_POLICY, CSR, TARGETS, Kind
from muster.data.times import LAST, earliest, format_time, later, try_time
from muster.data.tree import At, Tree
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.policy import HOLD_WHEN, OBSERVED, ConditionPolicy, Rule
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import PolicyScope
from muster.rules.policies.policies import Guard
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.variables import generation_of
from muster.rules.stages import CONDITIONS, Local
from muster.rules.transitions import condition
from muster.rules.unread_authors import EntryAuthor

PENDING = ("status", "muster", "pending")
_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class Pending:
    """An outcome not adopted yet: its status and reason, its start, and the end of its window."""

    status: str
    reason: str
    since: datetime
    until: datetime | None

    def entry(self) -> Tree:
        """The form stored in the derived part."""
        return {"status": self.status, "reason": self.reason, "since": format_time(self.since)}


def pending(
    policy: ConditionPolicy, status: str, reason: str, *, current: Tree, last: Tree, now: datetime
) -> Pending | None:
    """Return the outcome as pending while `current` stays, or None to adopt it now.

    `current`: the last run's condition; `last`: the outcome pending then; either may be None. A first outcome is
    adopted at once, and so are another reason and message with the same status. `now == since + holdFor` adopts.
    """
    before = current.get("status") if isinstance(current, dict) else None
    if not isinstance(before, str):
        return None
    hold = policy.hold_for.get(status, _NO_TIME)
    if before == status or hold <= _NO_TIME or _is_no_recovery(policy, before, status):
        return None
    since = try_time(last.get("since")) if isinstance(last, dict) and last.get("status") == status else None
    # A future time was not written by muster: an edit must not lengthen a window.
    since = min(since or now, now)
    until = later(since, hold)
    return None if until is not None and now >= until else Pending(status, reason, since, until)


def _is_no_recovery(policy: ConditionPolicy, before: str, status: str) -> bool:
    """Is the change between False and Unknown, and not damped by the policy?"""
    return not policy.hold_unhealthy and "True" not in (before, status)


POLICY_ERROR = "PolicyError"
_KINDS = tuple(
    kind for kind in ALL if kind is not CLUSTER_DEPLOYMENT and (kind.counted or kind in (*TARGETS.values(), CSR))
)


@dataclass(frozen=True, slots=True)
class Statement:
    """A policy's result for an object: status, reason and message, why, and the observed generation if it is not the
    object's own. `must_last`: damping applies."""

    status: str
    reason: str
    message: str
    because: Because
    generation: int | None = None
    must_last: bool = True


def stage(view: View, now: datetime, rules: InForce) -> Iterator[Decision | Failed | Finding]:
    """Decide every condition of the policies in force.

    ClusterDeployments are decided by the stage "pool clusters", because their files hold only a report.
    """
    return of_objects(view, view.of(*_KINDS), now, rules)


def of_objects(
    view: View, objects: Iterable[Object], now: datetime, rules: InForce
) -> Iterator[Decision | Failed | Finding]:
    """Decide the conditions of some objects; the view has everything that policies read."""
    scopes, failures = Scopes.of(view, rules, now), Failures()
    yield from each(objects, lambda obj: object_conditions(scopes, obj, now, failures))
    yield from failures.failed


def object_conditions(scopes: Scopes, obj: Object, now: datetime, failures: Failures) -> Iterator[Decision]:
    """Decide the conditions of one object.

    If several policies decide one condition, the first by name with a result does.
    """
    base, kind = scopes.base(obj), obj.kind
    conditions: dict[str, Tree] = base["conditions"]  # type: ignore[assignment]
    generation = generation_of(scopes.view, obj.id) if kind.counted else None
    silent: dict[str, Decision] = {}  # a policy without a result may have one later: its horizon counts
    decided_types: set[str] = set()
    for policy in scopes.rules.compiled.of(ConditionPolicy):
        if policy.type in decided_types or kind not in policy.target.kinds or not policy.target.selects(obj):
            continue
        statement = _evaluated(scopes, policy, base, obj, failures)
        earlier = silent.pop(policy.type, None)
        horizon = earliest(scopes.clock.horizon, earlier.horizon if earlier else None)
        path: Path = ("status", "conditions", (policy.type,))
        if statement is None:
            if horizon is not None:
                silent[policy.type] = Decision(obj.id, path, None, policy.because, horizon)
            continue
        statement, because, waiting = damped(scopes.view, policy, obj, statement, now)
        if waiting is not None:
            yield waiting
            horizon = earliest(horizon, waiting.horizon)
        decided = condition(
            scopes.view.conditions_before(obj.id).get(policy.type),
            statement.status,
            statement.reason,
            statement.message,
            now=now,
            generation=generation if statement.generation is None else statement.generation,
        )
        conditions[policy.type] = {"type": policy.type, **decided}
        decided_types.add(policy.type)
        yield Decision(obj.id, path, decided, because, horizon)
    yield from silent.values()


def _evaluated(
    scopes: Scopes, policy: ConditionPolicy, base: dict[str, object], obj: Object, failures: Failures
) -> Statement | None:
    """The policy's result; Unknown if an expression fails. Sets the clock's horizon."""
    scopes.clock.reset()
    try:
        return evaluate_policy(policy, scopes.for_policy(policy, base, obj.id))
    except PolicyFailure as failure:
        failures.add(policy, failure, obj.id)
        return Statement("Unknown", POLICY_ERROR, f"{policy.label}: {failure}", _of_failure(policy, failure))


def _of_failure(policy: ConditionPolicy, failure: PolicyFailure) -> Because:
    return Because(f"{policy.label}#{failure.rule}", (Input(failure.at, policy.id),))


def damped(
    view: View, policy: ConditionPolicy, obj: Object, statement: Statement, now: datetime
) -> tuple[Statement, Because, Decision | None]:
    """The result that counts, why, and what to record while a new outcome is pending."""
    because = statement.because
    if not statement.must_last or not policy.hold_for:
        return statement, because, None
    current = view.conditions_before(obj.id).get(policy.type)
    last_pending = view.before(obj.id, *map(str, PENDING), policy.type)
    waiting = pending(policy, statement.status, statement.reason, current=current, last=last_pending, now=now)
    if waiting is None or current is None:
        return statement, because, None
    remembered = Decision(obj.id, (*PENDING, policy.type), waiting.entry(), because, waiting.until)
    damping = Because(
        "damping", (policy.damping,), f"{waiting.status} must last until {format_time(waiting.until or LAST)}"
    )
    return _as_it_was(current, statement), damping, remembered


def _as_it_was(current: Tree, statement: Statement) -> Statement:
    """The present condition, kept while a new outcome is pending."""
    generation = None if statement.generation is None else current.get("observedGeneration")
    reason, message = current.get("reason", ""), current.get("message", "")
    return Statement(current["status"], reason, message, statement.because, generation)


def evaluate_policy(policy: ConditionPolicy, scope: PolicyScope) -> Statement | None:
    """Return the policy's result, None if it does not apply. Raises PolicyFailure."""
    if not guards_hold(policy.guards, scope):
        return None
    for rule in policy.rules:
        if rule.when is None or holds(rule.when, scope, rule.name, (*rule.at, "when")):
            statement = _statement(rule, scope)
            if policy.hold_when is None or statement.status not in policy.hold_for:
                return statement
            held = holds(policy.hold_when, scope, HOLD_WHEN, ("spec", HOLD_WHEN))
            return replace(statement, must_last=held)
    return None


def guards_hold(guards: Iterable[Guard], scope: PolicyScope) -> bool:
    """Do all `matchConditions` hold? Raises PolicyFailure."""
    return all(holds(guard.when, scope, guard.name, guard.at) for guard in guards)


def holds(program: cel.Program, scope: PolicyScope, rule: str, at: At) -> bool:
    """Is the expression true? Raises PolicyFailure if it fails or is no bool."""
    try:
        value = scope.evaluate(program, at)
    except cel.EvaluationError as error:
        raise PolicyFailure(rule, at, error) from None
    if value is not True and value is not False:
        raise PolicyFailure(rule, at, cel.EvaluationError(f"the expression gave {value!r}, not true or false"))
    return value


def _statement(rule: Rule, scope: PolicyScope) -> Statement:
    status, reason, message = (
        text.literal if text.program is None else _text(text.program, scope, rule.name, (*rule.at, f"{name}Expression"))
        for name, text in (("status", rule.status), ("reason", rule.reason), ("message", rule.message))
    )
    if status not in ("True", "False", "Unknown"):
        error = cel.EvaluationError(f"status cannot be {status!r}; it is True, False or Unknown")
        raise PolicyFailure(rule.name, (*rule.at, "statusExpression"), error)
    return Statement(status, reason, message, rule.because, _generation(rule, scope))


def _generation(rule: Rule, scope: PolicyScope) -> int | None:
    if rule.observed_generation is None:
        return None
    at = (*rule.at, OBSERVED)
    value = _value(rule.observed_generation, scope, rule.name, at)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise PolicyFailure(rule.name, at, cel.EvaluationError(f"the expression gave {value!r}, not a generation"))
    return value


def _text(program: cel.Program, scope: PolicyScope, rule: str, at: At) -> str:
    value = _value(program, scope, rule, at)
    if not isinstance(value, str):
        raise PolicyFailure(rule, at, cel.EvaluationError(f"the expression gave {value!r}, not a text"))
    return value


def _value(program: cel.Program, scope: PolicyScope, rule: str, at: At) -> object:
    try:
        return scope.evaluate(program, at)
    except cel.EvaluationError as error:
        raise PolicyFailure(rule, at, error) from None


def authors_of_conditions(*kinds: Kind) -> tuple[EntryAuthor, ...]:
    """The authors of the conditions of objects of some kinds: any ConditionPolicy."""
    return tuple(EntryAuthor(CONDITION_POLICY, kinds, path, named=False) for path in (CONDITIONS, PENDING))


STAGE = Local("conditions", stage, derives=((ALL, (CONDITIONS, PENDING)),), authors=authors_of_conditions(*_KINDS))
