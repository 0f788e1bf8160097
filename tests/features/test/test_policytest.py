"""PolicyTests: the built-in ones hold, and none can pass by accident."""

# ruff: noqa: E501 - tables

from functools import cache
from pathlib import Path

import pytest

from muster.data.kinds import POLICY_TEST
from muster.data.tree import mappings_at
from muster.features.test.coverage import Coverage
from muster.features.test.memory import MemorySnapshot
from muster.features.test.policytest import TESTED, affected_tests, run_tests
from muster.fleet.files import builtin_objects, builtin_tests
from muster.git.open import open_snapshot
from muster.run.checking import check_snapshot

TESTS = [*builtin_tests().values()]
CASES = [(str(test.id), str(case["name"])) for test in TESTS for case in mappings_at(test.spec, "cases")]

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


@cache
def built_in() -> tuple[dict[tuple[str, str], tuple[str, ...]], Coverage]:
    """What the built-in tests give, by test and case, and what they cover: run when first asked for, and once."""
    covered = Coverage()
    found = run_tests(check_snapshot(MemorySnapshot({})), builtin=True, coverage=covered)
    return {(result.test, result.case): result.failures for result in found}, covered


@pytest.mark.parametrize("case", CASES, ids=": ".join)
def test_built_in(case: tuple[str, str]) -> None:
    assert built_in()[0][case] == ()


def test_nothing_else_is_wrong_with_the_built_in_tests() -> None:
    assert sorted(built_in()[0]) == sorted(CASES)


def test_every_rule_and_branch_of_every_built_in_policy_is_covered() -> None:
    """What is not can be told by `muster test --builtin --coverage`."""
    policies = built_in()[1].policies
    assert {one.policy for one in policies} == {id_ for id_, obj in builtin_objects().items() if obj.kind in TESTED}
    assert [f"{branch.place}: {one.policy}: {branch}" for one in policies for branch in one.missing] == []


def outcomes(path: Path, text: str) -> list[str]:
    (path / "policy.yaml").write_text(text)
    return [failure for outcome in run_tests(check_snapshot(open_snapshot(path))) for failure in outcome.failures]


def test_a_test_that_holds(tmp_path: Path) -> None:
    assert outcomes(tmp_path, POLICY) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("policies: [ConditionPolicy/mine]", "policies: [ConditionPolicy/mien]", "did you mean 'ConditionPolicy/mine'"),
        (
            "policies: [ConditionPolicy/mine]",
            "policies: [ConditionPolicy/mine, ConditionPolicy/cluster-ready]",
            "ConditionPolicy/cluster-ready decides nothing in any case",
        ),
        (
            'status: "True", reason: Fine}]\n        as',
            'status: "False", reason: Fine}]\n        as',
            'condition example.com/Mine: status is "True", expected "False"',
        ),
        ("object.metadata.generation == 1", "object.metadata.generation == 2", "does not hold"),
        ("object.metadata.generation == 1", "object.metadata.generatio == 1", "generatio"),
        (
            "object: ManagedCluster/a",
            "object: ManagedCluster/b",
            "ManagedCluster/b: is absent: it is neither given nor derived; add it to",
        ),
        (
            "spec: {hubAcceptsClient: true}",
            "status: {conditions: []}",
            "ManagedCluster/a: is absent: it is given without a spec",
        ),
        ("spec: {hubAcceptsClient: true}", "spec: {hubAcceptClient: true}", "unexpected MUS201"),
    ],
)
def test_no_test_passes_by_accident(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in POLICY
    failures = outcomes(tmp_path, POLICY.replace(old, new))
    assert any(said in failure for failure in failures), failures


ADMISSION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: stays}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [cluster.open-cluster-management.io], apiVersions: ["*"], operations: ["*"], resources: [managedclusters]}
  validations:
  - {expression: "request.operation != 'DELETE'", message: it stays}
  - {expression: "oldObject == null || object == null || object.spec == oldObject.spec", message: it is as it was}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: stays}
