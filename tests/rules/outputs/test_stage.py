"""PlacementDecisions and ClusterProfiles of SIG-Multicluster."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import muster
from tests.rules.placements.repository import OCM, START, Repository, at

GROUP = "multicluster.x-k8s.io"
BOTH = f"placementdecisions.{GROUP}, clusterprofiles.{GROUP}"
SET = f"{OCM}/clusterset"
CLAIMS = [{"name": "id.k8s.io", "value": "a"}, {"name": "region", "value": "eu"}]


def fleet(repository: Repository, outputs: str) -> None:
    spec = f"spec: {{outputs: [{outputs}]}}"
    repository.write("fleet.yaml", f"apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {{name: f}}\n{spec}\n")


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Three clusters that are in the set `global`, which is bound to the namespace `apps`."""
    found = Repository(tmp_path)
    status = {"version": {"kubernetes": "v1.33.4"}, "clusterClaims": CLAIMS}
    found.cluster("a", labels={SET: "eu"}, status=status)
    found.cluster("b")
    found.cluster("c")
    found.placement("web", {"numberOfClusters": 2})
    fleet(found, BOTH)
    return found


def written(repository: Repository) -> dict[str, Any]:
    """The objects of the group by kind and name, after a run."""
    repository.evaluate()
    files = sorted(repository.root.glob(f"derived/*{GROUP}/**/*.yaml")) + sorted(
        repository.root.glob("derived/clusterprofiles/**/*.yaml")
    )
    bodies = [yaml.safe_load(file.read_text()) for file in files]
    return {f"{body['kind']}/{body['metadata']['namespace']}/{body['metadata']['name']}": body for body in bodies}


def profiles(repository: Repository) -> list[str]:
    return [name.removeprefix("ClusterProfile/") for name in written(repository) if name.startswith("ClusterProfile/")]


def test_a_decision_repeats_that_of_the_placement(repository: Repository) -> None:
    found = written(repository)["PlacementDecision/apps/web-decision-1"]
    assert found["metadata"]["labels"] == {f"{GROUP}/decision-key": "web", f"{GROUP}/decision-index": "0"}
    assert [one["clusterProfileRef"]["name"] for one in found["decisions"]] == ["a", "b"]
    assert found["schedulerName"] == "muster"
    assert "status" not in found


def test_slices_are_numbered_through_all_groups_in_order(repository: Repository) -> None:
    for number in range(9):
        repository.cluster(f"n{number}")
    repository.placement("web", {"decisionStrategy": {"groupStrategy": {"clustersPerDecisionGroup": 1}}})
    slices = {name: body for name, body in written(repository).items() if name.startswith("PlacementDecision/")}
    assert len(slices) == 12
    for name, body in slices.items():
        number = int(name.rpartition("-")[2])
        assert body["metadata"]["labels"][f"{GROUP}/decision-index"] == str(number - 1)


def test_an_empty_choice_is_an_empty_decision(repository: Repository) -> None:
    repository.placement("web", {"clusterSets": ["nothing"]})
    assert written(repository)["PlacementDecision/apps/web-decision-1"]["decisions"] == []


def test_a_profile_repeats_what_is_known_of_the_cluster(repository: Repository) -> None:
    found = written(repository)["ClusterProfile/apps/a"]
    assert found["metadata"]["labels"] == {
        "x-k8s.io/cluster-manager": "muster",
        "open-cluster-management.io/cluster-name": "a",
        f"{GROUP}/clusterset": "eu",
    }
    assert found["spec"] == {"clusterManager": {"name": "muster"}, "displayName": "a"}
    assert found["status"]["version"] == {"kubernetes": "v1.33.4"}
    assert found["status"]["properties"] == CLAIMS
    (healthy, *_) = found["status"]["conditions"]
    assert healthy["type"] == "ControlPlaneHealthy"
    assert (healthy["status"], healthy["lastTransitionTime"]) == ("True", "2026-01-01T00:00:00Z")


def test_profiles_are_where_their_set_is_bound(repository: Repository) -> None:
    assert profiles(repository) == ["apps/a", "apps/b", "apps/c"]
    exclusive = {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
    repository.object("ManagedClusterSet", "eu", exclusive, version="v1beta2")
    file = repository.object(
        "ManagedClusterSetBinding", "eu", {"clusterSet": "eu"}, version="v1beta2", namespace="shop"
    )
    assert profiles(repository) == ["apps/a", "apps/b", "apps/c", "shop/a"]
    repository.cluster("a", accepted=False, labels={SET: "eu"})
    repository.cluster("b", deletionTimestamp=at(0))
    assert profiles(repository) == ["apps/c"], "a denied cluster is in no set, and one that is being deleted in none"
    repository.cluster("a", labels={SET: "eu"})
    assert profiles(repository) == ["apps/a", "apps/c", "shop/a"]
    repository.write(file, None)
    assert profiles(repository) == ["apps/a", "apps/c"]


@pytest.mark.parametrize("broken", ["ManagedCluster--a.yaml", "ManagedClusterSetBinding-apps-global.yaml"])
def test_a_file_that_cannot_be_read_takes_no_profile_away(repository: Repository, broken: str) -> None:
    before = written(repository)
    repository.write(broken, (repository.root / broken).read_text().replace("spec:", "spec: ["))
    run = muster.evaluate(repository.root, START)
    assert run.findings
    assert run.files == {}
    repository.write(broken, (repository.root / broken).read_text().replace("spec: [", "spec: {unknown: 1}\nx:"))
    assert written(repository) == before


def test_what_the_fleet_no_longer_asks_for_goes(repository: Repository) -> None:
    assert len(written(repository)) == 4
    fleet(repository, f"clusterprofiles.{GROUP}")
    assert [name.partition("/")[0] for name in written(repository)] == ["ClusterProfile"] * 3
    fleet(repository, "")
    assert written(repository) == {}


def test_an_output_that_is_none_is_a_finding(repository: Repository) -> None:
    fleet(repository, "clusterprofiles")
    assert [one.code for one in muster.evaluate(repository.root, START).findings if "outputs" in one.message]
