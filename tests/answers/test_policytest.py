"""PolicyTests: the built-in ones hold, and none can pass by accident."""

from pathlib import Path

import pytest

from muster.answers.memory import MemorySnapshot
from muster.answers.policytest import CaseResult, run_tests
from muster.engine.checking import check_snapshot
from muster.gitio.open import open_snapshot

BUILTIN = run_tests(check_snapshot(MemorySnapshot({})), builtin=True)

POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: mine}
spec:
  target: {kind: ManagedCluster}
  type: example.com/Mine
  rules: [{name: r, when: self.metadata.name != 'odd', status: "True", reason: Fine, message: m}]
---
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: mine}
spec:
  policies: [ConditionPolicy/mine]
  given:
    objects:
    - apiVersion: cluster.open-cluster-management.io/v1
      kind: ManagedCluster
      metadata: {name: a}
      spec: {hubAcceptsClient: true}
  cases:
  - name: it says so
    steps:
    - at: "2026-01-01T00:00:00Z"
      expect:
      - object: ManagedCluster/a
        conditions: [{type: example.com/Mine, status: "True", reason: Fine}]
        assertions: ["object.metadata.generation == 1"]
"""


@pytest.mark.parametrize("outcome", BUILTIN, ids=lambda outcome: f"{outcome.test}: {outcome.case}")
def test_built_in(outcome: CaseResult) -> None:
    assert outcome.failures == ()


def test_there_are_built_in_tests() -> None:
    assert len(BUILTIN) >= 3


def outcomes(path: Path, text: str) -> list[str]:
    (path / "policy.yaml").write_text(text)
    return [failure for outcome in run_tests(check_snapshot(open_snapshot(path))) for failure in outcome.failures]


def test_a_test_that_holds(tmp_path: Path) -> None:
    assert outcomes(tmp_path, POLICY) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("policies: [ConditionPolicy/mine]", "policies: [ConditionPolicy/mien]", "did you mean 'ConditionPolicy/mine'"),
        ("policies: [ConditionPolicy/mine]", "policies: [ConditionPolicy/mine, ConditionPolicy/cluster-ready]",
         "ConditionPolicy/cluster-ready decides nothing in any case"),
        ('status: "True", reason: Fine}]\n        as', 'status: "False", reason: Fine}]\n        as',
         "condition example.com/Mine: status is 'True', expected 'False'"),
        ("object.metadata.generation == 1", "object.metadata.generation == 2", "does not hold"),
        ("object.metadata.generation == 1", "object.metadata.generatio == 1", "generatio"),
        ("object: ManagedCluster/a", "object: ManagedCluster/b", "ManagedCluster/b: is absent"),
        ("spec: {hubAcceptsClient: true}", "spec: {hubAcceptClient: true}", "unexpected MUS201"),
    ],
)  # fmt: skip
def test_no_test_passes_by_accident(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in POLICY
    failures = outcomes(tmp_path, POLICY.replace(old, new))
    assert any(said in failure for failure in failures), failures
