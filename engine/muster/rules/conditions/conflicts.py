"""Conflicts between ConditionPolicies that decide the same condition of the same object."""

from collections.abc import Iterable, Iterator

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding_of
from muster.data.source import Layer, Place
from muster.fleet.files import builtin_objects
from muster.fleet.objects import Object
from muster.fleet.vocabulary import NAMES, seed_name, type_of
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.policies.policies import Policy


def conflicting_policies(policy: Object, rival: Object, type_: str) -> Finding:
    """Two policies decide one condition."""
    other = rival.parts[0]
    message = f"{policy.id} decides {type_}, and so does {rival.id} at {Place(other.source.label, other.line)}"
    hint = "give one of them another type or target; to replace a built-in policy, use its name"
    return finding_of(policy.parts[0], Code.CONDITION_DECIDED_TWICE, message, hint)


def reserved_condition(policy: Object, builtin: Object, type_: str) -> Finding:
    """A fleet's policy decides a built-in policy's condition."""
    message = f"{policy.id} decides {type_}, which the built-in {builtin.id} decides"
    hint = f"Give it another type; to replace the built-in policy, name it {builtin.id.name!r}."
    return finding_of(policy.parts[0], Code.CONDITION_OF_BUILT_IN_POLICY, message, hint)


def replaces_builtin(policy: Object) -> Finding:
    """A fleet's policy has a built-in policy's name."""
    message = f"{policy.id} replaces the built-in policy of that name"
    return finding_of(policy.parts[0], Code.REPLACES_BUILT_IN_POLICY, message, "Rename it if that is not meant.")


def policy_circle(policy: Object, circle: Iterable[Policy]) -> Finding:
    """Policies read each other's conditions in a circle, or depend on one that does."""
    names = ", ".join(str(member.id) for member in circle)
    message = f"{policy.id} reads a condition that depends on its own: {names}"
    hint = "break the circle: read `previous` instead of `conditions` in one of them"
    return finding_of(policy.parts[0], Code.POLICY_CYCLE, message, hint)


#: People and pulses rely on these conditions: only a policy that replaces the built-in one by name may change their
#: meaning (seed 004: "keep `Available` and `Ready` with our current logic").
_RESERVED = NAMES


def without_conflicts(policies: list[ConditionPolicy]) -> tuple[list[ConditionPolicy], list[Finding]]:
    """Drop policies that share a condition with another one and may target the same objects; the later by name is
    dropped.

    A built-in one is never dropped. Built-in ones may overlap: `matchConditions` keep them apart, and if several apply
    to one object, the first by name decides (`muster.rules.conditions.stage`).
    """
    accepted = [policy for policy in policies if _is_builtin(policy)]
    findings = [finding for policy in accepted for finding in _replacement(policy)]
    for policy in sorted((p for p in policies if not _is_builtin(p)), key=lambda candidate: candidate.id):
        rivals = [other for other in accepted if other.type == policy.type and _share_kinds(other, policy)]
        reserved = next((other for other in rivals if other.type in _RESERVED and _is_builtin(other)), None)
        rival = next((other for other in rivals if _may_overlap(other, policy)), None)
        if reserved is not None:
            findings.append(reserved_condition(policy.source, reserved.source, policy.type))
        elif rival is not None:
            findings.append(conflicting_policies(policy.source, rival.source, policy.type))
        else:
            accepted.append(policy)
    return accepted, findings


def _is_builtin(policy: ConditionPolicy) -> bool:
    """Is it a built-in policy, or a replacement: same name, same condition?"""
    if policy.source.parts[0].layer is Layer.BUILTIN:
        return True
    namesake = builtin_objects().get(policy.id)
    return namesake is not None and seed_name(type_of(namesake)) == seed_name(policy.type)


def _replacement(policy: ConditionPolicy) -> Iterator[Finding]:
    """Report that a fleet replaces a policy on which pulses depend."""
    if policy.type in _RESERVED and policy.source.parts[0].layer is not Layer.BUILTIN:
        yield replaces_builtin(policy.source)


def _may_overlap(policy: Policy, other: Policy) -> bool:
    """May two policies target the same object, by kinds and namespaces?

    Label selectors are not compared: they may be disjoint, and otherwise the first policy wins.
    """
    if not _share_kinds(policy, other):
        return False
    spaces, others = policy.target.namespaces, other.target.namespaces
    selective = bool(policy.target.selector.requirements or other.target.selector.requirements)
    return (not spaces or not others or bool(spaces & others)) and not selective


def _share_kinds(policy: Policy, other: Policy) -> bool:
    return bool(set(policy.target.kinds) & set(other.target.kinds))
