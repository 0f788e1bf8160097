"""The file in a repository for an imported part: the layout that `muster init` creates and the example follows.

Paths have no meaning for muster; they have for people. Each step is a safe name (`is_safe`), shortened if it is too
long for a file name, so no name leads out of its folder. Objects of a cluster are in the cluster's folder.
"""

from collections.abc import Iterator
from typing import Final

from muster.data import kinds
from muster.data.kinds import Kind, kind_of
from muster.data.locations import file_name, is_safe
from muster.data.source import Part
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.leases import CLUSTER_NAME, KARMADA_NAMESPACE, LEASE_NAME

DECLARED, REPORTED = "wish", "report"
#: Kinds that are imported only if they name a cluster.
OF_CLUSTERS: Final = (kinds.LEASE, kinds.CSR, kinds.ENDPOINT_SLICE)

_PROVISION_CLUSTER: Final = "endpointslice.karmada.io/provision-cluster"
#: Folders below that of the cluster with the namespace's name.
_BESIDE_CLUSTERS: Final = {
    kinds.ADAPTER_REPORT: "reports",
    kinds.NODE_POOL: "nodepools",
    kinds.MANAGED_CLUSTER_ADD_ON: "addons",
    kinds.MANIFEST_WORK: "works",
    kinds.ADD_ON_PLACEMENT_SCORE: "scores",
}
_FOLDERS: Final = {
    **dict.fromkeys((*kinds.POLICIES, *kinds.ADMISSION, kinds.NOTIFICATION_POLICY, kinds.POLICY_TEST), "policies"),
    kinds.REMEDY: "remedies",
    kinds.MANAGED_CLUSTER_SET: "sets",
    kinds.MANAGED_CLUSTER_SET_BINDING: "sets/bindings",
    kinds.MULTI_CLUSTER_INGRESS: "ingresses",
    kinds.RESOURCE_BINDING: "bindings",
    kinds.PLACEMENT: "placements",
    kinds.PLACEMENT_DECISION: "placements/decisions",
    kinds.CLUSTER_CLAIM: "pools/claims",
    kinds.CLUSTER_IMAGE_SET: "pools/images",
    kinds.CLUSTER_DEPLOYMENT_CUSTOMIZATION: "pools/customizations",
    kinds.WAIVER: "waivers",
    kinds.ROLLOUT: "rollouts",
    kinds.MANIFEST_WORK_REPLICA_SET: "works",
    kinds.CALENDAR: "calendars",
    kinds.DRILL: "drills",
}
_BY_NAMESPACE: Final = (
    kinds.PLACEMENT,
    kinds.RESOURCE_BINDING,
    kinds.MULTI_CLUSTER_INGRESS,
    kinds.PLACEMENT_DECISION,
    kinds.MANAGED_CLUSTER_SET_BINDING,
    kinds.MANIFEST_WORK_REPLICA_SET,
    kinds.ROLLOUT,
)


def named_cluster(kind: Kind, body: Tree) -> str:
    """Return the cluster that a Lease, request or EndpointSlice names; empty for none.

    A hub has many without: leader election, its own kubelets, its own Services.
    """
    metadata = mapping_at(body, "metadata")
    cluster = mapping_at(metadata, "labels").get(CLUSTER_NAME, "")
    if kind is kinds.ENDPOINT_SLICE:
        cluster = mapping_at(metadata, "annotations").get(_PROVISION_CLUSTER, "")
    elif kind is kinds.LEASE and not cluster:
        if metadata.get("name") == LEASE_NAME:
            cluster = metadata.get("namespace")
        elif metadata.get("namespace") == KARMADA_NAMESPACE:
            cluster = metadata.get("name")
    return cluster if isinstance(cluster, str) and is_safe(cluster) else ""


def file_places(part: Part, role: str) -> Iterator[str]:
    """Yield the possible files for a part, best first; the last one is used by no other object."""
    id_, kind = part.id, kind_of(part.id)
    name, space = file_name(id_.name), file_name(id_.namespace) if id_.namespace else ""
    if kind in kinds.CLUSTERS:
        stem = "cluster" if role == DECLARED else "observed"
        yield f"clusters/{name}/{stem}.yaml"
    elif kind in OF_CLUSTERS:
        folder = f"clusters/{file_name(named_cluster(kind, part.body))}"
        if kind is kinds.LEASE:
            yield f"{folder}/lease.yaml"
        yield f"{folder}/{kind.plural}/{name}.yaml"
    elif kind in _BESIDE_CLUSTERS:
        yield f"clusters/{space}/{_BESIDE_CLUSTERS[kind]}/{name}.yaml"
    elif kind is kinds.CLUSTER_POOL:
        yield f"pools/{name}/pool.yaml"
    elif kind is kinds.CLUSTER_DEPLOYMENT:
        if pool := _pool(part.body):
            yield f"pools/{file_name(pool)}/{name}/{'deployment' if role == DECLARED else 'observed'}.yaml"
        else:
            yield f"clusters/{name}/{'deployment' if role == DECLARED else 'provisioned'}.yaml"
    elif kind is kinds.FLEET:
        yield "fleet.yaml"
    elif kind in _BY_NAMESPACE:
        yield f"{_FOLDERS[kind]}/{space}/{name}.yaml"
    else:
        yield f"{_FOLDERS.get(kind, kind.folder)}/{name}.yaml"
    # Another object has the first name: one of another kind or namespace.
    suffix = "" if role == DECLARED else "/observed"
    yield "/".join(filter(None, ("objects", kind.folder, space, f"{name}{suffix}.yaml")))


def _pool(body: Tree) -> str:
    name = dig(body, "spec", "clusterPoolRef", "poolName")
    return name if isinstance(name, str) and is_safe(name) else ""
