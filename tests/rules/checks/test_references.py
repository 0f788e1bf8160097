"""Names of what does not exist are warnings with the nearest name, at the name."""

# ruff: noqa: E501 - a table

from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree
from tests.support.commandline import Run, muster
from tests.support.git import Repo, new_repository

__all__ = ["muster"]

GROUP = "cluster.open-cluster-management.io"


def document(kind: str, name: str, spec: Tree, namespace: str = "", labels: Tree = None) -> str:
    version = {"ManagedCluster": "v1", "Placement": "v1beta1"}.get(kind, "v1beta2")
    api = "hive.openshift.io/v1" if kind.startswith("ClusterC") else f"{GROUP}/{version}"
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        **({"labels": labels} if labels else {}),
    }
    return yaml.safe_dump({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})


SETS = f"{GROUP}/clusterset"
BINDING = document("ManagedClusterSetBinding", "prod", {"clusterSet": "prod"}, "shop")
SOUND = {
    "sets.yaml": document(
        "ManagedClusterSet", "prod", {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}
    ),
    "a.yaml": document("ManagedCluster", "a", {"hubAcceptsClient": True}, labels={"region": "eu", SETS: "prod"}),
    "binding.yaml": BINDING,
}


PROJECTION = (
    "apiVersion: muster.dev/v1alpha1\nkind: Projection\nmetadata: {name: p}\n"
    "spec: {forEach: {placement: shop/web}, path: cluster.metadata.name, text: \"'x'\"}\n"
)


def placement(spec: Tree, namespace: str = "shop") -> str:
    return document("Placement", "web", spec, namespace)


def selecting(selector: Tree) -> str:
    return placement({"predicates": [{"requiredClusterSelector": {"labelSelector": selector}}]})


def tolerating(*keys: str) -> str:
    return placement({"tolerations": [{"key": f"{GROUP}/{key}", "operator": "Exists"} for key in keys]})


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit(SOUND)
    return repo


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, []),
        ({"w.yaml": placement({"clusterSets": ["prod"]})}, []),
        ({"w.yaml": placement({})}, []),
        ({"w.yaml": placement({"clusterSets": ["prdo"]})}, ["MUS233: Placement/shop/web names ManagedClusterSet 'prdo'", "did you mean 'prod'?"]),
        ({"w.yaml": placement({"clusterSets": ["default"]})}, ["MUS234: Placement/shop/web names the set 'default', which is not bound"]),
        ({"w.yaml": placement({}, "shpo")}, ["MUS234: Placement/shpo/web selects no cluster", "did you mean 'shop'?"]),
        ({"a.yaml": SOUND["a.yaml"].replace("prod", "prdo")}, ["a.yaml:5:5: ", "MUS233: ManagedCluster/a names ManagedClusterSet 'prdo'"]),
        ({"binding.yaml": BINDING.replace("prod", "prdo")}, ["MUS233: ManagedClusterSetBinding/shop/prdo names"]),
        ({"w.yaml": selecting({"matchLabels": {"region": "us"}})}, []),
        ({"w.yaml": selecting({"matchLabels": {"regoin": "eu"}})}, ["MUS235", "requires the label 'regoin'", "did you mean 'region'?"]),
        ({"w.yaml": selecting({"matchExpressions": [{"key": "regoin", "operator": "Exists"}]})}, ["MUS235"]),
        ({"w.yaml": selecting({"matchExpressions": [{"key": "regoin", "operator": "DoesNotExist"}]})}, []),
        ({"p.yaml": PROJECTION, "w.yaml": placement({}).replace("name: web", "name: wbe")}, ["MUS233: Projection/p names Placement 'shop/web'", "did you mean 'shop/wbe'?"]),
        ({"p.yaml": PROJECTION, "w.yaml": placement({})}, []),
        ({"c.yaml": document("ClusterClaim", "c", {"clusterPoolName": "ci"}, "pools")}, ["MUS233: ClusterClaim/pools/c names ClusterPool 'ci'"]),
    ],
)  # fmt: skip
def test_each_is_told_where_the_fleet_is_read_as_a_whole(
    repo: Repo, muster: Run, files: dict[str, str], told: list[str]
) -> None:
    repo.commit(files)
    for verb in (("validate", "--rev", "HEAD"), ("lint",)):
        _, out, err = muster(*verb, "--repo", repo.path)
        lines = [line for line in (out + err).splitlines() if "MUS23" in line or "did you mean" in line]
        assert bool(lines) == bool(told), (verb, lines)
        assert sum("MUS23" in line for line in lines) == bool(told)
        for words in told:
            assert words in "\n".join(lines), (verb, lines)


@pytest.mark.parametrize(
    ("keys", "advised"),
    [((), False), (("unreachable",), True), (("unreachable", "unavailable"), False), (("unavailable",), False)],
)
def test_silence_moves_work_back(repo: Repo, muster: Run, keys: tuple[str, ...], advised: bool) -> None:
    repo.commit({"w.yaml": tolerating(*keys)})
    _, out, err = muster("lint", "--repo", repo.path)
    assert (
        "MUS609: Placement/shop/web tolerates unreachable clusters and not unavailable ones" in out + err
    ) is advised
