"""The texts about ConditionPolicies beside each other."""

from collections.abc import Iterable

from muster.data.finding import Finding
from muster.data.findings import finding_of
from muster.data.source import Place
from muster.fleet.objects import Object
from muster.rules.policies.policies import Policy


def rival_policies(policy: Object, rival: Object, type_: str) -> Finding:
    """Two policies that decide one condition."""
    other = rival.parts[0]
    message = f"{policy.id} decides {type_}, and so does {rival.id} at {Place(other.source.label, other.line)}"
    hint = "give one of them another type or target; to replace a built-in policy, use its name"
    return finding_of(policy.parts[0], "MUS311", message, hint)


def reserved_condition(policy: Object, builtin: Object, type_: str) -> Finding:
    """A fleet's policy that decides what a built-in one decides."""
    message = f"{policy.id} decides {type_}, which the built-in {builtin.id} decides"
    hint = f"Give it another type; to replace the built-in policy, name it {builtin.id.name!r}."
    return finding_of(policy.parts[0], "MUS313", message, hint)


def replaces_builtin(policy: Object) -> Finding:
    """A fleet's policy of a built-in one's name."""
    message = f"{policy.id} replaces the built-in policy of that name"
    return finding_of(policy.parts[0], "MUS314", message, "Rename it if that is not meant.")


def policy_circle(policy: Object, circle: Iterable[Policy]) -> Finding:
    """Policies that read each other's conditions in a circle, or wait for one that does."""
    names = ", ".join(str(member.id) for member in circle)
    message = f"{policy.id} reads a condition that depends on its own: {names}"
    hint = "break the circle: read `previous` instead of `conditions` in one of them"
    return finding_of(policy.parts[0], "MUS312", message, hint)