spec: {policyName: stays, validationActions: [Deny]}
---
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: stays}
spec:
  policies: [ValidatingAdmissionPolicy/stays]
  given:
    objects:
    - apiVersion: cluster.open-cluster-management.io/v1
      kind: ManagedCluster
      metadata: {name: a}
      spec: {hubAcceptsClient: true}
  cases:
  - name: each step is a commit, compared with the one before
    steps:
    - at: "2026-01-01T00:00:00Z"
      expect: [{object: ManagedCluster/a, violations: []}]
    - at: "2026-01-01T00:00:01Z"
      change:
        objects:
        - apiVersion: cluster.open-cluster-management.io/v1
          kind: ManagedCluster
          metadata: {name: a}
          spec: {leaseDurationSeconds: 90}
      expect: [{object: ManagedCluster/a, violations: [{policy: stays, message: it is as it was}]}]
    - at: "2026-01-01T00:00:02Z"
      change: {remove: [ManagedCluster/a]}
      expect: [{object: ManagedCluster/a, violations: [{message: "ManagedCluster/a cannot be removed: it stays"}]}]
"""


def test_admission_policies_see_what_a_step_changes(tmp_path: Path) -> None:
    assert outcomes(tmp_path, ADMISSION) == []
    assert (
        "violations are []"
        in outcomes(tmp_path, ADMISSION.replace("violations: []", "violations: [{policy: stays}]"))[0]
    )
    told = "violations: [{policy: stays, message: it is as it was}]"
    (unexpected,) = outcomes(tmp_path, ADMISSION.replace(told, "assertions: ['true']"))
    assert "unexpected MUS320: it is as it was" in unexpected


REFS = """\
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: refs}
spec:
  policies: [ConditionPolicy/managed-cluster-available]
  given:
    objects:
    - apiVersion: cluster.open-cluster-management.io/v1
      kind: ManagedCluster
      metadata: {name: a}
      spec: {hubAcceptsClient: true}
    agents:
      a:
      - apiVersion: coordination.k8s.io/v1
        kind: Lease
        metadata: {name: managed-cluster-lease, namespace: a}
        spec: {renewTime: "2026-01-01T00:00:00Z"}
  cases:
  - name: an agent speaks through a ref of its own, again, and not for others
    steps:
    - at: "2026-01-01T00:05:00Z"
      expect:
      - {object: ManagedCluster/a, conditions: [{type: ManagedClusterConditionAvailable, status: Unknown, reason: ManagedClusterLeaseUpdateStopped}]}
    - at: "2026-01-01T00:05:01Z"
      change:
        agents:
          a:
          - apiVersion: coordination.k8s.io/v1
            kind: Lease
            metadata: {name: managed-cluster-lease, namespace: a}
            spec: {renewTime: "2026-01-01T00:05:01Z"}
          b:
          - apiVersion: cluster.open-cluster-management.io/v1
            kind: ManagedCluster
            metadata: {name: a}
            status: {conditions: [{type: ManagedClusterConditionAvailable, status: "True"}]}
      findings: [MUS106]
      expect:
      - {object: ManagedCluster/a, conditions: [{type: ManagedClusterConditionAvailable, status: Unknown, reason: ManagedClusterStatusNotReported}]}
    - at: "2026-01-01T00:05:02Z"
      change: {remove: [Lease/a/managed-cluster-lease]}
      findings: [MUS511]
      expect:
      - {object: ManagedCluster/a, conditions: [{type: ManagedClusterConditionAvailable, status: Unknown}]}
"""


def test_agents_speak_through_refs_of_their_own(tmp_path: Path) -> None:
    assert outcomes(tmp_path, REFS) == []


ROLLOUT = """\
apiVersion: muster.dev/v1alpha1
kind: Rollout
metadata: {name: web, namespace: apps}
spec:
  placementRef: {name: web}
  revision: v2
  gate: [{name: labelled, expression: "'ok' in self.metadata.labels", onFalse: Fail}]
  stages:
  - name: canary
    gate: [{name: fine, expression: "self.metadata.labels['ok'] == 'yes'"}]
  - name: rest
