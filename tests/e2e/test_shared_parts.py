"""A Projection or a PulsePolicy whose value holds its parts many times: one finding with its place, memory of the size
of the policy, and everything else is decided."""

import tracemalloc

import pytest
import yaml

from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot
from muster.rules.pulses.stage import MOST_DATA
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.cel.runtime.test_size import chain
from tests.support.living import cluster

NOW = parse_time("2026-01-01T12:00:00Z")
OTHER = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "Projection",
    "metadata": {"name": "other"},
    "spec": {"forEach": "all", "path": "'other.json'", "object": "{'clusters': size(clusters)}"},
}
#: The name of the object that a policy decides about.
NAMES = {"Projection": "cluster.metadata.name", "PulsePolicy": "self.metadata.name"}


def expression(kind: str, step: str, depth: int) -> str:
    """A chain of `step`s of which each holds the one before it twice."""
    return f"cel.bind(a, {NAMES[kind]}, cel.bind(items, [a, a], {chain(step, depth)}))"


def policy(kind: str, text: str) -> Tree:
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": kind, "metadata": {"name": "large"}}
    if kind == "PulsePolicy":
        event = {"data": {"sound": "self.metadata.name", "large": text}}
        rules = [{"name": "always", "when": "true", "reason": "Because"}]
        return {**body, "spec": {"target": {"kind": "ManagedCluster"}, "rules": rules, "event": event}}
    path = "cluster.metadata.name + '.json'"
    return {**body, "spec": {"forEach": "clusters", "path": path, "object": f"{{'it': {text}}}"}}


def run(kind: str, text: str) -> tuple[Run, int]:
    """A run over two clusters, and the most memory that it took."""
    files = {
        "a.yaml": cluster("a"),
        "b.yaml": cluster("b"),
        "other.yaml": yaml.safe_dump(OTHER),
        "large.yaml": yaml.safe_dump(policy(kind, text), width=10**9),
    }
    tracemalloc.start()
    try:
        return evaluate_snapshot(MemorySnapshot(files), NOW), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", sorted(NAMES))
@pytest.mark.parametrize("step", ["list", "map", "loop over data", "one of two", "texts joined", "join"])
def test_one_finding_and_bounded_memory(kind: str, step: str) -> None:
    sound, least = run(kind, expression(kind, step, 3))
    assert sound.findings == []
    for depth in (20, 22, 40):
        large, peak = run(kind, expression(kind, step, depth))
        (finding,) = large.findings
        assert (finding.file, finding.object and finding.object.name) == ("large.yaml", "large")
        assert finding.line > 1
        assert finding.column > 1
        assert finding.hint
        assert len(finding.message) < 500
        assert peak < 20 * least + (100 << 20)
        assert "derived/projections/other/other.json" in large.files
        assert {"derived/managedclusters/a.yaml", "derived/managedclusters/b.yaml"} <= large.files.keys()


def test_a_pulse_is_sent_without_the_part_that_is_too_large() -> None:
    large, _ = run("PulsePolicy", expression("PulsePolicy", "loop over data", 30))
    assert [event["data"] for event in large.pulses] == [{"sound": "a"}, {"sound": "b"}]
    (finding,) = large.findings
    assert "2 objects" in finding.message


def test_parts_of_an_event_have_one_limit_together() -> None:
    body = policy("PulsePolicy", "'small'")
    large = expression("PulsePolicy", "texts joined", 16)
    body["spec"]["event"]["data"] |= dict.fromkeys(("p0", "p1", "p2", "p3", "p4"), large)
    files = {"a.yaml": cluster("a"), "large.yaml": yaml.safe_dump(body, width=10**9)}
    found = evaluate_snapshot(MemorySnapshot(files), NOW)
    (event,) = found.pulses
    assert sorted(event["data"]) == ["large", "p0", "p1", "p2", "sound"]
    assert [finding.message.partition(": ")[2] for finding in found.findings] == [
        f"all of the event's data is limited to {MOST_DATA:,} values and characters"
    ] * 2
