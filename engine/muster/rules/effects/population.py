"""The population: which clusters are in service, so that budgets count them, and how each of them is judged."""

from collections.abc import Iterator

from muster.data.ids import ObjectId
from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER, is_cluster, of_kinds
from muster.data.tree import dig, mapping_at
from muster.fleet.acceptance import is_accepted, is_only_reported
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.budget import Override, override_of

#: The name of the Fleet that carries fleet-wide conditions where no repository names one.
DEFAULT_FLEET = "fleet"
#: On the derived part of a cluster that has never been available (`muster.rules.registration.first_day`).
NEVER_AVAILABLE = "muster.dev/never-available"


def sound_override(view: View, id_: ObjectId) -> Override | None:
    """What an object's annotation lets through; an object with an error in it lets nothing through."""
    obj = view.objects.get(id_)
    return override_of(obj) if obj is not None and id_ not in view.broken else None


def fleet_id(view: View) -> ObjectId:
    """The id of the Fleet whose status speaks for all clusters: the repository's, else the default one."""
    own = sorted(of_kinds(view.objects, FLEET))
    return own[0] if own else FLEET.id(DEFAULT_FLEET)


def in_service(obj: Object) -> bool:
    """Whether a cluster is part of the fleet: it was accepted (ManagedCluster) and is not being removed."""
    if obj.deleting:
        return False
    return obj.id.kind != MANAGED_CLUSTER.name or is_accepted(obj)


def never_available(view: View, id_: ObjectId) -> bool:
    """Whether a cluster has never been available, as the stage `first day` has decided."""
    return NEVER_AVAILABLE in mapping_at({"annotations": view.now(id_, "metadata", "annotations")}, "annotations")


def is_counted(view: View, obj: Object) -> bool:
    """Whether budgets count a cluster: it is in service, and was available at least once."""
    return in_service(obj) and not never_available(view, obj.id)


def population(view: View) -> tuple[Object, ...]:
    """The clusters that budgets count, by id, the broken ones among them: a slip is no way out of a population."""
    sound = (obj for obj in view.clusters() if is_counted(view, obj))
    return tuple(sorted((*sound, *kept_clusters(view)), key=lambda obj: obj.id))


def kept_clusters(view: View) -> Iterator[Object]:
    """Yield the broken clusters that budgets count. Of one that its file has lost only what was derived is known."""
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
    """Whether the last run found a cluster accepted and not being removed, as far as what it derived tells."""
    before = view.conditions_before(id_)
    if "Deleting" in before:
        return False
    return id_.kind != MANAGED_CLUSTER.name or dig(before.get(ACCEPTED), "status") == "True"


def headline(view: View, obj: Object) -> str:
    """The status of the condition by which a cluster is judged; empty where it has none."""
    decided = view.now(obj.id, "status", "conditions", (obj.kind.headline,))
    status = dig(decided, "status")
    return status if isinstance(status, str) else ""
