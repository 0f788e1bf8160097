"""ConditionPolicies that decide one condition of one object: which of them lose."""

from collections.abc import Iterator

from muster.data.finding import Finding
from muster.data.source import Layer
from muster.fleet.builtin import builtin_objects
from muster.fleet.vocabulary import NAMES, seed_name, type_of
from muster.rules.conditions import messages
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.policies import Policy

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
            findings.append(messages.reserved_condition(policy.source, reserved.source, policy.type))
        elif rival is not None:
            findings.append(messages.rival_policies(policy.source, rival.source, policy.type))
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
        yield messages.replaces_builtin(policy.source)


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
