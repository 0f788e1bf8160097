"""Removal: a ManagedCluster that is marked for deletion, and what of it is still in the repository.

Source: seed 002 (removal) and upstream's gc controller. A cluster whose file is deleted is gone, and what was derived
of it with it. One that carries `deletionTimestamp` is on its way out: the condition `Deleting` counts what is left in
its namespace, add-ons before works as upstream removes them, and is True when nothing is. The files are people's, and
theirs to remove.

Finalizing: a cluster that is marked for deletion takes its node pools with it.

Source: HyperFleet's delete life cycle. The mark is a person's `metadata.deletionTimestamp`; on the node pools of such
a cluster it is derived. Like any API server would, the mark counts as a change that adapters have to answer for: the
generation goes up, and Ready is asked of `Finalized` instead of `Available` (policies/adapters-ready.yaml). Once every
required adapter has let go, the condition `Finalized` says so (policies/adapters-finalized.yaml); the files are
people's, and theirs to remove. Nobody has to let go of node pools that no adapter is required for, so they go with
their cluster at once, as HyperFleet deletes such a kind on the spot.
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
from muster.rules.context import Context
from muster.rules.policies.adapters import owner_cluster
from muster.rules.stages import CONDITIONS, Local
from muster.rules.transitions import saying

_DELETED: Path = ("metadata", "deletionTimestamp")
_CASCADE = "its cluster is being deleted"
_GONE = "no cluster that can be read is there, and its cluster was being deleted when there was one"


def finalizing(view: View, _context: Context, now: datetime) -> Iterator[Decision]:
    """Mark the node pools of clusters that are being deleted, whether or not an adapter has to let go of them.

    A derived mark stays unless the cluster is there and is not being deleted: a cluster with an error in it, and one
    whose file went first, have not taken it back.
    """
    going = {obj.id.name: obj.deleting for obj in view.of(*CLUSTERS)}
    going |= {obj.id.name: True for obj in view.of(*CLUSTERS) if obj.deleting}
    deleted = {obj.id.name: obj.id for obj in view.of(*CLUSTERS) if obj.deleting}
    for pool in view.of(NODE_POOL):
        since = view.before(pool.id, *map(str, _DELETED))
        marked = isinstance(since, str)
        if not pool.deleting and going.get(owner_cluster(pool), marked):
            owner = deleted.get(owner_cluster(pool))
            because = Because("finalizing", (Input(_DELETED, owner),), _CASCADE if owner else _GONE)
            yield Decision(pool.id, _DELETED, since if marked else format_time(now), because)


FINALIZING = Local("finalizing", finalizing, derives=(((NODE_POOL,), (("metadata", "deletionTimestamp"),)),))

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
