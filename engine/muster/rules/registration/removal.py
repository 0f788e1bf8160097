"""Removal: a ManagedCluster that is marked for deletion, and what of it is still in the repository.

Source: seed 002 (removal) and upstream's gc controller. A cluster whose file is deleted is gone, and what was derived
of it with it. One that carries `deletionTimestamp` is on its way out: the condition `Deleting` counts what is left in
its namespace, add-ons before works as upstream removes them, and is True when nothing is. The files are people's, and
theirs to remove.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import Because, Decision, Input
from muster.data.groups import grouped
from muster.data.kinds import MANAGED_CLUSTER, MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK, Kind
from muster.data.tree import dig
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.stages import CONDITIONS, Local
from muster.rules.transitions import saying

DELETING = "Deleting"
#: What must be gone before a cluster is, in order.
_RESOURCES = (MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK)
_BECAUSE = Because("removal", (Input(("metadata", "deletionTimestamp")),), "what is left in its namespace")


def stage(view: View, _context: Context, now: datetime) -> Iterator[Decision]:
    """Decide the condition of every cluster that is marked for deletion."""
    going = [obj for obj in view.of(MANAGED_CLUSTER) if obj.deleting]
    left = {kind: grouped((obj.id.namespace, obj) for obj in view.of(kind)) for kind in _RESOURCES} if going else {}
    for obj in going:
        kind = next((kind for kind in _RESOURCES if obj.id.name in left[kind]), None)
        if kind is None:
            said = ("True", "NoResource", "No cleaned resource in cluster ns.")
        else:
            said = ("False", "ResourceRemaining", _remaining(kind, left[kind][obj.id.name]))
        yield saying(view, obj.id, DELETING, said, _BECAUSE, now)


def _remaining(kind: Kind, objects: list[Object]) -> str:
    """Upstream's words, which tools look for: the misspelling is theirs."""
    pending = sum(bool(dig(obj.body, "metadata", "finalizers")) for obj in objects)
    return (
        f"The resource {kind.plural} is remaning, the remaining count is {len(objects)}, "
        f"the finalizer pending count is {pending}"
    )


STAGE = Local("removal", stage, derives=(((MANAGED_CLUSTER,), (CONDITIONS,)),))
