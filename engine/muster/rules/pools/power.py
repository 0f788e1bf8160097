"""Which unclaimed clusters of a pool run and which hibernate.

As many run as the pool asks for and claims wait. By upstream's rules the oldest do, also those that are still being
installed (reconcileRunningClusters, reference section 2, step 10): one that never comes up, or that no claim may get,
then stands in the way of all claims. By the seed's rules the pool's own running clusters are the oldest; for the claims
that wait, clusters are resumed that can serve them: what is resuming already, else what stands by, the oldest first,
and what is still stopping or being installed only where that is not enough.
"""

from collections.abc import Iterable, Mapping

from muster.rules.pools.buckets import Buckets
from muster.rules.pools.model import HIBERNATING, RUNNING, Cluster, Pool
from muster.rules.pools.rules import Rules


def power_states(
    pool: Pool, buckets: Buckets, deleted: Iterable[str], born: Iterable[str], waiting: int, rules: Rules
) -> Mapping[str, str]:
    """Return spec.powerState by cluster name. `deleted` are left alone; `born` are the youngest, in that order."""
    gone = frozenset(deleted)
    members: Iterable[Cluster] = (*buckets.assignable, *buckets.installing, *buckets.standby)
    aged = sorted((c for c in members if c.name not in gone and not c.frozen), key=lambda c: c.age_key)
    kept = max(0, pool.running_count)
    if rules.resumes_what_can_serve:
        unfit = frozenset(cluster.name for cluster in buckets.stale)
        aged[kept:] = sorted(aged[kept:], key=lambda c: (c.name in unfit, _distance(c), c.age_key))
    names = [*(cluster.name for cluster in aged), *born]
    return {name: RUNNING if index < kept + waiting else HIBERNATING for index, name in enumerate(names)}


def _distance(cluster: Cluster) -> int:
    """How far a cluster is from serving a claim."""
    if not cluster.installed:
        return 3
    if cluster.wanted == RUNNING:
        return 0  # it runs or resumes; another one in its place would begin anew
    return 1 if cluster.power == HIBERNATING else 2
