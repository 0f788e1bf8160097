"""Pulses: pace, back-off, payloads, errors that ask for nothing, and horizons that are kept."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from muster.data.decision import NOTHING_PUBLISHED, Memory, Published, PulseKey
from muster.data.kinds import MANAGED_CLUSTER
from muster.git.open import open_snapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
FLEET = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: fleet}
spec: {adapters: {ManagedCluster: [dns]}}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c1, labels: {team: a}}
spec: {hubAcceptsClient: true}
"""
REPORT = """\
apiVersion: muster.dev/v1alpha1
kind: AdapterReport
metadata: {name: dns, namespace: c1}
spec:
  resource: {kind: ManagedCluster, name: c1}
  adapter: dns
  observed_generation: 1
  observed_time: "2026-01-01T11:59:00Z"
  conditions: [{type: Available, status: "True"}, {type: Applied, status: "True"}, {type: Health, status: "True"}]
"""
POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: PulsePolicy
metadata: {name: adapters-pulses}
spec:
  target: {kind: ManagedCluster}
"""


def evaluated(folder: Path, seconds: int, memory: Memory = NOTHING_PUBLISHED, policy: str = "") -> Run:
    (folder / "fleet.yaml").write_text(FLEET, encoding="utf-8")
    if policy:
        (folder / "policy.yaml").write_text(POLICY + policy, encoding="utf-8")
    run = evaluate_snapshot(open_snapshot(folder), NOON + timedelta(seconds=seconds), memory)
    for path, text in run.files.items():
        assert text is not None
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return run


def played(folder: Path, end: int, policy: str = "") -> list[tuple[int, str]]:
    """Evaluate at every horizon, remembering each pulse as published: when they were, and why."""
    memory: dict[PulseKey, Published] = {}
    told, now = list[tuple[int, str]](), 0
    while now <= end:
        run = evaluated(folder, now, memory, policy)
        for pulse in run.fleet.pulses:
            assert pulse.sent is not None
            memory[PulseKey(pulse.object, pulse.policy)] = pulse.sent
            told.append((now, pulse.reason))
        horizons = [o.horizon for o in run.fleet.pulses] + [
            d.horizon for by in run.fleet.decided.values() for path, d in by.items() if path[0] == "pulses"
        ]
        (horizon,) = [h for h in horizons if h is not None]
        assert horizon > run.now
        now = int((horizon - NOON).total_seconds())
    return told


def test_nobody_answers(tmp_path: Path) -> None:
    again = "ttl-not-ready"
    assert played(tmp_path, 22) == [(0, "new-resource"), (11, again), (16, again), (21, again)]


def test_back_off_makes_the_pauses_longer_up_to_a_bound(tmp_path: Path) -> None:
    policy = (
        "  interval: 10s\n  backoff: {factor: 2, max: 35s}\n  rules: [{name: always, when: 'true', reason: Because}]\n"
    )
    assert [when for when, _ in played(tmp_path, 140, policy)] == [0, 10, 30, 65, 100, 135]


def test_a_new_generation_does_not_wait(tmp_path: Path) -> None:
    key = PulseKey(MANAGED_CLUSTER.id("c1"), "adapters-pulses")
    evaluated(tmp_path, 0)
    assert evaluated(tmp_path, 2, {key: Published(1, NOON)}).pulses == []
    (tmp_path / "fleet.yaml").unlink()
    changed = FLEET.replace(
        "hubAcceptsClient: true", "hubAcceptsClient: true, managedClusterClientConfigs: [{url: https://x}]"
    )
    (tmp_path / "other.yaml").write_text(changed, encoding="utf-8")
    run = evaluate_snapshot(open_snapshot(tmp_path), NOON + timedelta(seconds=2), {key: Published(1, NOON)})
    assert [pulse.reason for pulse in run.fleet.pulses] == ["spec-changed"]


def test_the_payload_leaves_out_what_fails(tmp_path: Path) -> None:
    policy = """\
  rules: [{name: always, when: 'true', reason: Because}]
  event:
    type: example.com.look
    source: here
    topic: clusters
    data:
      id: self.metadata.name
      why: reason
      at: now
      labels: {team: "self.metadata.labels.team", none: "self.metadata.labels.none"}
      empty: {none: "self.metadata.labels.none"}
