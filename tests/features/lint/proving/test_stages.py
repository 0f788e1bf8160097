"""Which stages of a Rollout no cluster can be in."""

import json
from typing import Any

import pytest

from muster.data.codes import Severity
from muster.features.lint.proving.stages import unreachable_stages
from muster.features.test.memory import MemorySnapshot
from muster.rules.rollouts.policy import Rollout
from muster.run.checking import check_snapshot

EU = {"matchLabels": {"region": "eu"}}
US = {"matchLabels": {"region": "us"}}
ANY = {"matchExpressions": [{"key": "region", "operator": "Exists"}]}
NOT_EU = {"matchExpressions": [{"key": "region", "operator": "NotIn", "values": ["eu"]}]}
NO_REGION = {"matchExpressions": [{"key": "region", "operator": "DoesNotExist"}]}
EU_OR_US = {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu", "us"]}]}


def stages(*selectors: Any) -> list[dict[str, Any]]:
    """Stages `a`, `b` and so on, by their selectors or as written."""
    return [
        {"name": name, **(one if "selector" in one or "decisionGroups" in one else {"selector": one})}
        for name, one in zip("abcd", selectors, strict=False)
    ]


def unreachable(stages: list[dict[str, Any]], **placement: Any) -> dict[str, str]:
    rollout = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {"placementRef": {"name": "web"}, "revision": "v1", "stages": stages},
    }
    placed = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": placement,
    }
    fleet = check_snapshot(MemorySnapshot({"a.json": json.dumps(rollout), "b.json": json.dumps(placed)}))
    assert [one.message for one in fleet.findings if one.severity is Severity.ERROR] == []
    [found] = fleet.compiled.of(Rollout)
    return dict(unreachable_stages(fleet, found))


def choosing(**selectors: Any) -> list[dict[str, Any]]:
    return [{"requiredClusterSelector": selectors}]


@pytest.mark.parametrize(
    ("selectors", "why"),
    [
        ((EU, US, {}), {}),
        ((EU, NOT_EU), {}),
        ((EU, EU), {"b": "'a' before it takes each cluster that it selects"}),
        ((EU, US, EU_OR_US, ANY), {"c": "'a' or 'b' before it takes each cluster that it selects"}),
        ((ANY, NO_REGION, NOT_EU), {"c": "'a' or 'b' before it takes each cluster that it selects"}),
        (({"matchLabels": {"region": "eu"}, **NO_REGION}, {}), {"a": "its selector contradicts itself"}),
        ((EU, {}, US), {}),  # the finding of the file says so already
    ],
)
def test_selectors(selectors: tuple[Any, ...], why: dict[str, str]) -> None:
    assert unreachable(stages(*selectors)) == why


def test_a_placement_that_does_not_choose_a_stages_clusters() -> None:
    never = "its Placement does not choose what it selects"
    assert unreachable(stages(EU, US), predicates=choosing(labelSelector=NOT_EU)) == {"a": never}
    either = [*choosing(labelSelector=NOT_EU), *choosing(claimSelector=ANY)]
    assert unreachable(stages(EU, US), predicates=either) == {}  # a claim is no label
    found = unreachable(stages(EU, ANY), predicates=choosing(labelSelector=EU))
    assert found == {"b": "'a' before it takes each cluster that it selects, or its Placement does not choose it"}
    assert unreachable(stages(EU), predicates=choosing(celSelector={"celExpressions": ["false"]})) == {}


def test_decision_groups() -> None:
    groups = [
        {"groupName": name, "groupClusterSelector": {"labelSelector": labels}}
        for name, labels in (("eu", EU), ("all", ANY))
    ]
    strategy = {"groupStrategy": {"decisionGroups": groups}}
    of_all, of_eu = {"decisionGroups": ["all"], "selector": EU}, {"decisionGroups": ["eu"]}
    # A cluster is in the first group that selects it.
    assert unreachable(stages(of_all, of_eu), decisionStrategy=strategy) == {"a": "its selector contradicts itself"}
    assert unreachable(stages(of_eu, EU), decisionStrategy=strategy)["b"].startswith("'a' before it takes")
    assert unreachable(stages({"decisionGroups": ["typo"]}), decisionStrategy=strategy) == {}


def test_a_strategy_has_no_stages_to_reach() -> None:
    rollout = "placementRef: {name: gone}, revision: v1"
    text = f"apiVersion: muster.dev/v1alpha1\nkind: Rollout\nmetadata: {{name: w, namespace: a}}\nspec: {{{rollout}}}\n"
    fleet = check_snapshot(MemorySnapshot({"a.yaml": text}))
    assert unreachable_stages(fleet, fleet.compiled.of(Rollout)[0]) == {}
