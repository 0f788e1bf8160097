"""What a relay reads on a live hub: which file an object becomes, and which objects it passes over."""

from dataclasses import replace

import pytest
import yaml

from muster.agents.relay.from_hub import why_unheard
from muster.agents.relay.hub_objects import COLLECTIONS, HubCollection, PassedOver, rbac
from muster.data.agentref import Mandate
from muster.data.kinds import CSR, LEASE
from muster.data.tree import Tree
from muster.git.agents.settings import AgentSettings

PLACES = {one.place: one for one in COLLECTIONS}
LABEL = "open-cluster-management.io/cluster-name"
KEY = "-----BEGIN PRIVATE KEY-----"


def named(name: str, namespace: str = "", labels: Tree = None, **sections: Tree) -> Tree:
    """An item of a list, which does not repeat its kind."""
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"labels": labels} if labels else {}),
    }
    return {"metadata": metadata, **sections}


@pytest.mark.parametrize(
    ("place", "body", "expected"),
    [
        ("lease.yaml", named("managed-cluster-lease", "c1", spec={"renewTime": "t"}), ("c1", "lease.yaml")),
        ("lease.yaml", named("managed-cluster-lease", "c1", {LABEL: "c2"}, spec={"renewTime": "t"}), "of no cluster"),
        ("karmada-lease.yaml", named("m1", "karmada-cluster", spec={"renewTime": "t"}), ("m1", "karmada-lease.yaml")),
        ("cluster.yaml", named("c1", status={"conditions": []}), ("c1", "cluster.yaml")),
        ("cluster.yaml", named("c_1"), "of no cluster"),
        ("karmada.yaml", named("m1", status={"kubernetesVersion": "v1"}), ("m1", "karmada.yaml")),
        ("deployment.yaml", named("h1", "h1", spec={"installed": True}), ("h1", "deployment.yaml")),
        ("deployment.yaml", named("h1", "other", spec={"installed": True}), "of no cluster"),
        ("requests/", named("c1-x", "", {LABEL: "c1"}, spec={"request": "cQ=="}), ("c1", "requests/c1-x.yaml")),
        ("requests/", named("csr-kubelet", spec={"request": "cQ=="}), "of no cluster"),
        ("requests/", named("a/b", "", {LABEL: "c1"}, spec={"request": "cQ=="}), "of no cluster"),
        ("addons/", named("dns", "c1", status={"conditions": [{"type": "Available"}]}), ("c1", "addons/dns.yaml")),
        ("works/", named("web", "c1", status={"conditions": []}), ("c1", "works/web.yaml")),
        ("works/", named("web", "c1", status={"resourceStatus": {"x": KEY}}), "with credentials"),
        (
            "scores/",
            named("cost", "c1", status={"scores": [{"name": "x", "value": 1 << 70}]}),
            "that cannot be written",
        ),
    ],
)
def test_an_object_is_a_file_of_its_cluster(place: str, body: Tree, expected: tuple[str, str] | str) -> None:
    collection = PLACES[place]
    if isinstance(expected, str):
        with pytest.raises(PassedOver, match=expected):
            collection.content(body) if collection.file_of(body) else None
        return
    assert collection.file_of(body) == expected
    assert collection.owns(expected[1])
    assert [one.place for one in COLLECTIONS if one.owns(expected[1])] == [place]
    assert yaml.safe_load(collection.content(body) or b"")["kind"] == collection.kind.name


def test_a_cluster_proposes_what_its_agent_would(place: str = "cluster.yaml") -> None:
    spec = {
        "hubAcceptsClient": True,
        "leaseDurationSeconds": 30,
        "taints": [{"key": "k", "effect": "NoSelect"}],
        "managedClusterClientConfigs": [{"url": "https://u:secret@api"}],
    }
    body = yaml.safe_load(PLACES[place].content(named("c1", spec=spec)) or b"")
    assert body["spec"] == {
        "hubAcceptsClient": False,
        "leaseDurationSeconds": 30,
        "managedClusterClientConfigs": [{"url": "https://api"}],
    }


def test_nothing_is_written_of_what_no_agent_reported() -> None:
    assert PLACES["works/"].content(named("web", "c1", spec={"workload": {}})) is None


def test_where_the_collections_are() -> None:
    assert PLACES["lease.yaml"].path == "/apis/coordination.k8s.io/v1/leases"
    assert PLACES["lease.yaml"].query == {"fieldSelector": "metadata.name=managed-cluster-lease"}
    assert PLACES["karmada-lease.yaml"].path == "/apis/coordination.k8s.io/v1/namespaces/karmada-cluster/leases"


def test_the_rights_are_to_read_these_collections_alone() -> None:
    role = rbac([HubCollection(LEASE, "lease.yaml"), HubCollection(CSR, "requests/")])[1]
    verbs = ["get", "list", "watch"]
    assert role["rules"] == [
        {"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": verbs},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs},
    ]


def test_why_a_fleet_does_not_hear_a_relay() -> None:
    heard = AgentSettings(relays={"hub": Mandate(["*"])})
    assert (why_unheard(heard, "hub"), "does not name it" in why_unheard(heard, "hubb")) == ("", True)
    assert "asks for signatures" in why_unheard(replace(heard, signed=True), "hub")
