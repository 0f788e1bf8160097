"""Reports through the evaluator: in whatever files and order they come, the same ones count, and a second run changes
nothing."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from muster.data.times import format_time
from muster.data.tree import Tree
from muster.git.open import open_snapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.support.examples import often

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
API = "muster.dev/v1alpha1"
FLEET = {
    "apiVersion": API,
    "kind": "Fleet",
    "metadata": {"name": "f"},
    "spec": {"adapters": {"ManagedCluster": ["dns"]}},
}
CLUSTER = {
    "apiVersion": "cluster.open-cluster-management.io/v1",
    "kind": "ManagedCluster",
    "metadata": {"name": "c1", "generation": 3},
    "spec": {"hubAcceptsClient": True},
}


def report(name: str, generation: int, seconds: int, available: str) -> Tree:
    conditions = [
        {"type": "Available", "status": available},
        *({"type": t, "status": "True"} for t in ("Applied", "Health")),
    ]
    return {
        "apiVersion": API,
        "kind": "AdapterReport",
        "metadata": {"name": name, "namespace": "c1"},
        "spec": {
            "resource": {"kind": "ManagedCluster", "name": "c1"},
            "adapter": "dns",
            "observed_generation": generation,
            "observed_time": format_time(NOON + timedelta(seconds=seconds)),
            "conditions": conditions,
        },
    }


def run(folder: Path, files: Mapping[str, Tree], now: datetime = NOON) -> Run:
    """Write files, evaluate, and keep what follows."""
    for path, body in files.items():
        (folder / path).write_text(yaml.safe_dump(body), encoding="utf-8")
    done = evaluate_snapshot(open_snapshot(folder), now)
    for path, text in done.files.items():
        if text is None:
            (folder / path).unlink()
        else:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    return done


def counting(done: Run) -> Tree:
    """Generation, time and statuses of what counts of the adapter, or None."""
    found = [
        body["status"]["muster"]["accepted"]
        for body in done.objects
        if body["kind"] == "AdapterReport" and "accepted" in body.get("status", {}).get("muster", {})
    ]
    assert len(found) <= 1
    return [
        (a["observed_generation"], a["observed_time"], [(c["type"], c["status"]) for c in a["conditions"]])
        for a in found
    ]


words = st.tuples(st.integers(1, 4), st.integers(-1900, 310), st.sampled_from(("True", "False", "Unknown")))


@settings(max_examples=often(10))
@given(st.lists(words, min_size=1, max_size=5, unique_by=lambda word: word[:2]), st.randoms(use_true_random=False))
def test_order_files_and_repetition_do_not_matter(said: list[tuple[int, int, str]], chance: object) -> None:
    shuffled = list(said)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    with TemporaryDirectory() as one, TemporaryDirectory() as other:
        # One by one, in one order, each in the adapter's own file ...
        run(Path(one), {"fleet.yaml": FLEET, "cluster.yaml": CLUSTER})
        for word in (*said, *shuffled):
            last = run(Path(one), {"report.yaml": report("dns", *word)})
        # ... or all at once, in files of any names.
        many = {f"{n}.yaml": report(f"dns-{n}", *word) for n, word in enumerate(shuffled)}
        together = run(Path(other), {"fleet.yaml": FLEET, "cluster.yaml": CLUSTER, **many})
        assert counting(last) == counting(together)
        assert run(Path(one), {}).files == run(Path(other), {}).files == {}


def test_what_counts_stays_when_the_file_goes_and_goes_with_the_object(tmp_path: Path) -> None:
    run(tmp_path, {"fleet.yaml": FLEET, "cluster.yaml": CLUSTER, "report.yaml": report("dns", 3, 0, "True")})
    (tmp_path / "report.yaml").unlink()
    assert counting(run(tmp_path, {})) == [
        (3, "2026-01-01T12:00:00Z", [("Available", "True"), ("Applied", "True"), ("Health", "True")])
    ]
    (tmp_path / "cluster.yaml").unlink()
    assert counting(run(tmp_path, {})) == []
    assert run(tmp_path, {}).files == {}


def test_a_report_that_cannot_be_read_keeps_what_counts(tmp_path: Path) -> None:
    first = run(tmp_path, {"fleet.yaml": FLEET, "cluster.yaml": CLUSTER, "report.yaml": report("dns", 3, 0, "True")})
    broken = run(tmp_path, {"report.yaml": report("dns", 3, 5, "maybe")})
    assert [found.code for found in broken.findings] == ["MUS203"]
    assert counting(broken) == counting(first)


def policy(name: str, type_: str = "Ready") -> Tree:
    return {
        "apiVersion": API,
        "kind": "ConditionPolicy",
        "metadata": {"name": name},
        "spec": {
            "target": {"kind": "ManagedCluster"},
            "type": type_,
            "rules": [{"name": "r", "status": "True", "reason": "Always", "message": "m"}],
        },
    }


def ready(done: Run) -> str:
    """The reason of the cluster's `Ready`."""
    (cluster,) = (body for body in done.objects if body["kind"] == "ManagedCluster")
    (reason,) = (c["reason"] for c in cluster["status"]["conditions"] if c["type"] == "Ready")
    return str(reason)


