"""Names of what does not exist are warnings with the nearest name, at the name."""

from collections.abc import Mapping
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
    api = "hive.openshift.io/v1" if kind.startswith("Cluster") else f"{GROUP}/{version}"
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


def tolerating(limits: Mapping[str, int | None]) -> str:
    """A Placement that tolerates each of the built-in taints for so many seconds; any taint by an empty key."""
    tolerations: list[Tree] = []
    for key, seconds in limits.items():
        limit: dict[str, Tree] = {} if seconds is None else {"tolerationSeconds": seconds}
        tolerations.append({"key": f"{GROUP}/{key}" if key else "", "operator": "Exists", **limit})
    return placement({"tolerations": tolerations})


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
        (
            {"w.yaml": placement({"clusterSets": ["prdo"]})},
            ["MUS233: Placement/shop/web names ManagedClusterSet 'prdo'", "did you mean 'prod'?"],
        ),
        (
            {"w.yaml": placement({"clusterSets": ["default"]})},
            ["MUS234: Placement/shop/web names the set 'default', which is not bound"],
        ),
        ({"w.yaml": placement({}, "shpo")}, ["MUS234: Placement/shpo/web selects no cluster", "did you mean 'shop'?"]),
        (
            {"a.yaml": SOUND["a.yaml"].replace("prod", "prdo")},
            ["a.yaml:5:5: ", "MUS233: ManagedCluster/a names ManagedClusterSet 'prdo'"],
        ),
        ({"binding.yaml": BINDING.replace("prod", "prdo")}, ["MUS233: ManagedClusterSetBinding/shop/prdo names"]),
        ({"w.yaml": selecting({"matchLabels": {"region": "us"}})}, []),
        (
            {"w.yaml": selecting({"matchLabels": {"regoin": "eu"}})},
            ["MUS235", "requires the label 'regoin'", "did you mean 'region'?"],
        ),
        ({"w.yaml": selecting({"matchExpressions": [{"key": "regoin", "operator": "Exists"}]})}, ["MUS235"]),
        ({"w.yaml": selecting({"matchExpressions": [{"key": "regoin", "operator": "DoesNotExist"}]})}, []),
        (
            {"p.yaml": PROJECTION, "w.yaml": placement({}).replace("name: web", "name: wbe")},
            ["MUS233: Projection/p names Placement 'shop/web'", "did you mean 'shop/wbe'?"],
        ),
        ({"p.yaml": PROJECTION, "w.yaml": placement({})}, []),
        (
            {"c.yaml": document("ClusterClaim", "c", {"clusterPoolName": "ci"}, "pools")},
            ["MUS233: ClusterClaim/pools/c names ClusterPool 'ci'"],
        ),
    ],
)
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


def test_each_missing_need_of_a_pool_is_told(repo: Repo, muster: Run) -> None:
    """Until it is there, the pool makes no clusters. The nearest name of its kind and namespace is offered."""
    pool = {
        "platform": {"aws": {"credentialsSecretRef": {"name": "aws"}, "region": "eu"}},
        "pullSecretRef": {"name": "pull"},
        "baseDomain": "example.com",
        "imageSetRef": {"name": "v4.02"},
        "size": 1,
    }
    fleet = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec:\n"
    fleet += "  pools: {externalDependencies: [%s]}\n"
    image_set = document("ClusterImageSet", "v4.20", {"releaseImage": "x"})
    files = {"p.yaml": document("ClusterPool", "ci", pool, "pools"), "i.yaml": image_set}

    def lines() -> list[str]:
        _, out, err = muster("validate", "--repo", repo.path)
        return [line.strip() for line in (out + err).splitlines() if "MUS210" in line or "hint:" in line]

    repo.commit({**files, "f.yaml": fleet % "Secret/pools/pull, Secret/other/aws"})
    start = "warning MUS210: ClusterPool/pools/ci makes no clusters: nothing declares"
    assert [line.partition(" ")[2] for line in lines()] == [
        f"{start} 'ClusterImageSet/v4.02'",
        "did you mean 'v4.20'?",
        f"{start} 'Secret/pools/aws'",
        "if it exists elsewhere, name it in Fleet.spec.pools.externalDependencies",
    ]
    repo.commit({"f.yaml": fleet % "Secret/pools/pull, Secret/pools/aws, ClusterImageSet/v4.02"})
    assert lines() == []


