"""What is said of admission policies that cannot do what they are meant to."""

from collections.abc import Iterable
from dataclasses import replace

from muster.data.finding import Finding
from muster.data.names import did_you_mean, nearest
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.admission.matching import Match


def no_authorizer(policy: Object, first: Finding) -> Finding:
    """A policy that asks who may do what, at the first place where it does."""
    return replace(
        first,
        code="MUS323",
        message=f"{policy.id} asks an authorizer, and a repository has none: who may do what is the git host's to say",
        hint="leave that out, and let owners of paths and protected branches say it; the policy is not in force",
    )


def matches_nothing(policy: Object, match: Match, named: Iterable[str], known: Iterable[str]) -> Finding:
    """A policy in force that speaks of no object of the repository, nor of a kind that anybody knows."""
    if not any(rule.asked_for for rule in match.rules):
        said = "speaks of nothing that a file can ask for: subresources and CONNECT are not among it"
        hint = "name the resource itself, or take the policy out of the repository"
    else:
        names = sorted(named)
        said = f"matches nothing: no object and no known kind is one of {', '.join(names)}"
        candidates = tuple(known)
        near = (name for name in names if nearest(name, candidates))
        hint = next((did_you_mean(name, candidates) for name in near), "") or "look at apiGroups, resources and scope"
    return finding_at(policy, ("spec", "matchConstraints", "resourceRules"), "MUS321", f"{policy.id} {said}", hint)
