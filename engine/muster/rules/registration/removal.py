"""Deletion of a ManagedCluster: what is left of it in the repository, and its node pools.

Source: seed 002 (removal) and upstream's gc controller. A cluster whose file is deleted is gone, with its derived part.
For one with `deletionTimestamp` the condition `Deleting` counts what is left in its namespace, add-ons before works as
upstream removes them, and is True when nothing is. People remove the files.

A cluster marked for deletion takes its node pools with it (HyperFleet's delete life cycle): their mark is derived. As
on an API server, the mark is a change that adapters must react to: the generation grows, and Ready is decided by
`Finalized` instead of `Available` (policies/adapters-ready.yaml). Once every required adapter has finished, the
condition `Finalized` says so (policies/adapters-finalized.yaml). Node pools without required adapters are deleted with
their cluster at once, as HyperFleet does.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.data.decision import Because, Decision, Input, Path
from muster.data.groups import grouped
from muster.data.kinds import CLUSTERS, MANAGED_CLUSTER, MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK, NODE_POOL, Kind
from muster.data.times import format_time
from muster.data.tree import dig
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.policies.adapters import owner_cluster
from muster.rules.stages import CONDITIONS, Local
from muster.rules.transitions import condition_decision

_DELETED: Path = ("metadata", "deletionTimestamp")
_CASCADE = "its cluster is being deleted"
_GONE = "its cluster cannot be read, and was being deleted before"


def finalizing(view: View, now: datetime) -> Iterator[Decision]:
    """Mark the node pools of clusters that are being deleted.

    A derived mark stays unless the cluster exists and is not being deleted: a broken cluster, or one whose file was
    removed first, does not withdraw it.
    """
    deleting = {obj.id.name: obj.deleting for obj in view.of(*CLUSTERS)}
    deleting |= {obj.id.name: True for obj in view.of(*CLUSTERS) if obj.deleting}
    deleted = {obj.id.name: obj.id for obj in view.of(*CLUSTERS) if obj.deleting}
    for pool in view.of(NODE_POOL):
        since = view.before(pool.id, *map(str, _DELETED))
        marked = isinstance(since, str)
        if not pool.deleting and deleting.get(owner_cluster(pool), marked):
            owner = deleted.get(owner_cluster(pool))
            because = Because("finalizing", (Input(_DELETED, owner),), _CASCADE if owner else _GONE)
            yield Decision(pool.id, _DELETED, since if marked else format_time(now), because)


FINALIZING = Local("finalizing", finalizing, derives=(((NODE_POOL,), (("metadata", "deletionTimestamp"),)),))

DELETING = "Deleting"
#: What must be gone before a cluster is, in order.
_RESOURCES = (MANAGED_CLUSTER_ADD_ON, MANIFEST_WORK)
_BECAUSE = Because("removal", (Input(("metadata", "deletionTimestamp")),), "what is left in its namespace")


def stage(view: View, now: datetime) -> Iterator[Decision]:
    """Decide the condition of every cluster marked for deletion."""
    deleting = [obj for obj in view.of(MANAGED_CLUSTER) if obj.deleting]
    remaining = (
        {kind: grouped((obj.id.namespace, obj) for obj in view.of(kind)) for kind in _RESOURCES} if deleting else {}
    )
    for obj in deleting:
        kind = next((kind for kind in _RESOURCES if obj.id.name in remaining[kind]), None)
        if kind is None:
            statement = ("True", "NoResource", "No cleaned resource in cluster ns.")
        else:
            statement = ("False", "ResourceRemaining", _remaining(kind, remaining[kind][obj.id.name]))
        yield condition_decision(view, obj.id, DELETING, statement, _BECAUSE, now)


def _remaining(kind: Kind, objects: list[Object]) -> str:
    """Upstream's text, which tools search for, including its misspelling."""
    pending = sum(bool(dig(obj.body, "metadata", "finalizers")) for obj in objects)
    return (
        f"The resource {kind.plural} is remaning, the remaining count is {len(objects)}, "
        f"the finalizer pending count is {pending}"
    )


STAGE = Local("removal", stage, derives=(((MANAGED_CLUSTER,), (CONDITIONS,)),))
