"""PolicyTests of notification policies: what is told, to whom and when, and which branches no case took."""

import pytest

from muster.features.test.coverage import Coverage
from muster.features.test.memory import MemorySnapshot
from muster.features.test.policytest import run_tests
from muster.run.checking import check_snapshot

TEST = """\
apiVersion: muster.dev/v1alpha1
kind: NotificationPolicy
metadata: {name: down}
spec:
  target: {kind: ManagedCluster}
  when: change.name == 'ManagedClusterConditionAvailable' && change.before != ''
  severity: critical
  group: {by: self.metadata.labels.region, window: 2m}
  sinks: [pager]
---
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: down}
spec:
  policies: [NotificationPolicy/down]
  given:
    objects:
    - apiVersion: cluster.open-cluster-management.io/v1
      kind: ManagedCluster
      metadata: {name: a, labels: {region: eu}}
      spec: {hubAcceptsClient: true}
      status: {conditions: [{type: ManagedClusterConditionAvailable, status: "True", reason: Up, message: m}]}
    - apiVersion: coordination.k8s.io/v1
      kind: Lease
      metadata: {name: managed-cluster-lease, namespace: a}
      spec: {renewTime: "2026-01-01T00:00:00Z"}
  cases:
  - name: a cluster that falls silent is told of once, two minutes later
    steps:
    - {at: "2026-01-01T00:00:00Z", notifications: []}
    - {at: "2026-01-01T00:05:00Z", notifications: []}
    - at: "2026-01-01T00:07:00Z"
      notifications:
      - policy: down
        severity: critical
        group: eu
        sinks: [pager]
        transitions: [{object: ManagedCluster/a, sort: condition, before: "True", after: Unknown}]
    - {at: "2026-01-01T00:08:00Z", notifications: []}
"""


def failures(text: str, coverage: Coverage | None = None) -> list[str]:
    fleet = check_snapshot(MemorySnapshot({"test.yaml": text}))
    assert fleet.findings == ()
    return [failure for result in run_tests(fleet, coverage=coverage) for failure in result.failures]


def test_what_is_told_is_as_expected_and_every_branch_is_covered() -> None:
    coverage = Coverage()
    assert failures(TEST, coverage) == []
    (one,) = coverage.policies
    assert (str(one.policy), one.missing, one.total) == ("NotificationPolicy/down", (), 6)


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("group: eu", "group: us"),
        ("after: Unknown", 'after: "False"'),
        ("sinks: [pager]\n        tr", "sinks: [chat]\n        tr"),
        ("severity: critical\n        g", "severity: info\n        g"),
        ('at: "2026-01-01T00:07:00Z"', 'at: "2026-01-01T00:06:59Z"'),
    ],
)
def test_what_is_unexpected_notifications_fails(there: str, instead: str) -> None:
    (failure, *_) = failures(TEST.replace(there, instead, 1))
    assert "notifications are [" in failure


def test_what_no_case_took_is_named() -> None:
    coverage = Coverage()
    head, _, _ = TEST.partition('    - {at: "2026-01-01T00:05')
    (failure,) = failures(head, coverage)
    assert failure == "NotificationPolicy/down decides nothing in any case, so it is not tested"
    (one,) = coverage.policies
    assert [str(branch) for branch in one.missing] == [
        "when is never true",
        "when: change.before != '' is never true",
    ]


FREEZE = """\
apiVersion: muster.dev/v1alpha1
kind: NotificationPolicy
metadata: {name: freezes}
spec:
  target: {kind: Fleet}
  when: change.sort == 'freeze'
  sinks: [chat]
---
apiVersion: muster.dev/v1alpha1
kind: NotificationPolicy
metadata: {name: held}
spec:
  target: {kind: ManagedCluster}
  when: change.sort == 'held' && change.reason.startsWith('freeze ')
  sinks: [chat]
---
apiVersion: muster.dev/v1alpha1
kind: PolicyTest
metadata: {name: freezes}
spec:
  policies: [NotificationPolicy/freezes, NotificationPolicy/held]
  given:
    fleet:
      freezes: [{name: holidays, period: "2026-01-01T00:10:00Z/2026-01-01T01:00:00Z", holds: [remedies, rollouts]}]
    objects:
    - apiVersion: remedy.karmada.io/v1alpha1
      kind: Remedy
      metadata: {name: all}
      spec:
        decisionMatches: [{clusterConditionMatch: {conditionType: Odd, operator: Equal, conditionStatus: "True"}}]
        actions: [TrafficControl]
    - apiVersion: cluster.open-cluster-management.io/v1
      kind: ManagedCluster
      metadata: {name: a}
      spec: {hubAcceptsClient: true}
      status: {conditions: [{type: Odd, status: "False", reason: Up, message: m}]}
  cases:
  - name: a freeze begins, holds a remedy, and ends
    steps:
    - {at: "2026-01-01T00:09:00Z", notifications: []}
    - at: "2026-01-01T00:10:00Z"
      change:
        objects:
        - apiVersion: cluster.open-cluster-management.io/v1
          kind: ManagedCluster
          metadata: {name: a}
          status: {conditions: [{type: Odd, status: "True", reason: Down, message: m}]}
      expect: [{object: ManagedCluster/a, held: [remedy TrafficControl]}]
      notifications:
      - policy: freezes
        transitions:
        - {object: Fleet/test, sort: freeze, name: holidays, before: "", after: in force,
           reason: "holds rollouts, remedies until 2026-01-01T01:00:00Z; 1 effect held"}
      - policy: held
        transitions: [{object: ManagedCluster/a, name: remedy TrafficControl, after: held, reason: freeze holidays}]
    - {at: "2026-01-01T00:30:00Z", notifications: []}
    - at: "2026-01-01T01:00:00Z"
      expect: [{object: ManagedCluster/a, held: [], remedyActions: [TrafficControl]}]
      notifications:
      - {policy: freezes, transitions: [{name: holidays, before: in force, after: "", reason: 1 effect released}]}
      - {policy: held, transitions: [{before: held, after: "", reason: freeze holidays}]}
"""


def test_a_freeze_tells_when_it_begins_and_ends_and_how_many_effects_it_holds() -> None:
    assert failures(FREEZE) == []