SINKS = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec:\n  notifications: {sinks: [%s]}\n"
NOTIFIES = (
    "apiVersion: muster.dev/v1alpha1\nkind: NotificationPolicy\nmetadata: {name: n}\n"
    "spec: {target: {kind: ManagedCluster}, when: 'true', sinks: [%s]}\n"
)
SINK = "{name: hook, type: webhook, url: 'http://127.0.0.1:1'}"


@pytest.mark.parametrize(
    ("fleet", "sinks", "said"),
    [
        (SINKS % SINK, "hook", ""),
        (SINKS % SINK, "hook, hok", "n.yaml:4:68: warning MUS210: there is no sink 'hok' in Fleet.spec.notifications"),
        ("", "hook", "n.yaml:4:62: warning MUS210: there is no sink 'hook'"),
        (
            SINKS % "{name: hook, type: pagerduty}",
            "hook",
            "MUS210: the sink 'hook' has no credentialsFrom",
        ),
        (SINKS % "{name: hook, type: slack}", "hook", "the sink 'hook' has no url or urlFrom, so what is for it waits"),
        (SINKS % f"{SINK}, {SINK}", "hook", "two sinks are called 'hook', and the first one counts"),
        (SINKS % SINK.replace("webhook", "wbhook"), "hok", ""),  # nobody knows what its sinks are to be
        ((SINKS % "{name: hook, url: 'http://127.0.0.1:1'}").replace("notifications", "pulses"), "hook", "'hook'"),
    ],
)
def test_a_sink_that_the_fleet_does_not_have(repo: Repo, muster: Run, fleet: str, sinks: str, said: str) -> None:
    repo.commit({"n.yaml": NOTIFIES % sinks, "fleet.yaml": fleet})
    for verb in (("validate", "--rev", "HEAD"), ("lint",)):
        _, out, err = muster(*verb, "--repo", repo.path)
        found = [line for line in (out + err).splitlines() if "MUS210" in line]
        assert (len(found), said in "".join(found)) == (bool(said), True), (verb, out, err)


NOT_FAILED = "tolerates unreachable clusters and not unavailable ones, so silence moves work back"
ANEW = "tolerates unavailable clusters for 60 s, so silence moves work back"
FAILS_AGAIN = "tolerates unavailable clusters for 60 s, so failure after silence moves work back"


@pytest.mark.parametrize(
    ("limits", "advice"),
    [
        ({}, ""),
        ({"unreachable": None}, NOT_FAILED),
        ({"unreachable": 300}, NOT_FAILED),
        ({"unreachable": 300, "unavailable": 0}, NOT_FAILED),
        ({"unreachable": None, "unavailable": None}, ""),
        ({"unreachable": 300, "unavailable": None}, ""),
        ({"unreachable": 300, "unavailable": 60}, ANEW),
        ({"unreachable": None, "unavailable": 60}, ANEW),
        ({"unavailable": None}, ""),
        ({"unavailable": 60}, FAILS_AGAIN),
        ({"unavailable": 60, "unreachable": 0}, FAILS_AGAIN),
        ({"unavailable": 0, "unreachable": -1}, ""),
        ({"": 60}, ANEW),
        ({"": None, "unavailable": 60}, ""),
    ],
)
def test_a_failed_cluster_gets_work_back(
    repo: Repo, muster: Run, limits: Mapping[str, int | None], advice: str
) -> None:
    repo.commit({"w.yaml": tolerating(limits)})
    _, out, err = muster("lint", "--repo", repo.path)
    assert (f"MUS609: Placement/shop/web {advice}\n" in out + err) is bool(advice), out + err
    assert ("MUS609" in out + err) is bool(advice), out + err
