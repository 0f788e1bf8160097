"""The population: the clusters in service, which budgets count, and their headline status."""

from collections.abc import Iterator

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER, is_cluster, of_kinds
from muster.data.tree import dig, mapping_at
from muster.fleet.acceptance import is_accepted, is_only_reported
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.budget import Override, override_of

#: The name of the Fleet with fleet-wide conditions if the repository has none.
DEFAULT_FLEET = "fleet"
#: Annotation of a cluster that has never been available (`muster.rules.registration.first_day`).
NEVER_AVAILABLE = "muster.dev/never-available"


def sound_override(view: View, id_: ObjectId) -> Override | None:
    """The override in an object's annotation; none for a broken object."""
    obj = view.objects.get(id_)
    return override_of(obj) if obj is not None and id_ not in view.broken else None


def fleet_id(view: View) -> ObjectId:
    """The id of the Fleet with fleet-wide status: the repository's, else the default one."""
    own = sorted(of_kinds(view.objects, FLEET))
    return own[0] if own else FLEET.id(DEFAULT_FLEET)


def in_service(obj: Object) -> bool:
    """Is the cluster accepted (ManagedCluster) and not being removed?"""
    if obj.deleting:
        return False
    return obj.id.kind != MANAGED_CLUSTER.name or is_accepted(obj)


def never_available(view: View, id_: ObjectId) -> bool:
    """Has the cluster never been available, by the stage `first day`?"""
    return NEVER_AVAILABLE in mapping_at({"annotations": view.now(id_, "metadata", "annotations")}, "annotations")


def is_counted(view: View, obj: Object) -> bool:
    """Do budgets count the cluster: in service, and available at least once?"""
    return in_service(obj) and not never_available(view, obj.id)


def population(view: View) -> tuple[Object, ...]:
    """The clusters that budgets count, by id, including broken ones: a mistake in a file must not shrink a
    population."""
    sound = (obj for obj in view.clusters() if is_counted(view, obj))
    return tuple(sorted((*sound, *kept_clusters(view)), key=lambda obj: obj.id))


def kept_clusters(view: View) -> Iterator[Object]:
    """Yield the broken clusters that budgets count. Without a file only the derived part is known."""
    for id_ in view.broken:
        if not is_cluster(id_) or never_available(view, id_):
            continue
        obj = view.objects.get(id_)
        if obj is not None and "spec" in obj.body and not is_only_reported(id_, obj.parts, view.previous.get(id_)):
            if in_service(obj):
                yield obj
        elif id_ in view.previous and was_in_service(view, id_):
            yield obj or Object(id_, {}, ())


def was_in_service(view: View, id_: ObjectId) -> bool:
    """Was the cluster accepted and not being removed at the last run, by its derived part?"""
    before = view.conditions_before(id_)
    if "Deleting" in before:
        return False
    return id_.kind != MANAGED_CLUSTER.name or dig(before.get(ACCEPTED), "status") == "True"


def headline(view: View, obj: Object) -> str:
    """The status of a cluster's headline condition; empty if missing."""
    decided = view.now(obj.id, "status", "conditions", (obj.kind.headline,))
    status = dig(decided, "status")
    return status if isinstance(status, str) else ""
