"""Finalizing: a cluster that is marked for deletion takes its node pools with it.

Source: HyperFleet's delete life cycle. The mark is a person's `metadata.deletionTimestamp`; on the node pools of such
a cluster it is derived. Like any API server would, the mark counts as a change that adapters have to answer for: the
generation goes up, and Ready is asked of `Finalized` instead of `Available` (policies/adapters-ready.yaml). Once every
required adapter has let go, the condition `Finalized` says so (policies/adapters-finalized.yaml); the files are
people's, and theirs to remove.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.decide.adapters import owner_cluster
from muster.decide.reports.accepted import required_adapters
from muster.fleet.fleet import Fleet
from muster.model.decision import Because, Decision
from muster.model.kinds import CLUSTERS, NODE_POOL
from muster.model.times import format_time

_CASCADE = Because("finalizing", text="its cluster is being deleted")


def stage(fleet: Fleet, now: datetime) -> Iterator[Decision]:
    """Mark the node pools of clusters that are being deleted, where adapters have to let go of them."""
    if not required_adapters(fleet, NODE_POOL):
        return
    going = {obj.id.name for obj in fleet.of(*CLUSTERS) if obj.deleting}
    for pool in fleet.of(NODE_POOL) if going else ():
        if not pool.deleting and owner_cluster(pool) in going:
            since = fleet.before(pool.id, "metadata", "deletionTimestamp")
            value = since if isinstance(since, str) else format_time(now)
            yield Decision(pool.id, ("metadata", "deletionTimestamp"), value, _CASCADE)
