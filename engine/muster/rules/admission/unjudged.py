"""Objects that a broken admission policy may refuse: what cannot be judged is not admitted, and what is in force stays.

An API server refuses what a misconfigured policy matches, unless its `failurePolicy` is Ignore. Here this concerns new
objects alone: those that a run has admitted have a derived part.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_CLAIM,
    CSR,
    VALIDATING_ADMISSION_POLICY,
    VALIDATING_ADMISSION_POLICY_BINDING,
    kind_of,
    of_kinds,
)
from muster.fleet.fleet import Fleet
from muster.fleet.places import finding_at

#: Kinds besides the counted ones whose sound objects have a derived part after a run.
_DERIVED: Final = (CSR, CLUSTER_CLAIM)


def unjudged(fleet: Fleet, broken: Iterable[ObjectId]) -> Iterator[Finding]:
    """Yield an error for each new object that one of the `broken` policies or bindings may refuse."""
    unread = _may_refuse(fleet, broken)
    if unread is None:
        return
    for id_, obj in sorted(fleet.objects.items()):
        kind = kind_of(id_)
        if id_ not in fleet.previous and id_ not in fleet.broken and (kind.counted or kind in _DERIVED):
            message = f"{id_} is new and waits: {unread} has an error, and may refuse it"
            hint = "mend the policy or binding first: another finding names the mistake"
            yield finding_at(obj, ("metadata", "name"), Code.ADMISSION_UNKNOWN, message, hint)


def _may_refuse(fleet: Fleet, broken: Iterable[ObjectId]) -> ObjectId | None:
    """The first broken policy or binding that may refuse something."""
    for id_ in sorted(of_kinds(broken, VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING)):
        obj = fleet.objects.get(id_)
        if obj is None or obj.spec.get("failurePolicy") != "Ignore":
            return id_
    return None
