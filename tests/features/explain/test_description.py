"""describe as people know it from kubectl."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import in_process
from tests.support.commandline import Run
from tests.support.example import EXAMPLE
from tests.support.git import Repo, new_repository

LATER = "2026-01-01T12:20:00Z"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """The example fleet, after a run in which most clusters fell silent."""
    made = new_repository(tmp_path_factory.mktemp("describe") / "fleet")
    shutil.copytree(EXAMPLE, made.path, dirs_exist_ok=True)
    made.commit()
    in_process.muster("reconcile", "--now", LATER, environ={**made.environ, "MUSTER_CACHE_DIR": ""}, cwd=made.path)
    return made


@pytest.fixture
def told(muster: Run, repo: Repo) -> Callable[..., str]:
    """Return a function that describes an object."""

    def describe(*asked: str) -> str:
        code, out, err = muster("describe", *asked, "--repo", repo.path, "--now", "2026-01-01T12:30:00Z")
        assert code == 0, err
        return out

    return describe


def section(text: str, title: str) -> list[str]:
    """The lines of a section."""
    lines = text.splitlines()
    begin = lines.index(f"{title}:") + 1
    end = next((n for n in range(begin, len(lines)) if not lines[n].startswith(" ")), len(lines))
    return [line.removeprefix("  ") for line in lines[begin:end]]


def test_a_cluster_with_all_that_is_known_of_it(told: Callable[..., str]) -> None:
    text = told("cluster", "prod-us-2")
    assert text.splitlines()[:2] == [
        "Name:         prod-us-2",
        "Labels:       cluster.open-cluster-management.io/clusterset=prod",
    ]
    assert "hubAcceptsClient: true" in section(text, "Spec")
    taint, rule, *_ = section(text, "Taints")
    assert (taint, rule[:5]) == ("fleet.example.com/unhealthy:NoSelect, added 1d ago", "  by ")
    conditions = section(text, "Conditions")
    row = next(n for n, line in enumerate(conditions) if line.startswith("ManagedClusterConditionAvailable "))
    assert conditions[row].split()[1:] == ["Unknown", "10m", "ManagedClusterLeaseUpdateStopped"]
    assert conditions[row + 1] == "  Registration agent stopped updating its lease."
    assert conditions[row + 2] == "  by ConditionPolicy/managed-cluster-available#lease-expired"
    (lease,) = section(text, "Leases")
    assert lease.startswith("prod-us-2/managed-cluster-lease: renewed ")
    assert section(text, "Reports")[1].startswith("ManagedCluster/prod-us-2 ")
    events = section(text, "Events")
    assert events[0].split() == ["AGE", "COMMIT", "WHAT"]
    assert events[-2].split()[0] == "10m"
    assert events[-1] == "(2 more in the history)"


def test_what_is_held_and_since_when(told: Callable[..., str]) -> None:
    text = told("cluster", "prod-us-1")
    held, events = section(text, "Held"), section(text, "Events")
    assert held[0] == "taint unhealthy:NoSelect"
    assert "9 of 12 clusters are disrupted" in held[1]
    assert events[-2].split()[0] == "10m"
    assert events[-2].endswith("held by DisruptionBudget/default")
    assert events[-1] == "(2 more in the history)"


def test_a_placement_names_what_it_chooses(told: Callable[..., str]) -> None:
    text = told("placement/shop/search")
    assert section(text, "Decisions")[0] == "2 of 14 clusters: prod-ap-1, prod-eu-1"
    assert "Held:" not in text


def test_several_objects_and_none(told: Callable[..., str], muster: Run, repo: Repo) -> None:
    assert told("fleet/example").startswith("Name:         example\n")
    both = told("cluster", "prod-eu-1", "prod-eu-2")
    assert [line.split()[1] for line in both.splitlines() if line.startswith("Name:")] == ["prod-eu-1", "prod-eu-2"]
    names = [line.split()[1] for line in told("clusters").splitlines() if line.startswith("Name:")]
    assert {"member-eu-1", "prod-eu-1"} <= set(names)
    for wrong, code in ((("cluster/a", "b"), 2), (("cluster", "nobody"), 1)):
        assert muster("describe", *wrong, "--repo", repo.path)[0] == code


OCM = "cluster.open-cluster-management.io"
BOUND = (
    f"apiVersion: {OCM}/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{name: default, namespace: shop}}\n"
    f"spec: {{clusterSet: default}}\n---\napiVersion: {OCM}/v1beta1\nkind: Placement\n"
    "metadata: {name: web, namespace: shop}\nspec: {}\n"
)


def test_a_placement_without_clusters_says_what_excludes_them(tmp_path: Path, muster: Run) -> None:
    """Upstream's condition blames predicates; the answers beside it name the taints, and change nothing with time."""
    repo = new_repository(tmp_path / "fleet")
    clusters = {
        f"{name}.yaml": f"apiVersion: {OCM}/v1\nkind: ManagedCluster\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        for name, spec in {
            "a": "{hubAcceptsClient: true, taints: [{key: example.com/x, effect: NoSelect}]}",
            "b": "{hubAcceptsClient: true, taints: [{key: example.com/x, effect: NoSelect}]}",
            "c": "{}",
        }.items()
    }
    repo.commit({"shop.yaml": BOUND, **clusters})
    now = ("--now", "2026-01-01T12:00:00Z", "--repo", str(repo.path))
    decisions = section(muster("describe", "placement/shop/web", *now)[1], "Decisions")
    assert decisions[:2] == ["0 of 3 clusters: none", "  2 with a taint that is not tolerated, 1 not accepted"]
    _, out, _ = muster("explain", "placement/shop/web", "PlacementSatisfied", *now)
    assert "No ManagedCluster matches any of the cluster predicate" in out
    assert [line.split()[:2] for line in out.splitlines() if line.startswith(("a ", "b ", "c "))] == [
        ["a", "no"],
        ["b", "no"],
        ["c", "no"],
    ]
    assert out.count("taint") >= 2
