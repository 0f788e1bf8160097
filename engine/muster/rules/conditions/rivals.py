"""ConditionPolicies that decide one condition of one object: which of them lose."""

from collections.abc import Iterable, Iterator

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding_of
from muster.data.source import Layer, Place
from muster.fleet.builtin import builtin_objects
from muster.fleet.objects import Object
from muster.fleet.vocabulary import NAMES, seed_name, type_of
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.policies import Policy


def rival_policies(policy: Object, rival: Object, type_: str) -> Finding:
    """Two policies that decide one condition."""
    other = rival.parts[0]
    message = f"{policy.id} decides {type_}, and so does {rival.id} at {Place(other.source.label, other.line)}"
    hint = "give one of them another type or target; to replace a built-in policy, use its name"
    return finding_of(policy.parts[0], Code.CONDITION_DECIDED_TWICE, message, hint)


def reserved_condition(policy: Object, builtin: Object, type_: str) -> Finding:
    """A fleet's policy that decides what a built-in one decides."""
    message = f"{policy.id} decides {type_}, which the built-in {builtin.id} decides"
    hint = f"Give it another type; to replace the built-in policy, name it {builtin.id.name!r}."
    return finding_of(policy.parts[0], Code.CONDITION_OF_BUILT_IN_POLICY, message, hint)


def replaces_builtin(policy: Object) -> Finding:
    """A fleet's policy of a built-in one's name."""
    message = f"{policy.id} replaces the built-in policy of that name"
    return finding_of(policy.parts[0], Code.REPLACES_BUILT_IN_POLICY, message, "Rename it if that is not meant.")


def policy_circle(policy: Object, circle: Iterable[Policy]) -> Finding:
    """Policies that read each other's conditions in a circle, or wait for one that does."""
    names = ", ".join(str(member.id) for member in circle)
    message = f"{policy.id} reads a condition that depends on its own: {names}"
    hint = "break the circle: read `previous` instead of `conditions` in one of them"
    return finding_of(policy.parts[0], Code.POLICY_CYCLE, message, hint)


#: Conditions on which people and pulses rely: no accident changes what they mean, only a policy that replaces the
#: built-in one by name (seed 004: "keep `Available` and `Ready` with our current logic").
_RESERVED = NAMES


def without_rivals(policies: list[ConditionPolicy]) -> tuple[list[ConditionPolicy], list[Finding]]:
    """Two policies may share a condition only where their targets cannot meet; the later by name loses.

    A built-in one never loses. Built-in ones may meet among themselves: `matchConditions` keep them apart, and where
    several speak of one object, the first by name decides (`muster.rules.conditions.stage`).
    """
    kept = [policy for policy in policies if _is_builtin(policy)]
    findings = [found for policy in kept for found in _replacement(policy)]
    for policy in sorted((p for p in policies if not _is_builtin(p)), key=lambda candidate: candidate.id):
        rivals = [other for other in kept if other.type == policy.type and _share_kinds(other, policy)]
        reserved = next((other for other in rivals if other.type in _RESERVED and _is_builtin(other)), None)
        rival = next((other for other in rivals if _meet(other, policy)), None)
        if reserved is not None:
            findings.append(reserved_condition(policy.source, reserved.source, policy.type))
        elif rival is not None:
            findings.append(rival_policies(policy.source, rival.source, policy.type))
        else:
            kept.append(policy)
    return kept, findings


def _is_builtin(policy: ConditionPolicy) -> bool:
    """Whether it is a built-in policy, or stands in for one: it has its name and decides the same condition."""
    if policy.source.parts[0].layer is Layer.BUILTIN:
        return True
    namesake = builtin_objects().get(policy.id)
    return namesake is not None and seed_name(type_of(namesake)) == seed_name(policy.type)


def _replacement(policy: ConditionPolicy) -> Iterator[Finding]:
    """A fleet that replaces a policy on which pulses rest is told so."""
    if policy.type in _RESERVED and policy.source.parts[0].layer is not Layer.BUILTIN:
        yield replaces_builtin(policy.source)


def _meet(one: Policy, other: Policy) -> bool:
    """Whether two policies may speak of one object, as far as kinds and namespaces tell.

    Label selectors are not compared: two of them may well be disjoint, and the pipeline lets the first win.
    """
    if not _share_kinds(one, other):
        return False
    spaces, others = one.target.namespaces, other.target.namespaces
    selective = bool(one.target.selector.requirements or other.target.selector.requirements)
    return (not spaces or not others or bool(spaces & others)) and not selective


def _share_kinds(one: Policy, other: Policy) -> bool:
    return bool(set(one.target.kinds) & set(other.target.kinds))
