"""What admission says: of policies that cannot do what they are meant to, and of objects that they refuse."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.fleet.messages import finding
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.names import did_you_mean, nearest
from muster.policy.admission.matching import Match

_LONGEST = 200


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
    place = place_of(policy.parts, ("spec", "matchConstraints", "resourceRules"))
    return finding("MUS321", f"{policy.id} {said}", place, hint=hint, object_=policy.id)


def refused(
    policy: ObjectId, severity: Severity, id_: ObjectId, obj: Object | None, binding: Object, message: str
) -> Finding:
    """What a policy does not allow, at the object; of one that is gone at the binding."""
    place = place_of((obj or binding).parts, ("metadata", "name"))
    gone = "" if obj else f"{id_} cannot be removed: "
    text = f"{gone}{' '.join(message.split())}"
    return finding("MUS320", text, place, hint=says_so(policy), object_=id_, severity=severity)


def says_so(policy: ObjectId) -> str:
    """Whose word a refusal is: its hint, by which refusals of one policy are told from others."""
    return f"{policy} says so"


def noted(
    policy: ObjectId, id_: ObjectId, obj: Object | None, binding: Object, notes: Mapping[str, str]
) -> Iterable[Finding]:
    """What a policy notes of an object, by key."""
    place = place_of((obj or binding).parts, ("metadata", "name"))
    for key, value in notes.items():
        text = f"{key}: {' '.join(value.split())}"
        yield finding("MUS322", text, place, hint=f"{policy} notes it", object_=id_)


def short(expression: str) -> str:
    """An expression as messages quote it."""
    text = " ".join(expression.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
