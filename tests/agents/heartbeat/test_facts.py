"""Capacity, allocatable and claims."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agents.heartbeat.facts import ClusterFacts, read_facts, read_objects, reported_claims, sum_quantities
from muster.agents.heartbeat.heartbeat import AgentStatement, reported_status
from muster.agents.kube.apiserver import ApiError
from muster.data.tree import Tree


@pytest.mark.parametrize(
    ("quantities", "sum_"),
    [
        (["4", "8"], "12"),
        (["3900m", "7800m"], "11700m"),
        (["500m", "500m"], "1"),
        (["1", "500m"], "1500m"),
        (["16Gi", "16Gi"], "32Gi"),
        (["8737114Ki", "8737114Ki"], "17474228Ki"),
        (["512Ki", "512Ki"], "1Mi"),
        (["0", "0"], "0"),
        (["1k", "1k"], "2k"),
        (["1e3", "1"], "1001"),
        (["64", "nonsense"], "64"),
    ],
)
def test_total(quantities: list[str], sum_: str) -> None:
    assert sum_quantities({"x": quantity} for quantity in quantities) == {"x": sum_}


@given(st.lists(st.integers(min_value=0, max_value=10**12), min_size=1, max_size=5))
def test_a_sum_of_whole_numbers_is_their_sum(numbers: list[int]) -> None:
    assert sum_quantities({"pods": str(number)} for number in numbers) == sum_quantities([{"pods": str(sum(numbers))}])


def claim(name: str, value: str = "v", **labels: str) -> Tree:
    return {"metadata": {"name": name, "labels": labels}, "spec": {"value": value}}


def test_reserved_claims_go_first_and_the_others_are_cut_at_twenty() -> None:
    claims = [claim(f"c{i:02}") for i in range(30)] + [claim("platform.open-cluster-management.io"), claim("id.k8s.io")]
    names = [shown["name"] for shown in reported_claims(claims)]
    assert names == ["id.k8s.io", "platform.open-cluster-management.io", *(f"c{i:02}" for i in range(20))]


def test_a_claim_that_stays_in_its_cluster_is_not_shown() -> None:
    assert reported_claims([claim("secret", **{"open-cluster-management.io/spoke-only": ""})]) == []


def server(answers: dict[str, Tree]) -> Callable[[str], dict[str, Tree]]:
    def get(path: str) -> dict[str, Tree]:
        path = path.partition("?")[0]
        if path not in answers:
            raise ApiError(404, f"GET {path}: status 404")
        found: dict[str, Tree] = answers[path]
        return found

    return get


def test_allocatable_leaves_out_nodes_that_take_no_work() -> None:
    node = {"status": {"capacity": {"cpu": "4"}, "allocatable": {"cpu": "3900m"}}}
    cordoned = {**node, "spec": {"unschedulable": True}}
    answers = {"/version": {"gitVersion": "v1.34.1"}, "/api/v1/nodes": {"items": [node, cordoned]}}
    assert read_facts(server(answers)) == {
        "version": {"kubernetes": "v1.34.1"},
        "capacity": {"cpu": "8"},
        "allocatable": {"cpu": "3900m"},
    }


def test_what_went_is_over_and_what_cannot_be_read_stays() -> None:
    before = {
        "clusterClaims": [{"name": "id.k8s.io", "value": "x"}],
        "allocatable": {"cpu": "4"},
        "capacity": {"a": "1"},
    }
    instant = datetime(2026, 1, 1, tzinfo=UTC)
    claims, nodes = "/apis/cluster.open-cluster-management.io/v1alpha1/clusterclaims", "/api/v1/nodes"
    emptied = AgentStatement(
        instant, None, ClusterFacts(read_facts(server({claims: {"items": []}, nodes: {"items": []}})))
    )
    assert reported_status(before, emptied) == {"capacity": {"a": "1"}, "conditions": []}
    unread = AgentStatement(instant, None, ClusterFacts())
    assert reported_status(before, unread) == {**before, "conditions": []}


def test_what_cannot_be_read_is_not_reported() -> None:
    assert read_facts(server({})) == {}


def test_all_pages_of_a_list_are_read() -> None:
    def get(path: str) -> dict[str, Tree]:
        if not path.startswith("/api/v1/nodes"):
            raise ApiError(404, "no such path")
        node = {"status": {"capacity": {"pods": "1"}, "allocatable": {"pods": "1"}}}
        return {"items": [node], "metadata": {} if "continue=a%3Db" in path else {"continue": "a=b"}}

    assert read_facts(get)["capacity"] == {"pods": "2"}


def test_objects_are_reported_by_folder_and_what_cannot_be_read_is_missing() -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
    lease: Tree = {"metadata": {"name": "dns", "labels": {"a": "b"}}, "spec": {"renewTime": "2026-01-01T00:00:00.5Z"}}
    of_the_cluster: Tree = {"metadata": {"name": "managed-cluster-lease"}, "spec": {}}
    found = read_objects(server({leases.format("a"): {"items": [lease, of_the_cluster]}}), "c1", ("a",))
    assert {path: content.decode() for path, content in found["addons/"].items()} == {
        "addons/dns.yaml": "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: dns\n  namespace: c1\n"
        'spec:\n  renewTime: "2026-01-01T00:00:00.5Z"\n',
    }
    assert "works/" not in found
    assert read_objects(server({leases.format("a"): {"items": []}}), "c1", ("a", "b")) == {}, "one is unknown"
