"""The example fleet is a fixed point at its noon, and without findings."""

import shutil
from datetime import timedelta
from pathlib import Path

import muster
from tests.support.example import EXAMPLE, NOON, derive


def test_the_example_is_a_fixed_point() -> None:
    run = muster.evaluate(EXAMPLE, NOON)
    assert run.files == {}, "run `make example`"
    assert run.findings == []


def test_the_example_is_what_its_history_gives(tmp_path: Path) -> None:
    copy = tmp_path / "fleet"
    shutil.copytree(EXAMPLE, copy)
    derive(copy)
    assert _files(copy) == _files(EXAMPLE), "run `make example`"


def test_every_situation_of_the_example_is_there() -> None:
    clusters = [body for body in muster.evaluate(EXAMPLE, NOON).objects if body["kind"] == "ManagedCluster"]
    assert len(clusters) >= 12
    assert len({body["metadata"]["labels"]["region"] for body in clusters}) >= 3
    available = {
        c["status"] for b in clusters for c in b.get("status", {}).get("conditions", ()) if "Available" in c["type"]
    }
    assert available == {"True", "False", "Unknown"}


def test_a_failed_cluster_that_falls_silent_gets_no_work_back() -> None:
    """prod-us-2 has failed for a day; its last Lease runs out four minutes after noon."""
    for now, status in ((NOON, "False"), (NOON + timedelta(minutes=4, seconds=20), "Unknown")):
        objects = {(body["kind"], body["metadata"]["name"]): body for body in muster.evaluate(EXAMPLE, now).objects}
        cluster, decision = objects["ManagedCluster", "prod-us-2"], objects["PlacementDecision", "web-decision-1"]
        conditions = {c["type"]: c["status"] for c in cluster["status"]["conditions"]}
        assert conditions["ManagedClusterConditionAvailable"] == status
        assert [taint["key"] for taint in cluster["spec"]["taints"]] == ["fleet.example.com/unhealthy"]
        chosen = {entry["clusterName"] for entry in decision["status"]["decisions"]}
        assert "prod-us-1" in chosen
        assert "prod-us-2" not in chosen


def test_the_use_cases_of_adapters_are_there() -> None:
    run = muster.evaluate(EXAMPLE, NOON)
    said = {
        body["metadata"]["name"]: {
            c["type"]: (c["status"], c["observedGeneration"])
            for c in body["status"].get("conditions", ())
            if c["type"] in ("Available", "Ready")
        }
        for body in run.objects
        if body["kind"] in ("NodePool", "ManagedCluster")
    }
    for refreshed, mixed, broken in (("workers", "spot", "gpu"), ("prod-eu-2", "prod-us-1", "prod-ap-1")):
        assert said[refreshed] == {"Available": ("True", 1), "Ready": ("True", 1)}
        assert said[mixed] == {"Available": ("True", 1), "Ready": ("False", 2)}
        assert said[broken] == {"Available": ("False", 1), "Ready": ("False", 2)}
    assert said["joining-ap-1"] == {}
    assert ("NodePool/prod-eu-1/workers", "ttl-ready") in [(p["subject"], p["data"]["reason"]) for p in run.pulses]
    assert run.horizon == NOON + timedelta(seconds=5)


def _files(root: Path) -> dict[str, str]:
    return {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8") for p in root.rglob("*") if p.is_file()}