"""
    (event,) = evaluated(tmp_path, 0, policy=policy).pulses
    assert {name: event[name] for name in ("type", "source", "topic", "subject", "time", "data")} == {
        "type": "example.com.look",
        "source": "here",
        "topic": "clusters",
        "subject": "ManagedCluster/c1",
        "time": "2026-01-01T12:00:00Z",
        "data": {"id": "c1", "why": "Because", "at": "2026-01-01T12:00:00Z", "labels": {"team": "a"}},
    }


@pytest.mark.parametrize("when", ["self.metadata.labels['none'] == 'x'", "1 / (generation - 1) > 0"])
def test_an_error_asks_for_nothing_and_is_told(tmp_path: Path, when: str) -> None:
    policy = f"  rules: [{{name: fails, when: \"{when}\"}}, {{name: always, when: 'true'}}]\n"
    run = evaluated(tmp_path, 0, policy=policy)
    assert run.pulses == []
    assert [found.code for found in run.findings] == ["MUS401"]


def test_the_same_pulse_has_the_same_id_until_it_went_out(tmp_path: Path) -> None:
    one, other = evaluated(tmp_path, 0), evaluated(tmp_path, 3)
    assert one.pulses[0]["id"] == other.pulses[0]["id"]
    sent: Mapping[PulseKey, Published] = {PulseKey(MANAGED_CLUSTER.id("c1"), "adapters-pulses"): Published(1, NOON)}
    assert evaluated(tmp_path, 60, sent).pulses[0]["id"] != one.pulses[0]["id"]


def test_pulses_of_a_predecessor_are_not_remembered(tmp_path: Path) -> None:
    """A cluster that is made again is announced as new, at once, and by an event that nobody has seen before."""
    settings, cluster = FLEET.split("---\n")
    files = tmp_path / "files"
    files.mkdir()

    def looked(seconds: int, memory: Memory, *, cluster_there: bool) -> Run:
        (files / "fleet.yaml").write_text(settings, encoding="utf-8")
        (files / "report.yaml").write_text(REPORT, encoding="utf-8")
        (files / "c.yaml").write_text(cluster, encoding="utf-8")
        if not cluster_there:
            (files / "c.yaml").unlink()
        run = evaluate_snapshot(open_snapshot(files), NOON + timedelta(seconds=seconds), memory)
        for path, text in run.files.items():
            (files / path).parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                (files / path).unlink()
            else:
                (files / path).write_text(text, encoding="utf-8")
        return run

    memory: dict[PulseKey, Published] = {}
    looked(0, memory, cluster_there=False)  # the fleet is there, and so the cluster's age is known
    seen = []
    for seconds in (1, 4):
        looked(seconds - 1, memory, cluster_there=False)
        (pulse,) = looked(seconds, memory, cluster_there=True).fleet.pulses
        assert pulse.sent is not None
        assert pulse.reason == "new-resource"
        memory[PulseKey(pulse.object, pulse.policy)] = pulse.sent
        seen.append(pulse.event["id"])
        assert not looked(seconds + 1, memory, cluster_there=True).fleet.pulses
    assert seen[0] != seen[1]


POOL = """\
apiVersion: muster.dev/v1alpha1
kind: NodePool
metadata: {name: workers, namespace: c1}
spec: {replicas: 1}
"""
ACCEPTED, DENIED = "{hubAcceptsClient: true}", "{hubAcceptsClient: false}"
FINALIZED = REPORT.replace("[{type: Available", '[{type: Finalized, status: "True"}, {type: Available')
GOING = 'deletionTimestamp: "2026-01-01T12:00:00Z", name: c1'


def asked(folder: Path, seconds: int, cluster: str = ACCEPTED, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Which objects have a pulse, and why, where every kind requires an adapter and nothing is remembered."""
    text = FLEET.replace("{ManagedCluster: [dns]}", "{ManagedCluster: [dns], NodePool: [dns]}")
    files = {"fleet.yaml": text.replace(ACCEPTED, cluster), "pool.yaml": POOL, **(more or {})}
    for path, body in files.items():
        (folder / path).write_text(body, encoding="utf-8")
    run = evaluate_snapshot(open_snapshot(folder), NOON + timedelta(seconds=seconds))
    assert not run.findings
    for path, derived in run.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(derived or "", encoding="utf-8")
    return {f"{pulse.object.kind}": pulse.reason for pulse in run.fleet.pulses}


def test_who_is_out_is_not_asked_for_and_neither_are_its_node_pools(tmp_path: Path) -> None:
    assert asked(tmp_path, 0, DENIED) == {}, "never accepted"
    assert asked(tmp_path, 60) == {"ManagedCluster": "new-resource", "NodePool": "new-resource"}
    assert asked(tmp_path, 3600, DENIED) == {}
    assert asked(tmp_path, 7200) == {"ManagedCluster": "new-resource", "NodePool": "new-resource"}


def test_a_node_pool_of_a_cluster_that_is_not_a_managed_one_is_asked_for(tmp_path: Path) -> None:
    settings = FLEET.split("---")[0].replace("ManagedCluster: [dns]", "Cluster: [dns], NodePool: [dns]")
    karmada = "apiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\nmetadata: {name: c1}\nspec: {syncMode: Push}\n"
    for path, text in (("fleet.yaml", settings), ("c.yaml", karmada), ("pool.yaml", POOL)):
        (tmp_path / path).write_text(text, encoding="utf-8")
    run = evaluate_snapshot(open_snapshot(tmp_path), NOON)
    assert sorted(pulse.object.kind for pulse in run.fleet.pulses) == ["Cluster", "NodePool"]


def test_whoever_has_let_go_is_not_asked_again(tmp_path: Path) -> None:
    text = FLEET.replace("name: c1", GOING)
    (tmp_path / "fleet.yaml").write_text(FLEET, encoding="utf-8")

    def reasons(seconds: int) -> list[str]:
        run = evaluate_snapshot(open_snapshot(tmp_path), NOON + timedelta(seconds=seconds))
        for path, derived in run.files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(derived or "", encoding="utf-8")
        return [pulse.reason for pulse in run.fleet.pulses]

    assert reasons(0) == ["new-resource"]
    (tmp_path / "fleet.yaml").write_text(text, encoding="utf-8")
    assert reasons(10) == ["spec-changed"], "generation 2, though nothing of generation 1 was ever remembered"
    said = FINALIZED.replace("generation: 1", "generation: 2").replace("11:59:00", "12:00:20")
    (tmp_path / "report.yaml").write_text(said, encoding="utf-8")
    assert reasons(30) == []
    assert reasons(86400) == [], "it may be as old as it likes"


def test_only_the_first_generation_is_new(tmp_path: Path) -> None:
    """An object that moves in at generation 7 is no new resource, though no adapter has spoken of it."""
    (tmp_path / "fleet.yaml").write_text(FLEET.replace("name: c1", "name: c1, generation: 7"), encoding="utf-8")
    run = evaluate_snapshot(open_snapshot(tmp_path), NOON)
    assert [pulse.reason for pulse in run.fleet.pulses] == ["spec-changed"]
