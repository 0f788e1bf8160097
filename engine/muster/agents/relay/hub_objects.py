"""The collections of a live hub that a relay reads, and the files that it writes of their objects.

Each object is of one cluster and becomes one file in the cluster's folder, with the part that agents wrote
(`muster.fleet.hub_parts`). What the hub itself decided is left out, and so are credentials.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from muster.agents.kube.apiserver import PAGE
from muster.data.agentref import is_cluster_name
from muster.data.groups import grouped
from muster.data.kinds import (
    ADD_ON_PLACEMENT_SCORE,
    CLUSTER_DEPLOYMENT,
    CSR,
    KARMADA_CLUSTER,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADD_ON,
    MANIFEST_WORK,
    Kind,
)
from muster.data.locations import SUFFIX, file_name, is_safe
from muster.data.tree import Tree, dig, mapping_at
from muster.data.yaml.emitter import file_text
from muster.dataclass import dataclass
from muster.fleet.agents import LONGEST_PROPOSED_SECONDS
from muster.fleet.hub_parts import agent_part
from muster.fleet.layout import named_cluster
from muster.fleet.leases import CLUSTER_NAME, KARMADA_NAMESPACE, LEASE_NAME
from muster.fleet.secrecy import screened

_RBAC: Final = "rbac.authorization.k8s.io"
_ACCOUNT: Final = {"name": "muster-relay", "namespace": "default"}
#: A work may have a MiB of manifests.
_PAGE_OF_WORKS: Final = 50


class PassedOver(ValueError):  # noqa: N818 - says what happened to the object
    """An object is not read, and why: a few words, by which such objects are counted."""


@dataclass(frozen=True, slots=True, eq=False)
class HubCollection:
    """Objects of a `kind`, of one `namespace` if given, or those that `selector` selects by their fields.

    `place` is the folder for their files, or the file if a cluster has one such object. A hub without `clusters` of any
    system is none.
    """

    kind: Kind
    place: str
    namespace: str = ""
    selector: str = ""
    clusters: bool = False
    page: int = PAGE

    @property
    def path(self) -> str:
        """Where the API server has it."""
        inside = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"/apis/{self.kind.api_version}{inside}/{self.kind.plural}"

    @property
    def query(self) -> Mapping[str, str]:
        """What selects the objects."""
        return {"fieldSelector": self.selector} if self.selector else {}

    @property
    def is_single(self) -> bool:
        """Does a cluster have one such object?"""
        return not self.place.endswith("/")

    def owns(self, path: str) -> bool:
        """Is a file in a cluster's folder one of this collection?"""
        return path == self.place if self.is_single else path.startswith(self.place)

    def file_of(self, body: Tree) -> tuple[str, str]:
        """Return the cluster of an object, and the path of its file. PassedOver if it is of no cluster."""
        cluster, name = self._cluster(body), str(dig(body, "metadata", "name"))
        if not is_cluster_name(cluster) or not is_safe(name):
            raise PassedOver("of no cluster")
        return cluster, self.place if self.is_single else f"{self.place}{file_name(name)}{SUFFIX}"

    def content(self, body: Tree) -> bytes | None:
        """Return the content of an object's file; None if agents wrote nothing. PassedOver if it cannot be written."""
        # Items of a list do not repeat what they are.
        body = {**body, "apiVersion": self.kind.api_version, "kind": self.kind.name}
        part = agent_part(self.kind, body)
        if self.kind is MANAGED_CLUSTER:
            part = {**(part or self.kind.body({"name": body["metadata"]["name"]})), "spec": _proposed(body)}
        if part is None:
            return None
        clean = screened(self.kind, part)
        if clean.body is None:
            raise PassedOver("with credentials")
        try:
            return file_text(clean.body).encode()
        except (ValueError, TypeError) as error:
            raise PassedOver("that cannot be written") from error

    def _cluster(self, body: Tree) -> str:
        """The cluster that an object is of: an agent of that one may write it."""
        name, namespace = str(dig(body, "metadata", "name")), str(dig(body, "metadata", "namespace") or "")
        labelled = mapping_at(body, "metadata", "labels").get(CLUSTER_NAME)
        if self.kind in (MANAGED_CLUSTER, KARMADA_CLUSTER):
            return name
        if self.kind is CSR:
            return named_cluster(CSR, body)
        if self.namespace:  # Karmada's leases
            return name
        if self.kind is CLUSTER_DEPLOYMENT and name != namespace:
            return ""
        return namespace if labelled in (None, namespace) else ""


#: What a relay reads. A cluster's own objects come first.
COLLECTIONS: Final = (
    HubCollection(LEASE, "lease.yaml", selector=f"metadata.name={LEASE_NAME}"),
    HubCollection(LEASE, "karmada-lease.yaml", namespace=KARMADA_NAMESPACE),
    HubCollection(MANAGED_CLUSTER, "cluster.yaml", clusters=True),
    HubCollection(KARMADA_CLUSTER, "karmada.yaml", clusters=True),
    HubCollection(CLUSTER_DEPLOYMENT, "deployment.yaml", clusters=True),
    HubCollection(CSR, "requests/"),
    HubCollection(MANAGED_CLUSTER_ADD_ON, "addons/"),
    HubCollection(ADD_ON_PLACEMENT_SCORE, "scores/"),
    HubCollection(MANIFEST_WORK, "works/", page=_PAGE_OF_WORKS),
)


def _proposed(body: Tree) -> Tree:
    """What an agent proposes when it registers its cluster. Once people declare the cluster, it does not matter."""
    seconds, configs = (dig(body, "spec", name) for name in ("leaseDurationSeconds", "managedClusterClientConfigs"))
    proposable = isinstance(seconds, int) and 0 < seconds <= LONGEST_PROPOSED_SECONDS
    return {
        "hubAcceptsClient": False,
        **({"leaseDurationSeconds": seconds} if proposable else {}),
        **({"managedClusterClientConfigs": configs} if isinstance(configs, list) else {}),
    }


def rbac(collections: Iterable[HubCollection] = COLLECTIONS) -> list[Tree]:
    """Return a service account that may read the collections and nothing else."""
    by_group = grouped((collection.kind.group, collection.kind.plural) for collection in collections)
    rules: list[Tree] = [
        {"apiGroups": [group], "resources": sorted(set(plurals)), "verbs": ["get", "list", "watch"]}
        for group, plurals in sorted(by_group.items())
    ]
    name = {"name": _ACCOUNT["name"]}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": dict(_ACCOUNT)},
        {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole", "metadata": name, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", **name},
            "subjects": [{"kind": "ServiceAccount", **_ACCOUNT}],
        },
    ]
