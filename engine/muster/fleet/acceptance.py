"""Who accepts a cluster: a person, by `hubAcceptsClient` in a file, or the fleet, where it takes all comers.

With `Fleet.spec.registration.autoAccept`, a cluster of which no person has said yes or no is accepted (upstream's
ManagedClusterAutoApproval). What its agent proposed is no answer. It happens once: that it did is derived as an
annotation, and stands until a person says otherwise, also when the setting is taken back.

A cluster whose file people delete is out of the fleet, whatever its agent still says. That is remembered for as long
as the agent's ref is there (`REMOVED`, in the Fleet's derived part): it would else be taken for a newcomer at the next
run, and accepted again by itself.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER
from muster.data.source import Part
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.objects import Object, by_type
from muster.fleet.settings import Settings

ACCEPTED_ON = "open-cluster-management.io/automatically-accepted-on"
#: Where the names of clusters are remembered that people have removed and whose agents still speak.
REMOVED = ("status", "muster", "removed")
_FIELD = "hubAcceptsClient"


def with_automatic_acceptance(
    objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree], settings: Settings
) -> dict[ObjectId, Object]:
    """Return the objects, those clusters accepted that the fleet's settings accept, now or before."""
    found = dict(objects)
    for id_, obj in objects.items():
        if MANAGED_CLUSTER.has(id_) and not _answered(obj):
            if not (settings.auto_accept or dig(previous.get(id_), "metadata", "annotations", ACCEPTED_ON)):
                continue
            if not obj.deleting and isinstance(obj.body.get("spec", {}), dict):
                found[id_] = replace(obj, body={**obj.body, "spec": {**obj.spec, _FIELD: True}})
    return found


def automatic(obj: Object) -> bool:
    """Whether a cluster is accepted by the fleet's settings and not by a person."""
    return obj.spec.get(_FIELD) is True and not _answered(obj)


def removed_before(previous: Mapping[ObjectId, Tree]) -> frozenset[str]:
    """The clusters that people had removed by the last run, and whose agents still spoke."""
    fleets = (body for id_, body in previous.items() if FLEET.has(id_))
    return frozenset(name for body in fleets for name in dig(body, *REMOVED) or () if isinstance(name, str))


def is_left_alone(id_: ObjectId, parts: Iterable[Part], before: Tree, removed: Collection[str] = ()) -> bool:
    """Whether people had let a cluster in, denied or `removed` it, and now nobody but its agent speaks of it.

    What an agent asked for when it registered does not declare a cluster that people have removed, or lost. A cluster
    that was denied is left alone also where the fleet takes all comers: else it would be let in again.
    """
    if not MANAGED_CLUSTER.has(id_):
        return False
    if any(not part.source.ref and "spec" in part.body for part in parts):
        return False
    if id_.name in removed:
        return True
    accepted = dig(by_type(mappings_at(before, "status", "conditions")).get(ACCEPTED), "status")
    if accepted == "True":
        return dig(before, "metadata", "annotations", ACCEPTED_ON) is None
    return accepted is not None


def _answered(obj: Object) -> bool:
    """Whether a person has said yes or no."""
    return any(not part.source.ref and dig(part.body, "spec", _FIELD) is not None for part in obj.parts)


def is_accepted(obj: Object) -> bool:
    """Whether people let a ManagedCluster in."""
    return obj.spec.get(_FIELD) is True
