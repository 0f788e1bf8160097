"""The conditions of a pool, and the messages of the pools stage.

Reasons and messages of conditions are upstream's; `ReplacementHeld` is muster's own and present only while something is
held.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.names import few
from muster.data.source import Place
from muster.data.times import format_time
from muster.fleet.objects import Object
from muster.fleet.places import finding_at, place_of
from muster.rules.pools.buckets import Buckets, Stale
from muster.rules.pools.inventory import Inventory
from muster.rules.pools.model import PROTECTED, Claim, Cluster, Pool, PoolKey
from muster.rules.pools.scaling import capacity_of

CAPACITY = "CapacityAvailable"
DEPENDENCIES = "MissingDependencies"
CURRENT = "AllClustersCurrent"
INVENTORY = "InventoryValid"
DELETION = "DeletionPossible"
HELD = "ReplacementHeld"


class PoolCondition(NamedTuple):
    """A condition without its times."""

    type: str
    status: str
    reason: str
    message: str


def capacity(pool: Pool, buckets: Buckets) -> PoolCondition:
    """May the pool hold more clusters?"""
    if capacity_of(pool, buckets) > 0:
        return PoolCondition(CAPACITY, "True", "Available", "There is capacity to add more clusters to the pool.")
    message = f"Pool is at maximum capacity of {pool.max_size} waiting and claimed clusters."
    return PoolCondition(CAPACITY, "False", "MaxCapacity", message)


def dependencies(missing: str) -> PoolCondition:
    """Does everything exist that a new cluster needs?"""
    if missing:
        return PoolCondition(DEPENDENCIES, "True", "Missing", missing)
    return PoolCondition(DEPENDENCIES, "False", "Verified", "Dependencies verified")


def current(stale: Stale, deleted: Iterable[str]) -> PoolCondition:
    """Do the unclaimed clusters match the pool's spec, except for those deleted in this pass?"""
    deleted_names = frozenset(deleted)
    if mismatched := _names(stale.mismatched, deleted_names):
        message = f"Some unassigned ClusterDeployments do not match the pool configuration: {mismatched}"
        return PoolCondition(CURRENT, "False", "SomeClusterDeploymentsStale", message)
    if unknown := _names(stale.unknown, deleted_names):
        message = f"Some unassigned ClusterDeployments are missing their pool spec hash annotation: {unknown}"
        return PoolCondition(CURRENT, "Unknown", "SomeClusterDeploymentsUnknown", message)
    message = "All unassigned ClusterDeployments match the pool configuration"
    return PoolCondition(CURRENT, "True", "ClusterDeploymentsCurrent", message)


def inventory(stock: Inventory) -> PoolCondition:
    """Do the inventory's customizations exist, and did they work?"""
    return (
        PoolCondition(INVENTORY, "True", "Valid", "")
        if stock.valid
        else PoolCondition(INVENTORY, "False", "Invalid", stock.message)
    )


def pending_cleanup(buckets: Buckets) -> PoolCondition:
    """The clusters that keep a pool from being deleted."""
    names = _names(buckets, frozenset())
    message = f"The following ClusterDeployments are pending cleanup: {names}"
    return PoolCondition(DELETION, "False", "ClusterDeploymentsPendingCleanup", message)


def held(reason: str, message: str) -> PoolCondition:
    """Replacements are held, until when or by what."""
    return PoolCondition(HELD, "True", reason, message)


def _names(clusters: Iterable[Cluster], without: frozenset[str]) -> str:
    return ", ".join(sorted(cluster.name for cluster in clusters if cluster.name not in without))


def backing_off(failures: int, due: datetime | None) -> str:
    """A replacement is broken too."""
    count = "a replacement" if failures == 0 else f"{failures + 1} replacements in a row"
    return f"{count} broke as well; the next one is made at {'some time' if due is None else format_time(due)}"


def hibernation_unsupported(obj: Object, running: int, size: int) -> Finding:
    """A pool wants hibernating clusters on a platform that does not support it."""
    return finding_at(
        obj,
        ("spec", "runningCount"),
        Code.CANNOT_HIBERNATE,
        f"{obj.id} keeps {running} of {size} clusters running. Hibernation is not supported on Openstack and VSphere. "
        "Must set runningCount==size.",
        f"Set runningCount to {size}.",
    )


def orphaned(key: PoolKey, names: list[str], member: Object | None) -> Finding:
    """Clusters whose pool is gone."""
    place = member.parts[0].place if member is not None else Place("")
    return finding(
        Code.CLUSTERS_WITHOUT_POOL,
        f"ClusterPool/{key.namespace}/{key.name} does not exist, but {len(names)} of its clusters do: {few(names)}",
        place,
        hint="To wind a pool down, set its metadata.deletionTimestamp and remove the file when its clusters are gone.",
    )


def protected(cluster: Cluster, obj: Object | None) -> Finding:
    """A cluster that would be deleted if it were not protected."""
    return finding(
        Code.CLUSTER_PROTECTED,
        f"{cluster.id} is to be deleted and stays: it is protected",
        Place("") if obj is None else place_of(obj.parts, ("metadata", "annotations", PROTECTED)),
        hint=f"Remove the annotation {PROTECTED}, or set it to false, to let it go.",
        object_=cluster.id,
    )


def keeps_its_cluster(claim: Claim, cluster: Cluster, obj: Object) -> Finding:
    """A claim names another pool than its cluster's."""
    pool = cluster.pool.name if cluster.pool is not None else ""
    return finding(
        Code.CLAIM_MOVED_POOL,
        f"{claim.id} has {cluster.name} of ClusterPool {pool!r} and keeps it, though it now names {claim.pool.name!r}",
        place_of(obj.parts, ("spec", "clusterPoolName")),
        hint=f"Make a claim of another name to get a cluster of {claim.pool.name!r}, or name {pool!r} again.",
        object_=claim.id,
    )


def unknown_pool(claim: Claim, obj: Object) -> Finding:
    """A claim on a missing pool."""
    return finding(
        Code.UNKNOWN_REFERENCE,
        f"{claim.id} claims from ClusterPool {claim.pool.name!r}, and namespace {claim.pool.namespace!r} has none such",
        place_of(obj.parts, ("spec", "clusterPoolName")),
        hint="A claim lives in the namespace of its pool.",
        object_=claim.id,
    )
