"""Capacity, allocatable and claims."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.agents.heartbeat.facts import read_facts, reported_claims, sum_quantities
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
        "version": {"kubernetes": "v1.34.1"}, "capacity": {"cpu": "8"}, "allocatable": {"cpu": "3900m"},
    }  # fmt: skip


def test_what_went_is_over_and_what_cannot_be_read_stays() -> None:
    before = {
        "clusterClaims": [{"name": "id.k8s.io", "value": "x"}],
        "allocatable": {"cpu": "4"},
        "capacity": {"a": "1"},
    }
    instant = datetime(2026, 1, 1, tzinfo=UTC)
    claims, nodes = "/apis/cluster.open-cluster-management.io/v1alpha1/clusterclaims", "/api/v1/nodes"
    emptied = AgentStatement(instant, None, read_facts(server({claims: {"items": []}, nodes: {"items": []}})))
    assert reported_status(before, emptied) == {"capacity": {"a": "1"}, "conditions": []}
    unread = AgentStatement(instant, None, read_facts(server({})))
    assert reported_status(before, unread) == {**before, "conditions": []}


def test_what_cannot_be_read_is_not_reported() -> None:
    assert read_facts(server({})) == {}