"""
GATES = """\
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: web}
spec:
  policies: [Rollout/apps/web]
  given:
    objects:
    - apiVersion: cluster.open-cluster-management.io/v1
      kind: ManagedCluster
      metadata: {name: a, labels: {ok: "yes"}}
      spec: {hubAcceptsClient: true}
      status: {conditions: [{type: ManagedClusterConditionAvailable, status: "True", reason: Up, message: m}]}
    - apiVersion: coordination.k8s.io/v1
      kind: Lease
      metadata: {name: managed-cluster-lease, namespace: a}
      spec: {renewTime: "2026-01-01T00:00:00Z"}
    derived:
    - apiVersion: cluster.open-cluster-management.io/v1
      kind: ManagedCluster
      metadata: {name: a}
      status: {muster: {rollouts: {apps/web: {revision: v2, stage: canary, state: Progressing, since: "2026-01-01T00:00:00Z"}}}}
  cases:
  - name: it passes
    steps:
    - at: "2026-01-01T00:00:01Z"
      expect:
      - object: ManagedCluster/a
        rollouts: [{rollout: apps/web, revision: v2, stage: canary, state: Succeeded, since: "2026-01-01T00:00:01Z", gate: ""}]
    - at: "2026-01-01T00:00:02Z"
      change: {objects: [{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: a, labels: {ok: "no"}}}]}
      expect:
      - object: ManagedCluster/a
        rollouts: [{rollout: apps/web, state: Failed, gate: fine}]
"""


def test_gates_of_a_rollout() -> None:
    covered = Coverage()
    tested = check_snapshot(MemorySnapshot({"rollout.yaml": ROLLOUT, "test.yaml": GATES, "policy.yaml": POLICY}))
    found = run_tests(tested, coverage=covered)
    assert [(one.test, one.failures) for one in found] == [("PolicyTest/mine", ()), ("PolicyTest/web", ())]
    gates = next(one for one in covered.policies if str(one.policy) == "Rollout/apps/web")
    assert (gates.total, [str(branch) for branch in gates.missing]) == (4, ["gate labelled is never false"])
    # Only one of the two tests names the Rollout, and so sees it; both depend on its policies.
    assert {test.id for test in tested.of(POLICY_TEST)} <= affected_tests(tested, tested, ["rollout.yaml"])
    own = check_snapshot(MemorySnapshot({"rollout.yaml": ROLLOUT, "policy.yaml": POLICY}))
    assert affected_tests(own, own, ["rollout.yaml"]) == frozenset()


@pytest.mark.parametrize(
    ("right", "wrong", "failure"),
    [
        (
            "state: Succeeded",
            "state: Failed",
            'at 2026-01-01T00:00:01Z: ManagedCluster/a: state in Rollout apps/web: state is "Succeeded", expected "Failed"',
        ),
        ('gate: ""', "gate: fine", 'state in Rollout apps/web: gate is "", expected "fine"'),
        ("rollout: apps/web, state: Failed", "rollout: apps/wbe, state: Failed", "has no state in Rollout apps/wbe"),
        (
            "policies: [Rollout/apps/web]",
            "policies: [Rollout/apps/wbe]",
            "there is no policy Rollout/apps/wbe; did you mean 'Rollout/apps/web'?",
        ),
    ],
)
def test_a_wrong_expectation_of_a_gate_fails(right: str, wrong: str, failure: str) -> None:
    assert right in GATES
    files = {"rollout.yaml": ROLLOUT, "test.yaml": GATES.replace(right, wrong)}
    failures = [one for result in run_tests(check_snapshot(MemorySnapshot(files))) for one in result.failures]
    assert any(failure in one for one in failures), failures


def test_a_rollout_without_gates_has_no_branches() -> None:
    plain = "".join(line for line in ROLLOUT.splitlines(keepends=True) if "gate:" not in line)
    covered = Coverage()
    run_tests(check_snapshot(MemorySnapshot({"rollout.yaml": plain})), coverage=covered)
    assert "Rollout/apps/web" not in {str(one.policy) for one in covered.policies}


def test_scores() -> None:
    policy = """\
apiVersion: muster.dev/v1alpha1
kind: ScorePolicy
metadata: {name: s}
spec: {target: {kind: ManagedCluster}, expression: "accepted ? 70 : 30"}
---
"""
    test = POLICY.partition("---")[2].replace("ConditionPolicy/mine", "ScorePolicy/s")
    head = test[: test.index("      expect:")]
    for value, failures in (
        (70, ()),
        (30, ("at 2026-01-01T00:00:00Z: AddOnPlacementScore/a/s: score s: value is 70, expected 30",)),
    ):
        text = f"{head}      expect: [{{object: AddOnPlacementScore/a/s, scores: [{{name: s, value: {value}}}]}}]\n"
        files = {"policy.yaml": policy, "test.yaml": text}
        assert [one.failures for one in run_tests(check_snapshot(MemorySnapshot(files)))] == [failures]
