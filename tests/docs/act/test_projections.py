"""The pages of docs/act/ with Projections: their files, of the example fleet, as the tools read them."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree
from tests.docs.act.test_argocd import LATER, dies
from tests.docs.act.test_ci import example
from tests.support.commandline import Run
from tests.support.git import Repo
from tests.support.programs import MADE

PAGES = Path(__file__).parents[3] / "docs/act"
NOON = "2026-01-01T12:00:00Z"
PATH = f"{os.environ['PATH']}:/usr/sbin"
needs = {
    name: pytest.mark.skipif(
        shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None,
        reason=f"{name} is not installed (make servers)",
    )
    for name in ("kubectl", "promtool", "haproxy")
}


def blocks(page: str) -> list[str]:
    """The YAML of a page."""
    return re.findall(r"^```yaml\n(.*?)^```$", (PAGES / f"{page}.md").read_text(encoding="utf-8"), re.M | re.S)


def projected(muster: Run, folder: Path, page: str, name: str = "") -> Repo:
    """The example fleet with the Projections of a page, or of its block with this name, reconciled."""
    repo = example(folder / "fleet")
    repo.commit(
        {"projections.yaml": next(block for block in blocks(page) if "kind: Projection" in block and name in block)}
    )
    code, _, errors = muster("reconcile", "--repo", repo.path, "--now", NOON)
    assert code == 0, errors
    return repo


def written(repo: Repo, projection: str) -> dict[str, str]:
    """The files of a Projection, by name."""
    folder = repo.path / "derived/projections" / projection
    return {path.name: path.read_text() for path in sorted(folder.glob("*"))}


@needs["kubectl"]
def test_flux(muster: Run, tmp_path: Path) -> None:
    repo = projected(muster, tmp_path, "flux")
    assert clusters_of_flux(repo, tmp_path / "before") == ["prod-ap-1", "prod-eu-1"]
    dies(repo, "prod-eu-1")
    before = repo.tip()
    assert muster("reconcile", "--repo", repo.path, "--now", LATER)[0] == 0
    assert repo.git("rev-list", "--count", f"{before}..HEAD").strip() == "1"
    assert clusters_of_flux(repo, tmp_path / "after") == ["prod-ap-1", "prod-eu-2"]


def clusters_of_flux(repo: Repo, folder: Path) -> list[str]:
    """The clusters of the Kustomizations that Flux would apply: it builds a folder without a kustomization.yaml as if
    that named all files."""
    files = written(repo, "flux")
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "kustomization.yaml").write_text(yaml.safe_dump({"resources": sorted(files)}))
    command = ["kubectl", "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    built: list[Tree] = list(yaml.safe_load_all(done.stdout))
    found = sorted(one["spec"]["postBuild"]["substitute"]["cluster"] for one in built)
    assert sorted(one["metadata"]["name"] for one in built) == [f"search-{name}" for name in found]
    return found


@needs["promtool"]
def test_prometheus(muster: Run, tmp_path: Path) -> None:
    repo = projected(muster, tmp_path, "prometheus")
    (tmp_path / "prometheus.yml").write_text(blocks("prometheus")[1])
    command = ["promtool", "check", "config", "prometheus.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    targets = json.loads(written(repo, "prometheus")["targets.json"])
    (one,) = [one for one in targets if one["labels"]["cluster"] == "prod-eu-1"]
    assert one["labels"] == {"cluster": "prod-eu-1", "region": "eu", "serves_web": "true"}


@needs["haproxy"]
def test_haproxy(muster: Run, tmp_path: Path) -> None:
    repo = projected(muster, tmp_path, "load-balancers")
    page = (PAGES / "load-balancers.md").read_text(encoding="utf-8")
    (own,) = re.findall(r"^```haproxy\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "haproxy.cfg").write_text(own)
    assert "server prod-eu-1 " in checked_by_haproxy(repo, tmp_path)
    dies(repo, "prod-eu-1")
    assert muster("reconcile", "--repo", repo.path, "--now", LATER)[0] == 0
    text = checked_by_haproxy(repo, tmp_path)
    assert "server prod-eu-2 " in text
    assert "prod-eu-1" not in text


def checked_by_haproxy(repo: Repo, folder: Path) -> str:
    path = repo.path / "derived/projections/haproxy/web.cfg"
    command = ["haproxy", "-c", "-f", str(folder / "haproxy.cfg"), "-f", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": PATH})
    assert done.returncode == 0, done.stderr
    return path.read_text()


def test_backstage(muster: Run, tmp_path: Path) -> None:
    text = written(projected(muster, tmp_path, "../projections", "name: backstage"), "backstage")["catalog-info.yaml"]
    entities: list[Tree] = list(yaml.safe_load_all(text))
    assert len(entities) > 10
    for entity in entities:
        assert (entity["apiVersion"], entity["kind"]) == ("backstage.io/v1alpha1", "Resource")
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", entity["metadata"]["name"])
        assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,63}", value) for value in entity["metadata"]["labels"].values())
        assert all(isinstance(value, str) for value in entity["metadata"]["annotations"].values())
        assert entity["spec"].keys() == {"type", "owner", "lifecycle"}
    modules = MADE / "backstage" / "node_modules"
    if shutil.which("node") is None or not modules.exists():
        pytest.skip("node or @backstage/catalog-model is not installed, whose rules are the rest (make servers)")
    wrong = {**entities[0], "metadata": {**entities[0]["metadata"], "labels": {"a": "no label"}}}
    done = subprocess.run(
        ["node", str(Path(__file__).with_name("backstage.cjs"))],
        input=json.dumps([*entities, wrong]),
        env={**os.environ, "NODE_PATH": str(modules)},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert '"labels.a" is not valid' in line


def test_cluster_api_and_crossplane(muster: Run, tmp_path: Path) -> None:
    repo = projected(muster, tmp_path, "cluster-api")
    for projection, kind in (("cluster-api", "Cluster"), ("crossplane", "PoolCluster")):
        found = {name: yaml.safe_load(text) for name, text in written(repo, projection).items()}
        assert all(f"{body['metadata']['name']}.yaml" == name for name, body in found.items())
        assert {body["kind"] for body in found.values()} == {kind}
        assert "ci-1.yaml" in found
        assert "ci-2.yaml" not in found, "it is being deleted: its claim has ended"
