"""A snapshot that lies in memory decides as one of the same files does, also of what an earlier run derived."""

from datetime import timedelta
from pathlib import Path

from muster.data.ids import ObjectId
from muster.data.kinds import LEASE, MANAGED_CLUSTER, PLACEMENT
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot, derived_texts, input_texts
from muster.run.evaluate import evaluate, evaluate_snapshot

NOW = parse_time("2026-01-01T00:00:30Z")
GIVEN: dict[ObjectId, Tree] = {
    MANAGED_CLUSTER.id("a"): {
        "apiVersion": MANAGED_CLUSTER.api_version,
        "kind": "ManagedCluster",
        "metadata": {"name": "a"},
        "spec": {"hubAcceptsClient": True},
    },
    LEASE.id("managed-cluster-lease", "a"): {
        "apiVersion": LEASE.api_version,
        "kind": "Lease",
        "metadata": {"name": "managed-cluster-lease", "namespace": "a"},
        "spec": {"renewTime": "2026-01-01T00:00:00Z"},
    },
}


def test_it_is_read_like_a_directory(tmp_path: Path) -> None:
    texts = input_texts(GIVEN)
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    run = evaluate_snapshot(MemorySnapshot(texts), NOW)
    assert [body["kind"] for body in run.objects] == ["Lease", "ManagedCluster"]
    assert (run.files, run.findings) == ((on_disk := evaluate(tmp_path, NOW)).files, on_disk.findings)


def test_what_is_stated_as_derived_counts_as_what_the_last_run_decided() -> None:
    texts = input_texts(GIVEN)
    first = evaluate_snapshot(MemorySnapshot(texts), NOW)
    id_ = MANAGED_CLUSTER.id("a")
    derived = derived_texts([(id_, first.fleet.whole(id_) | {"spec": {}})])
    assert list(derived) == ["derived/managedclusters/a.yaml"]
    second = evaluate_snapshot(MemorySnapshot({**texts, **derived}), NOW + timedelta(seconds=5))
    now, before = (run.fleet.conditions(id_)["HubAcceptedManagedCluster"] for run in (second, first))
    assert now["lastTransitionTime"] == before["lastTransitionTime"], "no clock starts again"


def test_a_namespace_is_a_folder_and_none_is_left_out() -> None:
    assert list(input_texts({MANAGED_CLUSTER.id("a"): {}, PLACEMENT.id("web", "shop"): {}})) == [
        "given/ManagedCluster/a.yaml",
        "given/Placement/shop/web.yaml",
    ]
