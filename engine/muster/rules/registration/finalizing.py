"""Finalizing: a cluster that is marked for deletion takes its node pools with it.

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
from muster.data.kinds import CLUSTERS, NODE_POOL
from muster.data.times import format_time
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.policies.adapters import owner_cluster
from muster.rules.stages import Local

_DELETED: Path = ("metadata", "deletionTimestamp")
_CASCADE = "its cluster is being deleted"
_GONE = "no cluster that can be read is there, and its cluster was being deleted when there was one"


def stage(view: View, _context: Context, now: datetime) -> Iterator[Decision]:
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


STAGE = Local("finalizing", stage, derives=(((NODE_POOL,), (("metadata", "deletionTimestamp"),)),))
