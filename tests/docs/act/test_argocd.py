"""docs/act/argocd.md: what Argo CD makes of the example's decisions, and of those on a hub."""

import re
from pathlib import Path

import yaml

from muster.data.tree import Tree
from tests.docs.act.test_ci import CLUSTERS, example
from tests.support.argocd import applications, needs_argocd
from tests.support.commandline import Run
from tests.support.git import Repo
from tests.support.hub import Hub, needs_hub
from tests.support.hub import hub as hub

pytestmark = needs_argocd
PAGE = (Path(__file__).parents[3] / "docs/act/argocd.md").read_text(encoding="utf-8")
FROM_GIT, FROM_HUB = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
LATER = "2026-01-01T12:20:00Z"


def destinations(file: Path, repo: Repo) -> list[str]:
    """The clusters to which Argo CD deploys."""
    return [one["spec"]["destination"]["name"] for one in applications(file, repo.path)]


def dies(repo: Repo, name: str) -> None:
    """All clusters go on renewing their Leases but one."""
    leases = [path for path in repo.paths() if path.endswith("/lease.yaml") and f"/{name}/" not in path]
    texts = {path: repo.git("show", f"HEAD:{path}") for path in leases}
    fresh = {
        path: re.sub(r"renewTime: .*", f'renewTime: "{LATER}"', text)
        for path, text in texts.items()
        if "2026-01-01T11:5" in text or "2026-01-01T12:" in text
    }
    repo.commit({path: f"{text}\n" for path, text in fresh.items()})


def test_a_dead_cluster_has_no_application_after_one_commit(muster: Run, tmp_path: Path) -> None:
    """Of `web`, which tolerates that for five minutes, it leaves later."""
    repo = example(tmp_path / "fleet")
    file, search = tmp_path / "applicationset.yaml", tmp_path / "search.yaml"
    file.write_text(FROM_GIT)
    search.write_text(FROM_GIT.replace("web", "search"))
    assert "prod-eu-1" in destinations(search, repo)
    made = applications(file, repo.path)
    assert [one["metadata"]["name"] for one in made] == [f"web-{name}" for name in CLUSTERS]
    assert made[0]["spec"]["destination"] == {"name": CLUSTERS[0], "namespace": "web"}
    assert made[0]["metadata"]["labels"] == {"placement": "web"}
    assert "finalizers" not in made[0]["metadata"]

    dies(repo, "prod-eu-1")
    before = repo.tip()
    code, _, errors = muster("reconcile", "--repo", repo.path, "--now", LATER)
    assert code == 0, errors
    assert repo.git("rev-list", "--count", f"{before}..HEAD").strip() == "1"
    assert destinations(search, repo) == ["prod-ap-1", "prod-eu-2"]
    assert "prod-eu-1" in destinations(file, repo)


def test_an_empty_decision_makes_no_applications(tmp_path: Path) -> None:
    repo = example(tmp_path / "fleet")
    path = "derived/placementdecisions/shop/web-decision-1.yaml"
    text = repo.git("show", f"HEAD:{path}")
    repo.commit({path: text[: text.index("  decisions:")] + "  decisions: []\n"})
    file = tmp_path / "applicationset.yaml"
    file.write_text(FROM_GIT)
    assert applications(file, repo.path) == []


@needs_hub
def test_decisions_on_a_hub(hub: Hub, tmp_path: Path) -> None:
    clusters: list[Tree] = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": "argocd", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
            "stringData": {"name": name, "server": f"https://{name}.example.com", "config": "{}"},
        }
        for name in ("c1", "c2", "c3")
    ]
    decision = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "PlacementDecision",
        "metadata": {
            "name": "web-decision-1",
            "namespace": "argocd",
            "labels": {"cluster.open-cluster-management.io/placement": "web"},
        },
    }
    status = {"decisions": [{"clusterName": name, "reason": ""} for name in ("c1", "c3", "unknown")]}
    config, text = FROM_HUB.split("---\n")
    hub.make_namespaces([decision])
    for body in clusters:
        hub.request("POST", "/api/v1/namespaces/argocd/secrets", body)
    hub.request("POST", "/api/v1/namespaces/argocd/configmaps", yaml.safe_load(config))
    hub.apply(decision)
    hub.apply({**decision, "status": status}, status=True)
    file = tmp_path / "applicationset.yaml"
    file.write_text(text)
    made = applications(file, tmp_path, hub.kubeconfig)
    assert {one["metadata"]["name"]: one["spec"]["destination"]["server"] for one in made} == {
        f"web-{name}": f"https://{name}.example.com" for name in ("c1", "c3")
    }
