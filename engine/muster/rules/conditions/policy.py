"""Compiled ConditionPolicies: each decides one condition, by the first of its rules that holds."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Final

from muster import cel
from muster.data.codes import Code
from muster.data.decision import Because, Input
from muster.data.ids import ObjectId
from muster.data.kinds import CONDITION_POLICY
from muster.data.times import try_duration
from muster.data.tree import At, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.rules.policies.expressions import Compiler, TextExpression, reads_lease
from muster.rules.policies.policies import Policy, PolicyFields, PolicyKind

_PARAMS = "params."
#: The field of a rule with the generation that a condition is about.
OBSERVED = "observedGenerationExpression"
#: The field with the condition under which an outcome is damped.
HOLD_WHEN = "holdWhen"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a ConditionPolicy; the first whose `when` holds decides. Without `when` it always holds. `of_lease`:
    it reads the time since the cluster's last heartbeat."""

    name: str
    when: cel.Program | None
    status: TextExpression
    reason: TextExpression
    message: TextExpression
    at: At
    because: Because
    observed_generation: cel.Program | None = None
    of_lease: bool = False


@dataclass(frozen=True, slots=True)
class ConditionPolicy(Policy):
    """Decides one condition.

    `hold_for`: how long an outcome must last before it is adopted, by status; `hold_unhealthy`: also for changes
    between False and Unknown; `hold_when`: only if this holds (None: always).
    """

    type: str
    rules: tuple[Rule, ...]
    hold_for: Mapping[str, timedelta]
    hold_unhealthy: bool
    reads: frozenset[str]
    hold_when: cel.Program | None = None

    @property
    def damping(self) -> Input:
        """The policy's field with the damping."""
        return Input(("spec", "holdFor"), self.id)


def _condition_policy(obj: Object, compiler: Compiler, common: PolicyFields) -> ConditionPolicy:
    rules = []
    for index, rule in enumerate(mappings_at(obj.spec, "rules")):
        at = ("spec", "rules", index)
        when = compiler.condition((*at, "when")) if "when" in rule else None
        status = compiler.text(at, "status")
        rules.append(
            Rule(
                name=str(rule.get("name", index)),
                when=when,
                status=status,
                reason=compiler.text(at, "reason"),
                message=compiler.text(at, "message"),
                at=at,
                because=Because(f"{obj.id}#{rule.get('name', index)}", (Input(at, obj.id),)),
                observed_generation=compiler.number((*at, OBSERVED)) if OBSERVED in rule else None,
                of_lease=any(
                    reads_lease(program, common["variables"]) for program in (when, status.program) if program
                ),
            )
        )
    return ConditionPolicy(
        **common,
        type=obj.spec["type"],
        rules=tuple(rules),
        hold_for=_hold_for(obj, compiler),
        hold_unhealthy=obj.spec.get("holdUnhealthy") is not False,
        hold_when=compiler.condition(("spec", HOLD_WHEN)) if HOLD_WHEN in obj.spec else None,
        reads=compiler.reads,
    )


def _hold_for(obj: Object, compiler: Compiler) -> dict[str, timedelta]:
    """How long each status must last: a duration, or `params.<name>` for one that a fleet may set."""
    hold_for = {}
    for status, text in sorted(mapping_at(obj.spec, "holdFor").items()):
        name = text.removeprefix(_PARAMS)
        span = try_duration(dig(obj.spec, "params", name) if name != text else text)
        if span is None:
            compiler.refuse(
                ("spec", "holdFor", status),
                Code.MALFORMED_VALUE,
                f"{text} is not a duration such as 30s",
                f"set spec.params.{name} to a duration" if name != text else "write 30s, 5m or 1h30m",
            )
        hold_for[status] = span or timedelta(0)
    return hold_for


def in_dependency_order(policies: Iterable[ConditionPolicy]) -> tuple[list[ConditionPolicy], list[ConditionPolicy]]:
    """Return the policies, each after those whose conditions it reads, and the policies in a circle."""
    waiting = sorted(policies, key=lambda policy: policy.id)
    decided_by: dict[str, set[ObjectId]] = {}
    for policy in waiting:
        decided_by.setdefault(policy.type, set()).add(policy.id)
    needs = {
        policy.id: {id_ for type_ in policy.reads for id_ in decided_by.get(type_, ())} - {policy.id}
        for policy in waiting
    }
    ordered: list[ConditionPolicy] = []
    placed: set[ObjectId] = set()
    while ready := [policy for policy in waiting if needs[policy.id] <= placed]:
        ordered.extend(ready)
        placed.update(policy.id for policy in ready)
        waiting = [policy for policy in waiting if policy.id not in placed]
    return ordered, waiting


CONDITION_POLICIES: Final = PolicyKind(CONDITION_POLICY, _condition_policy)
