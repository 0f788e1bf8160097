"""Kinds of a server: their paths, kinds that are installed later, and a server that does not answer."""

import pytest

from muster.agents.kube.apiserver import ApiError
from muster.agents.kube.discovery import ApiResource, Discovery
from muster.agents.kube.kubeconfig import from_kubeconfig
from muster.data.tree import Tree
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub


class Documents:
    """Discovery documents by path; a status instead of a document is an error."""

    def __init__(self, **documents: Tree) -> None:
        self.documents, self.asked = documents, list[str]()

    def get_json(self, path: str) -> dict[str, Tree]:
        self.asked.append(path)
        found = self.documents.get(path.rpartition("/")[2], 404)
        if isinstance(found, int):
            raise ApiError(found, "refused")
        return {"resources": found}


def test_kinds_are_asked_for_once_and_missing_ones_again() -> None:
    served = Documents(
        v1=[
            {"name": "pods", "kind": "Pod", "namespaced": True},
            {"name": "pods/eviction", "kind": "Eviction", "namespaced": True},
            {"name": "nodes", "kind": "Node", "namespaced": False},
        ]
    )
    kinds = Discovery(served.get_json)
    assert kinds.find("v1", "Pod") == ApiResource("v1", "Pod", "pods", namespaced=True)
    assert kinds.find("v1", "Node") is not None
    assert served.asked == ["/api/v1"]
    assert kinds.find("v1", "Eviction") is None
    assert kinds.find("shop.example/v2", "Crate") is None
    served.documents["v2"] = [{"name": "crates", "kind": "Crate", "namespaced": True}]
    found = kinds.find("shop.example/v2", "Crate")
    assert found is not None and (found.group, found.version) == ("shop.example", "v2")
    served.documents["v3"] = 503
    with pytest.raises(ApiError):
        kinds.find("shop.example/v3", "Crate")


@pytest.mark.parametrize(
    ("api_version", "namespaced", "namespace", "name", "path"),
    [
        ("v1", True, "shop", "web", "/api/v1/namespaces/shop/things/web"),
        ("v1", True, "", "", "/api/v1/things"),
        ("apps/v1", True, "shop", "", "/apis/apps/v1/namespaces/shop/things"),
        ("apps/v1", False, "shop", "web", "/apis/apps/v1/things/web"),
        ("v1", True, "a/b", "../c", "/api/v1/namespaces/a%2Fb/things/..%2Fc"),
        ("rbac.authorization.k8s.io/v1", False, "", "system:x", "/apis/rbac.authorization.k8s.io/v1/things/system%3Ax"),
    ],
)
def test_where_objects_are(api_version: str, namespaced: bool, namespace: str, name: str, path: str) -> None:
    assert ApiResource(api_version, "Thing", "things", namespaced).path(namespace, name) == path


@needs_hub
def test_a_real_server_tells_its_kinds(hub: Hub) -> None:
    server = from_kubeconfig(hub.kubeconfig)
    kinds = Discovery(server.get_json)
    for api_version, kind, path in (
        ("v1", "Namespace", "/api/v1/namespaces/default"),
        ("apps/v1", "Deployment", "/apis/apps/v1/deployments/default"),
        (
            "work.open-cluster-management.io/v1",
            "ManifestWork",
            "/apis/work.open-cluster-management.io/v1/manifestworks",
        ),
    ):
        found = kinds.find(api_version, kind)
        assert found is not None and path.startswith(found.path())
        server.get_json(found.path())
    assert kinds.find("apps/v1", "Crate") is None
    server.close()