def test_ready_cannot_be_redefined_by_accident(tmp_path: Path) -> None:
    done = run(tmp_path, {"fleet.yaml": FLEET, "cluster.yaml": CLUSTER, "policy.yaml": policy("aaa")})
    assert [found.code for found in done.findings] == ["MUS313"]
    assert ready(done) == "ReconciledMissingAdapters"


def test_ready_can_be_replaced_by_name_and_the_fleet_is_told(tmp_path: Path) -> None:
    done = run(tmp_path, {"fleet.yaml": FLEET, "cluster.yaml": CLUSTER, "policy.yaml": policy("adapters-ready")})
    assert [(found.code, found.severity.value) for found in done.findings] == [("MUS314", "note")]
    assert ready(done) == "Always"


def test_node_pools_go_with_their_cluster(tmp_path: Path) -> None:
    fleet = {**FLEET, "spec": {"adapters": {"ManagedCluster": ["dns"], "NodePool": ["dns"]}}}
    pool = {"apiVersion": API, "kind": "NodePool", "metadata": {"name": "p", "namespace": "c1"}, "spec": {}}
    run(tmp_path, {"fleet.yaml": fleet, "cluster.yaml": CLUSTER, "pool.yaml": pool})
    marked = {**CLUSTER, "metadata": {"name": "c1", "deletionTimestamp": "2026-01-01T11:59:00Z"}}
    done = run(tmp_path, {"cluster.yaml": marked})
    (found,) = (body for body in done.objects if body["kind"] == "NodePool")
    assert (found["metadata"]["deletionTimestamp"], found["metadata"]["generation"]) == ("2026-01-01T12:00:00Z", 2)
    assert {c["type"]: c["status"] for c in found["status"]["conditions"]}["Finalized"] == "False"
    assert sorted(pulse["subject"] for pulse in done.pulses) == ["ManagedCluster/c1", "NodePool/c1/p"]


def test_what_is_remembered_of_a_report_without_its_time_can_be_read_again(tmp_path: Path) -> None:
    """The time at which it was first accepted was lost from the derived file: the report's own counts."""
    run(tmp_path, {"fleet.yaml": FLEET, "cluster.yaml": CLUSTER, "report.yaml": report("dns", 3, 0, "True")})
    (path,) = (tmp_path / "derived" / "adapterreports").rglob("*.yaml")
    whole = path.read_text(encoding="utf-8")
    path.write_text("".join(line for line in whole.splitlines(keepends=True) if "createdTime" not in line))
    run(tmp_path, {})
    again = run(tmp_path, {})
    assert path.read_text(encoding="utf-8") == whole
    assert (again.files, again.findings) == ({}, [])


