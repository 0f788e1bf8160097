"""The conditions of a pool: capacity, dependencies, whether its clusters are current, and what is held.

Reasons and messages are upstream's; `ReplacementHeld` is muster's own and present only while something is held.
"""

from collections.abc import Iterable
from typing import NamedTuple

from muster.rules.pools.buckets import Buckets, Stale
from muster.rules.pools.inventory import Inventory
from muster.rules.pools.model import Cluster, Pool
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
    gone = frozenset(deleted)
    if mismatched := _names(stale.mismatched, gone):
        message = f"Some unassigned ClusterDeployments do not match the pool configuration: {mismatched}"
        return PoolCondition(CURRENT, "False", "SomeClusterDeploymentsStale", message)
    if unknown := _names(stale.unknown, gone):
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
