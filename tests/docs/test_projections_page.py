"""docs/projections.md: its Projections work for the example fleet, and what they write is what each tool reads."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.data.times import parse_time
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from tests.support.example import EXAMPLE, NOON

PAGE = (Path(__file__).parents[2] / "docs/projections.md").read_text(encoding="utf-8")


def written(now: str = "") -> dict[str, str]:
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    files = {
        str(file.relative_to(EXAMPLE)): file.read_text()
        for file in EXAMPLE.rglob("*.yaml")
        if "derived/projections" not in str(file) and "projections" not in file.parts
    }
    files |= {f"page/{number}.yaml": block for number, block in enumerate(blocks)}
    run = evaluate_snapshot(MemorySnapshot(files), parse_time(now) if now else NOON)
    assert [found for found in run.findings if found.fails] == []
    folder = "derived/projections/"
    return {path.removeprefix(folder): text for path, text in run.files.items() if text and path.count("/") > 2}


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    return {path: text for path, text in written().items() if "/" in path}


@pytest.fixture(scope="module")
def chosen(files: dict[str, str]) -> list[str]:
    return sorted(path.split("/")[1] for path in files if path.startswith("flux/"))


def test_a_kustomization_for_each_chosen_cluster(files: dict[str, str], chosen: list[str]) -> None:
    assert len(chosen) == 6
    body = yaml.safe_load(files["flux/prod-eu-1/web.yaml"])
    assert (body["kind"], body["metadata"]["name"]) == ("Kustomization", "web-prod-eu-1")
    assert body["spec"]["path"] == "./web/eu"
    assert body["spec"]["prune"] is True


def test_elements_for_an_application_set(files: dict[str, str], chosen: list[str]) -> None:
    elements: list[dict[str, Any]] = json.loads(files["argocd/web.json"])
    assert [one["cluster"] for one in elements] == chosen
    assert all(isinstance(value, str) for one in elements for value in one.values())


def test_variables_for_terraform(files: dict[str, str]) -> None:
    (clusters,) = json.loads(files["terraform/clusters.auto.tfvars.json"]).values()
    assert {"name": "edge-eu-1"}.items() <= clusters[0].items()


def test_a_catalog_for_backstage(files: dict[str, str]) -> None:
    entities = list(yaml.safe_load_all(files["backstage/catalog-info.yaml"]))
    assert len(entities) == 14
    for entity in entities:
        assert {"apiVersion", "kind", "metadata", "spec"} == entity.keys()
        assert entity["spec"]["type"] == "kubernetes-cluster"


def test_targets_for_prometheus(files: dict[str, str]) -> None:
    for group in json.loads(files["prometheus/targets.json"]):
        assert group.keys() == {"targets", "labels"}
        assert re.fullmatch(r"[-a-z0-9.]+:\d+", group["targets"][0])


def test_servers_for_nginx_and_a_zone(files: dict[str, str], chosen: list[str]) -> None:
    servers = re.findall(r"^  server ([-a-z0-9]+)\.example\.com:443;$", files["nginx/web.conf"], re.MULTILINE)
    records = re.findall(r"IN SRV 0 10 443 ([-a-z0-9]+)\.example\.com\.$", files["dns/web.example.com.zone"], re.M)
    assert servers == records
    assert set(servers) < set(chosen), "a chosen cluster that is not available gets no traffic"
    assert files["nginx/web.conf"].startswith("upstream web {\n")
    assert files["nginx/web.conf"].endswith("}\n")


def test_a_dead_cluster_is_gone_within_one_run(files: dict[str, str]) -> None:
    later = written("2026-01-01T12:30:00Z")
    assert later["nginx/web.conf"] != files["nginx/web.conf"]
    assert "server" not in later["nginx/web.conf"], "every lease ran out"
