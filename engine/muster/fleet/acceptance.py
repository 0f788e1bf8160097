"""Who accepts a cluster: a person, by `hubAcceptsClient` in a file, or the fleet, where it takes all comers.

With `Fleet.spec.registration.autoAccept`, a cluster of which no person has said yes or no is accepted (upstream's
ManagedClusterAutoApproval). What its agent proposed is no answer. It happens once: that it did is derived as an
annotation, and stands until a person says otherwise, also when the setting is taken back.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from muster.fleet.objects import Object, by_type
from muster.fleet.settings import Settings
from muster.model.ids import ObjectId
from muster.model.kinds import MANAGED_CLUSTER
from muster.model.source import Part
from muster.model.tree import Tree, dig, mappings_at

ACCEPTED_ON = "open-cluster-management.io/automatically-accepted-on"
_FIELD = "hubAcceptsClient"


def with_automatic_acceptance(
    objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree], settings: Settings
) -> dict[ObjectId, Object]:
    """Return the objects, those clusters accepted that the fleet's settings accept, now or before."""
    found = dict(objects)
    for id_, obj in objects.items():
        if (id_.group, id_.kind) == (MANAGED_CLUSTER.group, MANAGED_CLUSTER.name) and not _answered(obj):
            if not (settings.auto_accept or dig(previous.get(id_), "metadata", "annotations", ACCEPTED_ON)):
                continue
            if not obj.deleting and isinstance(obj.body.get("spec", {}), dict):
                found[id_] = replace(obj, body={**obj.body, "spec": {**obj.spec, _FIELD: True}})
    return found


def automatic(obj: Object) -> bool:
    """Whether a cluster is accepted by the fleet's settings and not by a person."""
    return obj.spec.get(_FIELD) is True and not _answered(obj)


def is_left_alone(id_: ObjectId, parts: Iterable[Part], before: Tree) -> bool:
    """Whether people had let a cluster in, and now nobody but its agent speaks of it.

    What an agent asked for when it registered does not declare a cluster that people have removed, or lost.
    """
    if (id_.group, id_.kind) != (MANAGED_CLUSTER.group, MANAGED_CLUSTER.name):
        return False
    if any(not part.source.ref and "spec" in part.body for part in parts):
        return False
    accepted = by_type(mappings_at(before, "status", "conditions")).get("HubAcceptedManagedCluster")
    return dig(accepted, "status") == "True" and dig(before, "metadata", "annotations", ACCEPTED_ON) is None


def _answered(obj: Object) -> bool:
    """Whether a person has said yes or no."""
    return any(not part.source.ref and dig(part.body, "spec", _FIELD) is not None for part in obj.parts)
