"""Policies that fail: of the fleet's own each expression is told, of ours that muster is wrong, once."""

import re
from collections.abc import Mapping

import pytest

from muster.data.times import parse_time
from muster.features.test.memory import MemorySnapshot
from muster.fleet import assemble
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.support.holes import with_hole

NOON = parse_time("2026-01-01T12:00:00Z")
CLUSTERS = "".join(
    "---\napiVersion: cluster.karmada.io/v1alpha1\nkind: Cluster\n"
    f"metadata: {{name: {name}}}\nspec: {{syncMode: Pull}}\nstatus: {{probe: {{readyz: 200}}}}\n"
    for name in ("a", "b")
)


def run(files: Mapping[str, str]) -> Run:
    return evaluate_snapshot(MemorySnapshot(dict(files)), NOON)


def test_a_failure_of_built_in_policies_is_said_once_as_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    # A rule reads what no probe has to have.
    holes = with_hole("cluster-ready", "has(variables.probe.clientError)", "variables.probe.clientError != ''")
    monkeypatch.setattr(assemble, "builtin_objects", lambda: holes)
    [found] = run({"clusters.yaml": CLUSTERS}).findings
    assert found.code == "MUS402"
    assert re.fullmatch(
        r"a fault in muster, not in your fleet: a built-in policy fails, "
        r"ConditionPolicy/cluster-ready at builtin:cluster-ready\.yaml:\d+:\d+ for Cluster/a \(muster \S+\)",
        found.message,
    )
    assert "Please report" in found.hint


def test_a_policy_of_the_fleet_in_the_place_of_a_built_in_one_is_its_own() -> None:
    policy = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: cluster-ready}
spec:
  target: {kind: Cluster}
  type: Ready
  rules: [{name: x, when: "self.metadata.labels['x'] == 'y'", status: "True", reason: X, message: ""}]
"""
    found = run({"clusters.yaml": CLUSTERS, "policy.yaml": policy}).findings
    assert [(one.code, one.file) for one in found if one.code.startswith("MUS4")] == [("MUS401", "policy.yaml")]
