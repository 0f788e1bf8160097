"""Buckets: the state of each cluster of a pool. Policies define assignable, standby and broken.

The built-in ConditionPolicies `pool-cluster-assignable`, `pool-cluster-standby` and `pool-cluster-broken` decide the
conditions of those names on ClusterDeployments; a fleet replaces one by its name. Only True counts: if a policy fails,
a cluster is neither assignable nor broken.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import field

from muster.data.ids import ObjectId
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.rules.pools.model import RUNNING, Bucket, Cluster, Pool

#: Returns a cluster's conditions by type, as this run decided them.
Decided = Callable[[ObjectId], Mapping[str, Tree]]


@dataclass(frozen=True, slots=True)
class Buckets:
    """The clusters of a pool by state, each list oldest first (`installing` newest first).

    `standby` is upstream's bucket: installed and neither assignable nor broken. Every cluster is in exactly one of the
    lists from `deleting` to `standby`, and in `stale` too if it has another pool version.
    """

    deleting: tuple[Cluster, ...] = ()
    marked: tuple[Cluster, ...] = ()
    claimed: tuple[Cluster, ...] = ()
    broken: tuple[Cluster, ...] = ()
    assignable: tuple[Cluster, ...] = ()
    installing: tuple[Cluster, ...] = ()
    standby: tuple[Cluster, ...] = ()
    stale: "Stale" = field(default_factory=lambda: Stale())

    @property
    def unclaimed(self) -> int:
        """How many clusters count toward the pool's size: including broken ones, without marked and deleting ones."""
        return len(self.broken) + len(self.assignable) + len(self.installing) + len(self.standby)

    @property
    def total(self) -> int:
        """The number of clusters of the pool."""
        return self.unclaimed + len(self.deleting) + len(self.marked) + len(self.claimed)

    def __iter__(self) -> Iterator[Cluster]:
        for bucket in (
            self.deleting,
            self.marked,
            self.claimed,
            self.broken,
            self.assignable,
            self.installing,
            self.standby,
        ):
            yield from bucket


@dataclass(frozen=True, slots=True)
class Stale:
    """Unclaimed clusters that do not match their pool: of an unknown version, of another version, or with a
    customization that is no longer in the inventory. Oldest first."""

    unknown: tuple[Cluster, ...] = ()
    mismatched: tuple[Cluster, ...] = ()
    uncustomized: tuple[Cluster, ...] = ()

    def __iter__(self) -> Iterator[Cluster]:
        """In the order of replacement."""
        yield from (*self.unknown, *self.mismatched, *self.uncustomized)

    def without(self, names: Container[str]) -> "Stale":
        """The stale clusters without these: an assigned cluster is no longer the pool's to replace."""

        def remaining(clusters: Iterable[Cluster]) -> tuple[Cluster, ...]:
            return tuple(cluster for cluster in clusters if cluster.name not in names)

        return Stale(remaining(self.unknown), remaining(self.mismatched), remaining(self.uncustomized))


def classify(pool: Pool, clusters: Iterable[Cluster], versions: Container[str], decided: Decided) -> Buckets:
    """Sort a pool's clusters, given oldest first, into buckets. `versions`: those that match the pool."""
    by_bucket: dict[Bucket, list[Cluster]] = {bucket: [] for bucket in Bucket}
    unclaimed: list[Cluster] = []
    for cluster in clusters:
        bucket = bucket_of(cluster, decided(cluster.id))
        by_bucket[bucket].append(cluster)
        if bucket not in (Bucket.DELETING, Bucket.MARKED, Bucket.CLAIMED) and not cluster.frozen:
            unclaimed.append(cluster)
    return Buckets(
        deleting=tuple(by_bucket[Bucket.DELETING]),
        marked=tuple(by_bucket[Bucket.MARKED]),
        claimed=tuple(by_bucket[Bucket.CLAIMED]),
        broken=tuple(by_bucket[Bucket.BROKEN]),
        assignable=tuple(by_bucket[Bucket.ASSIGNABLE]),
        installing=tuple(sorted(by_bucket[Bucket.INSTALLING], key=_newest_first)),
        standby=tuple(by_bucket[Bucket.STANDBY]),
        stale=_stale(pool, unclaimed, versions),
    )


def bucket_of(cluster: Cluster, conditions: Mapping[str, Tree]) -> Bucket:
    """Return upstream's bucket of a cluster; the first that applies."""
    if cluster.deleting:
        return Bucket.DELETING
    if cluster.marked:
        return Bucket.MARKED
    if cluster.claim:
        return Bucket.CLAIMED
    if cluster.frozen:
        return Bucket.STANDBY if cluster.installed else Bucket.INSTALLING
    if _holds(conditions, "Broken"):
        return Bucket.BROKEN
    if _holds(conditions, "Assignable"):
        return Bucket.ASSIGNABLE
    return Bucket.STANDBY if cluster.installed else Bucket.INSTALLING


def shown_bucket(cluster: Cluster, conditions: Mapping[str, Tree]) -> Bucket:
    """Return the bucket to show: upstream's standby is split by the requested power state."""
    bucket = bucket_of(cluster, conditions)
    if bucket is not Bucket.STANDBY or _holds(conditions, "Standby"):
        return bucket
    return Bucket.RESUMING if cluster.wanted in ("", RUNNING) else Bucket.HIBERNATING


def _holds(conditions: Mapping[str, Tree], type_: str) -> bool:
    condition = conditions.get(type_)
    return condition is not None and condition.get("status") == "True"


def _newest_first(cluster: Cluster) -> tuple[float, str, str]:
    return (-cluster.created.timestamp() if cluster.created.year > 1 else float("inf"), *cluster.age_key[1:])


def _stale(pool: Pool, unclaimed: Iterable[Cluster], versions: Container[str]) -> Stale:
    unknown: list[Cluster] = []
    mismatched: list[Cluster] = []
    uncustomized: list[Cluster] = []
    inventory = frozenset(pool.inventory or ())
    for cluster in unclaimed:
        if not cluster.version:
            unknown.append(cluster)
        elif cluster.version not in versions:
            mismatched.append(cluster)
        elif pool.inventory is not None and cluster.customization and cluster.customization not in inventory:
            uncustomized.append(cluster)
    return Stale(tuple(unknown), tuple(mismatched), tuple(uncustomized))
