"""Leases: which one is a cluster's.

A cluster's Lease carries the label `open-cluster-management.io/cluster-name`, or is named `managed-cluster-lease`
in the namespace of the cluster's name (seed 000; upstream looks at the label alone). Karmada's agents renew one that
is named after the cluster, in the namespace `karmada-cluster`.
"""

from collections.abc import Mapping

from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.model.ids import ObjectId
from muster.model.kinds import LEASE
from muster.model.tree import Tree, dig

CLUSTER_NAME = "open-cluster-management.io/cluster-name"
KARMADA_NAMESPACE = "karmada-cluster"
LEASE_NAME = "managed-cluster-lease"
#: Where muster says how long a cluster's lease lasts, if that is longer than the cluster itself says.
LEASE_SECONDS = ("status", "muster", "leaseDurationSeconds")
_DEFAULT_SECONDS = 60


def lease_id(cluster: str) -> ObjectId:
    """Return the id under which muster derives a cluster's Lease."""
    return LEASE.id(LEASE_NAME, cluster)


def leases_by_cluster(fleet: Fleet) -> Mapping[str, Tree]:
    """Return each cluster's Lease from the inputs, by the cluster's name.

    One that is named after the rule goes before one that is found by its label alone.
    """
    found: dict[str, Tree] = {}
    for obj in fleet.of(LEASE):
        labelled = obj.labels.get(CLUSTER_NAME)
        if obj.id.name == LEASE_NAME:
            found[labelled or obj.id.namespace] = obj.body
        elif labelled:
            found.setdefault(labelled, obj.body)
        elif obj.id.namespace == KARMADA_NAMESPACE:
            found.setdefault(obj.id.name, obj.body)
    return found


def effective_leases(fleet: Fleet) -> Mapping[str, Tree]:
    """Return each cluster's Lease: the agent's own, else the one that this run derives."""
    derived = {
        id_.namespace: {"spec": {path[1]: d.value for path, d in decisions.items() if path[0] == "spec"}}
        for id_, decisions in fleet.decided.items()
        if (id_.group, id_.kind, id_.name) == (LEASE.group, LEASE.name, LEASE_NAME)
    }
    return {**derived, **leases_by_cluster(fleet)}


def renew_time(lease: Tree) -> str | None:
    """The time of the last renewal as written; None where there is none."""
    value = dig(lease, "spec", "renewTime")
    return value if isinstance(value, str) else None


def own_lease_seconds(cluster: Object) -> int:
    """How long the lease of a ManagedCluster lasts by its own word: 60 s where that is nothing, or 0."""
    value = cluster.spec.get("leaseDurationSeconds")
    return value if isinstance(value, int) and not isinstance(value, bool) and value else _DEFAULT_SECONDS


def lease_seconds(fleet: Fleet, cluster: Object) -> int:
    """How long the lease of a ManagedCluster lasts: as this run stretched it, else by the cluster's own word."""
    value = fleet.now(cluster.id, *LEASE_SECONDS)
    return value if isinstance(value, int) else own_lease_seconds(cluster)
