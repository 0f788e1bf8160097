"""The file in a repository for an imported part: the layout that `muster init` creates and the example follows.

Paths have no meaning for muster; they have for people. Each step is a safe name (`is_safe`), shortened if it is too
long for a file name, so no name leads out of its folder. Objects of a cluster are in the cluster's folder.
"""

from collections.abc import Iterator
from typing import Final

from muster.data.kinds import (
    ADAPTER_REPORT,
    ADD_ON_PLACEMENT_SCORE,
    ADMISSION,
    CLUSTER_CLAIM,
    CLUSTER_DEPLOYMENT,
    CLUSTER_DEPLOYMENT_CUSTOMIZATION,
    CLUSTER_IMAGE_SET,
    CLUSTER_POOL,
    CLUSTERS,
    CSR,
    ENDPOINT_SLICE,
    FLEET,
    LEASE,
    MANAGED_CLUSTER_ADD_ON,
    MANAGED_CLUSTER_SET,
    MANAGED_CLUSTER_SET_BINDING,
    MANIFEST_WORK,
    MULTI_CLUSTER_INGRESS,
    NODE_POOL,
    NOTIFICATION_POLICY,
    PLACEMENT,
    PLACEMENT_DECISION,
    POLICIES,
    POLICY_TEST,
    REMEDY,
    RESOURCE_BINDING,
    WAIVER,
    Kind,
    kind_of,
)
from muster.data.locations import file_name, is_safe
from muster.data.source import Part
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.leases import CLUSTER_NAME, KARMADA_NAMESPACE, LEASE_NAME

DECLARED, REPORTED = "wish", "report"
#: Kinds that are imported only if they name a cluster.
OF_CLUSTERS: Final = (LEASE, CSR, ENDPOINT_SLICE)

_PROVISION_CLUSTER: Final = "endpointslice.karmada.io/provision-cluster"
#: Folders below that of the cluster with the namespace's name.
_BESIDE_CLUSTERS: Final = {
    ADAPTER_REPORT: "reports", NODE_POOL: "nodepools", MANAGED_CLUSTER_ADD_ON: "addons", MANIFEST_WORK: "works",
    ADD_ON_PLACEMENT_SCORE: "scores",
}  # fmt: skip
_FOLDERS: Final = {
    **dict.fromkeys((*POLICIES, *ADMISSION, NOTIFICATION_POLICY, POLICY_TEST), "policies"),
    REMEDY: "remedies", MANAGED_CLUSTER_SET: "sets", MANAGED_CLUSTER_SET_BINDING: "sets/bindings",
    MULTI_CLUSTER_INGRESS: "ingresses", RESOURCE_BINDING: "bindings", PLACEMENT: "placements",
    PLACEMENT_DECISION: "placements/decisions", CLUSTER_CLAIM: "pools/claims", CLUSTER_IMAGE_SET: "pools/images",
    CLUSTER_DEPLOYMENT_CUSTOMIZATION: "pools/customizations", WAIVER: "waivers",
}  # fmt: skip


def named_cluster(kind: Kind, body: Tree) -> str:
    """Return the cluster that a Lease, request or EndpointSlice names; empty for none.

    A hub has many without: leader election, its own kubelets, its own Services.
    """
    metadata = mapping_at(body, "metadata")
    cluster = mapping_at(metadata, "labels").get(CLUSTER_NAME, "")
    if kind is ENDPOINT_SLICE:
        cluster = mapping_at(metadata, "annotations").get(_PROVISION_CLUSTER, "")
    elif kind is LEASE and not cluster:
        if metadata.get("name") == LEASE_NAME:
            cluster = metadata.get("namespace")
        elif metadata.get("namespace") == KARMADA_NAMESPACE:
            cluster = metadata.get("name")
    return cluster if isinstance(cluster, str) and is_safe(cluster) else ""


def file_places(part: Part, role: str) -> Iterator[str]:
    """Yield the possible files for a part, best first; the last one is used by no other object."""
    id_, kind = part.id, kind_of(part.id)
    name, space = file_name(id_.name), file_name(id_.namespace) if id_.namespace else ""
    if kind in CLUSTERS:
        stem = "cluster" if role == DECLARED else "observed"
        yield f"clusters/{name}/{stem}.yaml"
    elif kind in OF_CLUSTERS:
        folder = f"clusters/{file_name(named_cluster(kind, part.body))}"
        if kind is LEASE:
            yield f"{folder}/lease.yaml"
        yield f"{folder}/{kind.plural}/{name}.yaml"
    elif kind in _BESIDE_CLUSTERS:
        yield f"clusters/{space}/{_BESIDE_CLUSTERS[kind]}/{name}.yaml"
    elif kind is CLUSTER_POOL:
        yield f"pools/{name}/pool.yaml"
    elif kind is CLUSTER_DEPLOYMENT:
        if pool := _pool(part.body):
            yield f"pools/{file_name(pool)}/{name}/{'deployment' if role == DECLARED else 'observed'}.yaml"
        else:
            yield f"clusters/{name}/{'deployment' if role == DECLARED else 'provisioned'}.yaml"
    elif kind is FLEET:
        yield "fleet.yaml"
    elif kind in (PLACEMENT, RESOURCE_BINDING, MULTI_CLUSTER_INGRESS, PLACEMENT_DECISION, MANAGED_CLUSTER_SET_BINDING):
        yield f"{_FOLDERS[kind]}/{space}/{name}.yaml"
    else:
        yield f"{_FOLDERS.get(kind, kind.folder)}/{name}.yaml"
    # Another object has the first name: one of another kind or namespace.
    suffix = "" if role == DECLARED else "/observed"
    yield "/".join(filter(None, ("objects", kind.folder, space, f"{name}{suffix}.yaml")))


def _pool(body: Tree) -> str:
    name = dig(body, "spec", "clusterPoolRef", "poolName")
    return name if isinstance(name, str) and is_safe(name) else ""
