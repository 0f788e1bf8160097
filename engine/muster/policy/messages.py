"""The texts about ConditionPolicies beside each other."""

from collections.abc import Iterable

from muster.fleet.objects import Object
from muster.model.finding import Finding
from muster.model.findings import finding
from muster.model.source import Place
from muster.policy.policies import Policy


def rival_policies(policy: Object, rival: Object, type_: str) -> Finding:
    """Two policies that decide one condition."""
    part, other = policy.parts[0], rival.parts[0]
    return finding(
        "MUS311",
        f"{policy.id} decides {type_}, and so does {rival.id} at {Place(other.source.label, other.line)}",
        Place(part.source.label, part.line, 1),
        hint="give one of them another type or target; to replace a built-in policy, use its name",
        object_=policy.id,
    )


def reserved_condition(policy: Object, builtin: Object, type_: str) -> Finding:
    """A fleet's policy that decides what a built-in one decides."""
    part = policy.parts[0]
    return finding(
        "MUS313",
        f"{policy.id} decides {type_}, which the built-in {builtin.id} decides",
        Place(part.source.label, part.line, 1),
        hint=f"Give it another type; to replace the built-in policy, name it {builtin.id.name!r}.",
        object_=policy.id,
    )


def replaces_builtin(policy: Object) -> Finding:
    """A fleet's policy of a built-in one's name."""
    part = policy.parts[0]
    return finding(
        "MUS314",
        f"{policy.id} replaces the built-in policy of that name",
        Place(part.source.label, part.line, 1),
        hint="Rename it if that is not meant.",
        object_=policy.id,
    )


def policy_circle(policy: Object, circle: Iterable[Policy]) -> Finding:
    """Policies that read each other's conditions in a circle, or wait for one that does."""
    part = policy.parts[0]
    names = ", ".join(str(member.id) for member in circle)
    return finding(
        "MUS312",
        f"{policy.id} reads a condition that depends on its own: {names}",
        Place(part.source.label, part.line, 1),
        hint="break the circle: read `previous` instead of `conditions` in one of them",
        object_=policy.id,
    )
