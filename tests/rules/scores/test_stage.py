"""Scores of clusters by ScorePolicies, and the placements that follow them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

import muster
from muster.data.times import format_time
from muster.data.tree import Tree, dig

START = datetime(2026, 1, 1, tzinfo=UTC)
API = "cluster.open-cluster-management.io"
PRICE = "100 - int(params.price[self.metadata.labels.region])"


class ScoredFleet:
    """A directory with two clusters, a Placement that takes the one with the higher score, and policies."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name, region in (("a", "eu"), ("b", "us")):
            available = {
                "type": "ManagedClusterConditionAvailable",
                "status": "True",
                "reason": "Ok",
                "message": "",
                "lastTransitionTime": format_time(START),
            }
            self.write(
                f"clusters/{name}.yaml",
                {
                    "apiVersion": f"{API}/v1",
                    "kind": "ManagedCluster",
                    "metadata": {"name": name, "labels": {"region": region}},
                    "spec": {"hubAcceptsClient": True},
                    "status": {"conditions": [available]},
                },
            )
            self.write(
                f"leases/{name}.yaml",
                {
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": "Lease",
                    "metadata": {"name": "managed-cluster-lease", "namespace": name},
                    "spec": {"renewTime": format_time(START + timedelta(days=1))},
                },
            )
        self.write(
            "binding.yaml",
            {
                "apiVersion": f"{API}/v1beta2",
                "kind": "ManagedClusterSetBinding",
                "metadata": {"name": "default", "namespace": "apps"},
                "spec": {"clusterSet": "default"},
            },
        )
        coordinate = {"type": "AddOn", "addOn": {"resourceName": "cost", "scoreName": "price"}}
        policy = {"mode": "Exact", "configurations": [{"scoreCoordinate": coordinate, "weight": 1}]}
        self.write(
            "placement.yaml",
            {
                "apiVersion": f"{API}/v1beta1",
                "kind": "Placement",
                "metadata": {"name": "web", "namespace": "apps"},
                "spec": {"numberOfClusters": 1, "prioritizerPolicy": policy},
            },
        )

    def write(self, path: str, body: Tree) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(yaml.safe_dump(body), encoding="utf-8")

    def policy(self, name: str = "cost", **spec: Tree) -> None:
        spec = {
            "target": {"kind": "ManagedCluster"},
            "resource": "cost",
            "score": "price",
            "expression": PRICE,
            "params": {"price": {"eu": 70, "us": 40}},
            **spec,
        }
        metadata = {"name": name}
        self.write(
            f"policies/{name}.yaml",
            {
                "apiVersion": "muster.dev/v1alpha1",
                "kind": "ScorePolicy",
                "metadata": metadata,
                "spec": spec,
            },
        )

    def at(self, seconds: int) -> muster.Run:
        """Evaluate until nothing changes, and keep what is derived."""
        for _ in range(5):
            run = muster.evaluate(self.root, now=START + timedelta(seconds=seconds))
            for path, text in run.files.items():
                file = self.root / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.unlink() if text is None else file.write_text(text, encoding="utf-8")
            if not run.files:
                return run
        raise AssertionError("it does not come to rest")

    def score(self, cluster: str) -> Tree:
        file = self.root / f"derived/addonplacementscores/{cluster}/cost.yaml"
        return yaml.safe_load(file.read_text())["status"] if file.exists() else None

    def chosen(self) -> str:
        decision = next((self.root / "derived/placementdecisions").rglob("*.yaml"))
        return str(dig(yaml.safe_load(decision.read_text()), "status", "decisions")[0]["clusterName"])


@pytest.fixture
def fleet(tmp_path: Path) -> ScoredFleet:
    return ScoredFleet(tmp_path)


def test_a_table_of_costs_decides_the_placement(fleet: ScoredFleet) -> None:
    fleet.policy()
    assert fleet.at(0).findings == []
    assert fleet.score("a")["scores"] == [{"name": "price", "value": 30}]
    assert fleet.chosen() == "b"
    fleet.policy(params={"price": {"eu": 10, "us": 40}})
    fleet.at(1)
    assert fleet.chosen() == "a"
    (fleet.root / "policies/cost.yaml").unlink()
    fleet.at(2)
    assert fleet.score("a") is None


def test_a_score_is_renewed_when_half_of_its_time_is_over(fleet: ScoredFleet) -> None:
    fleet.policy(validFor="1h")
    run = fleet.at(0)
    assert fleet.score("a")["validUntil"] == "2026-01-01T01:00:00Z"
    assert run.horizon == START + timedelta(minutes=30)
    fleet.at(1799)
    assert fleet.score("a")["validUntil"] == "2026-01-01T01:00:00Z"
    fleet.at(1800)
    assert fleet.score("a")["validUntil"] == "2026-01-01T01:30:00Z"


def test_what_fails_keeps_its_value_until_it_expires(fleet: ScoredFleet) -> None:
    fleet.policy(validFor="1h")
    fleet.at(0)
    fleet.policy(validFor="1h", params={"price": {"eu": 70}})
    run = fleet.at(60)
    assert [(found.code, found.file) for found in run.findings] == [("MUS401", "policies/cost.yaml")]
    assert fleet.score("b")["scores"] == [{"name": "price", "value": 60}]
    fleet.at(3599)
    assert fleet.score("b") is not None
    fleet.at(3600)
    assert fleet.score("b") is None
    assert fleet.score("a")["scores"] == [{"name": "price", "value": 30}]


def test_a_policy_with_an_error_decides_nothing_anew(fleet: ScoredFleet) -> None:
    fleet.policy()
    fleet.at(0)
    fleet.policy(expression="100 - nothing")
    fleet.at(10)
    assert fleet.score("a")["scores"] == [{"name": "price", "value": 30}]


def test_out_of_range_counts_as_the_nearest(fleet: ScoredFleet) -> None:
    fleet.policy(params={"price": {"eu": 350, "us": 0}})
    run = fleet.at(0)
    assert fleet.score("a")["scores"] == [{"name": "price", "value": -100}]
    assert fleet.score("b")["scores"] == [{"name": "price", "value": 100}]
    assert "-250 is no score" in run.findings[0].message


def test_what_an_agent_reports_counts_instead(fleet: ScoredFleet) -> None:
    fleet.policy()
    fleet.at(0)
    fleet.write(
        "scores/a.yaml",
        {
            "apiVersion": f"{API}/v1alpha1",
            "kind": "AddOnPlacementScore",
            "metadata": {"name": "cost", "namespace": "a"},
            "status": {"scores": [{"name": "price", "value": 99}]},
        },
    )
    run = fleet.at(10)
    assert [found.code for found in run.findings] == ["MUS435"]
    assert fleet.score("a") is None
    assert fleet.chosen() == "a"


def test_the_first_policy_by_name_counts_and_several_scores_share_an_object(fleet: ScoredFleet) -> None:
    fleet.policy()
    europe = {"kind": "ManagedCluster", "selector": {"matchLabels": {"region": "eu"}}}
    fleet.policy("a-free", expression="100", target=europe)
    fleet.policy("age", score="minutes", expression="now < timestamp('2026-01-01T00:10:00Z') ? 1 : 2")
    run = fleet.at(0)
    assert fleet.score("a")["scores"] == [{"name": "minutes", "value": 1}, {"name": "price", "value": 100}]
    assert run.horizon == START + timedelta(minutes=10)
    fleet.at(600)
    assert fleet.score("b")["scores"] == [{"name": "minutes", "value": 2}, {"name": "price", "value": 60}]
