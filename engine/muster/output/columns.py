"""Which columns a kind shows in a table. A kind without an entry shows its name and its conditions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from muster.model.kinds import MANAGED_CLUSTER
from muster.model.tree import Tree
from muster.output import cells


@dataclass(frozen=True, slots=True)
class Column:
    """A header, and how its cell is read from an assembled object at an instant."""

    header: str
    cell: Callable[[Tree, datetime], str]


_AVAILABLE = MANAGED_CLUSTER.headline
_NAME = Column("NAME", cells.text("metadata", "name"))
_NAMESPACE = Column("NAMESPACE", cells.text("metadata", "namespace"))
COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "ManagedCluster": (
        _NAME,
        Column("ACCEPTED", cells.accepted),
        Column("AVAILABLE", cells.once_accepted(cells.status(_AVAILABLE))),
        Column("SINCE", cells.once_accepted(cells.since(_AVAILABLE))),
        Column("TAINTS", cells.taints),
        Column("REASON", cells.once_accepted(cells.reason(_AVAILABLE))),
    ),
    "Cluster": (
        _NAME,
        Column("READY", cells.status("Ready")),
        Column("SINCE", cells.since("Ready")),
        Column("TAINTS", cells.taints),
        Column("REMEDIES", cells.texts("status", "remedyActions")),
        Column("REASON", cells.reason("Ready")),
    ),
    "Placement": (
        _NAMESPACE,
        _NAME,
        Column("WANTED", cells.text("spec", "numberOfClusters")),
        Column("SELECTED", cells.text("status", "numberOfSelectedClusters")),
        Column("SATISFIED", cells.status("PlacementSatisfied")),
        Column("REASON", cells.placement_reason),
    ),
    "PlacementDecision": (
        _NAMESPACE,
        _NAME,
        Column("GROUP", cells.text("metadata", "labels", "cluster.open-cluster-management.io/decision-group-name")),
        Column("CLUSTERS", cells.decided_clusters),
    ),
    "ManagedClusterSet": (
        _NAME,
        Column("SELECTOR", cells.set_selector),
        Column("EMPTY", cells.status("ClusterSetEmpty")),
        Column("MEMBERS", cells.set_members),
    ),
    "ManagedClusterSetBinding": (
        _NAMESPACE,
        _NAME,
        Column("SET", cells.text("spec", "clusterSet")),
        Column("BOUND", cells.status("Bound")),
    ),
    "AdapterReport": (
        Column("OBJECT", cells.reported_on),
        Column("ADAPTER", cells.adapter),
        Column("GENERATION", cells.text("spec", "observed_generation")),
        Column("AVAILABLE", cells.available("spec")),
        Column("OBSERVED", cells.age_of("spec", "observed_time")),
        Column("ACCEPTED", cells.status("Accepted")),
        Column("REASON", cells.reason("Accepted")),
        Column("COUNTS", cells.counting),
    ),
    "NodePool": (
        _NAMESPACE,
        _NAME,
        Column("GENERATION", cells.text("metadata", "generation")),
        Column("READY", cells.status("Ready", "Reconciled")),
        Column("AVAILABLE", cells.status("Available", "LastKnownReconciled")),
        Column("SINCE", cells.since("Ready", "Reconciled")),
        Column("REASON", cells.reason("Ready", "Reconciled")),
    ),
    "ClusterPool": (
        _NAMESPACE,
        _NAME,
        Column("SIZE", cells.text("spec", "size")),
        Column("READY", cells.bucket("assignable")),
        Column("STANDBY", cells.bucket("standby")),
        Column("RESUMING", cells.bucket("resuming")),
        Column("HIBERNATING", cells.bucket("hibernating")),
        Column("INSTALLING", cells.bucket("installing")),
        Column("BROKEN", cells.bucket("broken")),
        Column("DELETING", cells.bucket("deleting", "marked")),
        Column("CLAIMED", cells.bucket("claimed")),
        Column("NOTE", cells.pool_note),
    ),
    "ClusterClaim": (
        _NAMESPACE,
        _NAME,
        Column("POOL", cells.text("spec", "clusterPoolName")),
        Column("CLUSTER", cells.text("spec", "namespace")),
        Column("STATE", cells.claim_state),
        Column("SINCE", cells.since("Pending")),
        Column("LIFETIME", cells.text("status", "lifetime")),
    ),
    "ClusterDeployment": (
        _NAME,
        Column("POOL", cells.text("spec", "clusterPoolRef", "poolName")),
        Column("BUCKET", cells.text("status", "muster", "bucket")),
        Column("WANTED", cells.text("spec", "powerState")),
        Column("POWER", cells.text("status", "powerState")),
        Column("CLAIM", cells.text("spec", "clusterPoolRef", "claimName")),
        Column("WHY", cells.why),
    ),
    "MultiClusterIngress": (
        _NAMESPACE,
        _NAME,
        Column("SERVICES", cells.services),
        Column("BLOCKED", cells.texts("status", "trafficBlockClusters")),
    ),
    "Remedy": (_NAME, Column("CLUSTERS", cells.affinity), Column("ACTIONS", cells.texts("spec", "actions"))),
    "Fleet": (
        _NAME,
        Column("HELD", cells.status("DisruptionHeld")),
        Column("SINCE", cells.since("DisruptionHeld")),
        Column("OBSERVER SUSPECT", cells.status("ObserverSuspect")),
        Column("REMOVAL HELD", cells.status("RemovalHeld")),
        Column("REASON", cells.reason("DisruptionHeld")),
    ),
    "DisruptionBudget": (
        _NAME,
        Column("MAX", cells.text("spec", "maxDisrupted")),
        Column("MAX REMOVED", cells.text("spec", "maxRemoved")),
        Column("COOLDOWN", cells.text("spec", "cooldown")),
    ),
    "Lease": (_NAMESPACE, _NAME, Column("RENEWED", cells.renewed)),
}


#: Shown of any kind, where anything is held.
_HELD = Column("HELD", lambda body, _now: ", ".join(cells.held_effects(body)) or "-")


def columns_of(kind: str, *, namespaced: bool) -> tuple[Column, ...]:
    """Return the columns of a kind."""
    default = (*((_NAMESPACE,) if namespaced else ()), _NAME, Column("CONDITIONS", cells.all_conditions))
    return COLUMNS.get(kind, default)


def rows(kind: str, bodies: list[Tree], now: datetime, *, namespaced: bool) -> tuple[list[str], list[list[str]]]:
    """Return headers and rows for objects of one kind; what is held on any of them has a column of its own."""
    held = (_HELD,) if any(cells.held_effects(body) for body in bodies) else ()
    columns = (*columns_of(kind, namespaced=namespaced), *held)
    return [c.header for c in columns], [[c.cell(body, now) for c in columns] for body in bodies]
