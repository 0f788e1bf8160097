"""What admission policies say of objects."""

from collections.abc import Iterable, Mapping
from typing import Final

from muster.data.decision import Path
from muster.data.finding import Finding, Severity
from muster.data.findings import finding
from muster.data.ids import ObjectId
from muster.data.tree import At
from muster.fleet.objects import Object
from muster.fleet.places import place_of
from muster.rules.admission.pointing import NAME

_LONGEST = 200
_SAYS_SO: Final = " says so"


def refused(
    policy: ObjectId,
    severity: Severity,
    id_: ObjectId,
    obj: Object | None,
    binding: Object,
    message: str,
    at: Path | At,
) -> Finding:
    """What a policy does not allow, at a field of the object; of one that is gone at the binding."""
    place = place_of(obj.parts, at) if obj else place_of(binding.parts, NAME)
    gone = "" if obj else f"{id_} cannot be removed: "
    text = f"{gone}{' '.join(message.split())}"
    return finding("MUS320", text, place, hint=says_so(policy), object_=id_, severity=severity)


def says_so(policy: ObjectId) -> str:
    """Whose word a refusal is: its hint, by which refusals of one policy are told from others."""
    return f"{policy}{_SAYS_SO}"


def speaker(found: Finding) -> str:
    """Which policy (`Kind/name`) refuses something, or warns of it; empty where a finding is nothing of the kind."""
    return found.hint.removesuffix(_SAYS_SO) if found.code == "MUS320" and found.hint.endswith(_SAYS_SO) else ""


def noted(
    policy: ObjectId, id_: ObjectId, obj: Object | None, binding: Object, notes: Mapping[str, str]
) -> Iterable[Finding]:
    """What a policy notes of an object, by key."""
    if not notes:
        return  # looking for the place reads the file again
    place = place_of((obj or binding).parts, ("metadata", "name"))
    for key, value in notes.items():
        text = f"{key}: {' '.join(value.split())}"
        yield finding("MUS322", text, place, hint=f"{policy} notes it", object_=id_)


def short(expression: str) -> str:
    """An expression as messages quote it."""
    text = " ".join(expression.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
