"""Which unclaimed clusters of a pool run and which hibernate.

As many run as the pool asks for and claims wait; the oldest do, also those that are still being installed, so that
a claim is served in the order in which clusters were made. Source: upstream's reconcileRunningClusters (reference
section 2, step 10).
"""

from collections.abc import Iterable, Mapping

from muster.decide.pools.buckets import Buckets
from muster.decide.pools.model import HIBERNATING, RUNNING, Cluster, Pool


def power_states(
    pool: Pool, buckets: Buckets, deleted: Iterable[str], born: Iterable[str], waiting: int
) -> Mapping[str, str]:
    """Return spec.powerState by cluster name. `deleted` are left alone; `born` are the youngest, in that order."""
    gone = frozenset(deleted)
    members: Iterable[Cluster] = (*buckets.assignable, *buckets.installing, *buckets.standby)
    aged = sorted((c for c in members if c.name not in gone and not c.frozen), key=lambda c: c.age_key)
    names = [*(cluster.name for cluster in aged), *born]
    running = max(0, pool.running_count + waiting)
    return {name: RUNNING if index < running else HIBERNATING for index, name in enumerate(names)}
