"""Files of a fleet with a MultiClusterIngress and the EndpointSlices of its Services."""

import json
from collections.abc import Iterable

from muster.data.tree import Tree


def document(body: Tree) -> str:
    """JSON, which is YAML too."""
    return json.dumps(body) + "\n"


def cluster(name: str) -> str:
    """A Karmada Cluster."""
    return document(
        {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": {"name": name},
            "spec": {"syncMode": "Pull"},
        }
    )


def backend(service: str, port: int | str = 80) -> Tree:
    """A backend of an ingress."""
    return {"service": {"name": service, "port": {"number" if isinstance(port, int) else "name": port}}}


def rule(host: str, *paths: tuple[str, str, Tree]) -> Tree:
    """A rule: paths with their type and backend."""
    http = {"paths": [{"path": path, "pathType": type_, "backend": behind} for path, type_, behind in paths]}
    return {"http": http, **({"host": host} if host else {})}


def ingress(spec: Tree, status: Tree, name: str = "web", namespace: str = "shop") -> str:
    """A MultiClusterIngress with a status that somebody reports."""
    return document(
        {
            "apiVersion": "networking.karmada.io/v1alpha1",
            "kind": "MultiClusterIngress",
            "metadata": {"name": name, "namespace": namespace},
            "spec": spec,
            "status": status,
        }
    )


def located(service: str, *clusters: str) -> Tree:
    """One of an ingress' service locations."""
    return {"name": service, "clusters": list(clusters)}


def endpoint_slice(
    cluster_: str,
    service: str,
    ports: Iterable[tuple[str, int]],
    addresses: Iterable[str] = ("127.0.0.1",),
    *,
    ready: bool | None = None,
    type_: str = "IPv4",
) -> str:
    """An EndpointSlice of a Service in a cluster, as Karmada collects it."""
    conditions = {} if ready is None else {"conditions": {"ready": ready}}
    return document(
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": f"imported-{cluster_}-{service}",
                "namespace": "shop",
                "labels": {"kubernetes.io/service-name": f"derived-{service}"},
                "annotations": {"endpointslice.karmada.io/provision-cluster": cluster_},
            },
            "addressType": type_,
            "endpoints": [{"addresses": [address], **conditions} for address in addresses],
            "ports": [{"name": name, "port": port} for name, port in ports],
        }
    )


def remedy(name: str, *clusters: str, condition: str = "") -> str:
    """A Remedy that takes traffic off clusters: at once, or while a condition of theirs is False."""
    match = {"conditionType": condition, "operator": "Equal", "conditionStatus": "False"}
    return document(
        {
            "apiVersion": "remedy.karmada.io/v1alpha1",
            "kind": "Remedy",
            "metadata": {"name": name},
            "spec": {
                "clusterAffinity": {"clusterNames": list(clusters)},
                **({"decisionMatches": [{"clusterConditionMatch": match}]} if condition else {}),
                "actions": ["TrafficControl"],
            },
        }
    )