def verdict(done: Run, name: str) -> str:
    """Why a report counts, or does not."""
    reports = (body for body in done.objects if body["kind"] == "AdapterReport" and body["metadata"]["name"] == name)
    conditions = next(reports)["status"]["conditions"]
    return str(next(c["reason"] for c in conditions if c["type"] == "Accepted"))


@pytest.mark.parametrize(
    ("generation", "seconds", "available", "reason"),
    [
        (3, -60, "True", "Accepted"),
        (3, -60, "Unknown", "AvailableUnknown"),
        (9, -60, "True", "FutureGeneration"),
        (1, -60, "True", "StaleGeneration"),
        (3, -120, "False", "StaleTime"),
        (3, -30, "False", "SameTime"),
        (3, -1801, "True", "ObservedTimeTooOld"),
    ],
)
def test_a_verdict_is_given_once_however_old_the_report_grows(
    tmp_path: Path, generation: int, seconds: int, available: str, reason: str
) -> None:
    files = {"fleet.yaml": FLEET, "c1.yaml": CLUSTER}
    if reason in ("StaleGeneration", "StaleTime", "SameTime"):
        run(tmp_path, {**files, "first.yaml": report("first", 3, -30, "True")})
    assert verdict(run(tmp_path, {**files, "x.yaml": report("x", generation, seconds, available)}), "x") == reason
    for minutes in (29, 31, 90):
        later = run(tmp_path, {}, NOON + timedelta(minutes=minutes))
        assert verdict(later, "x") == reason
        assert not any("adapterreports" in path for path in later.files), minutes


def test_another_report_that_comes_too_late_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    run(tmp_path, {"fleet.yaml": FLEET, "c1.yaml": CLUSTER, "x.yaml": report("x", 3, -60, "Unknown")})
    late = run(tmp_path, {"x.yaml": report("x", 3, -50, "True")}, NOON + timedelta(minutes=40))
    assert verdict(late, "x") == "ObservedTimeTooOld"
    assert counting(late) == []


def test_what_counted_is_not_too_old_when_another_takes_its_place(tmp_path: Path) -> None:
    run(tmp_path, {"fleet.yaml": FLEET, "c1.yaml": CLUSTER, "x.yaml": report("x", 3, -60, "True")})
    late = run(tmp_path, {"y.yaml": report("y", 3, 2400, "True")}, NOON + timedelta(minutes=40))
    assert (verdict(late, "x"), verdict(late, "y")) == ("StaleTime", "Accepted")
    assert not run(tmp_path, {}, NOON + timedelta(minutes=60)).files


def test_what_came_in_time_counts_when_its_generation_is_reached(tmp_path: Path) -> None:
    young = {**CLUSTER, "metadata": {"name": "c1"}}
    early = run(tmp_path, {"fleet.yaml": FLEET, "c1.yaml": young, "x.yaml": report("x", 2, 0, "True")})
    assert verdict(early, "x") == "FutureGeneration"
    configs = [{"url": "https://c1.example.com"}]
    edited = {**young, "spec": {"hubAcceptsClient": True, "managedClusterClientConfigs": configs}}
    late = run(tmp_path, {"c1.yaml": edited}, NOON + timedelta(minutes=40))
    assert verdict(late, "x") == "Accepted"


def test_a_verdict_about_a_cluster_that_could_never_be_read_says_when_it_changes(tmp_path: Path) -> None:
    run(tmp_path, {"fleet.yaml": FLEET, "c0.yaml": {**CLUSTER, "metadata": {"name": "c0"}}})
    broken = {**CLUSTER, "spec": {"hubAcceptsClient": 7}}
    later = NOON + timedelta(seconds=1)
    first = run(tmp_path, {"c1.yaml": broken, "r.yaml": report("r", 9, 1, "True")}, later)
    assert (verdict(first, "r"), first.horizon) == ("FutureGeneration", later + timedelta(seconds=1))
    again = run(tmp_path, {}, later + timedelta(seconds=1))
    assert verdict(again, "r") == "BeforeObject"
    assert run(tmp_path, {}, later + timedelta(seconds=5)).files == {}
