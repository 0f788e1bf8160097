"""Where a refusal points: at the field or the element that the rule speaks of, else at the object's name."""

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.run.checking import check_snapshot

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: p}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [cluster.open-cluster-management.io]
      apiVersions: ["*"]
      operations: ["*"]
      resources: [managedclusters]
  variables:
  - {name: bad, expression: "object.?spec.?taints.hasValue() ? object.spec.taints.filter(t, t.key == 'y') : []"}
  validations:
  - {expression: RULE}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: p}
spec: {policyName: p, validationActions: [Deny]}
"""
CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: c
  labels: {team: none}
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 7
"""
TAINTS = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: c}
spec:
  taints:
  - {key: x, effect: NoSelect}
  - {key: y, effect: NoSelect}
"""


@pytest.mark.parametrize(
    ("rule", "place"),
    [
        ("size(variables.bad) == 0", "taints.yaml:7:5"),  # of two parts, the one that has the element
        ("object.spec.taints.all(t, t.key == 'x')", "taints.yaml:7:5"),
        ("size(object.spec.taints) < 2", "taints.yaml:5:3"),  # no element by itself
        ("object.spec.leaseDurationSeconds > 30", "cluster.yaml:8:3"),
        ("object.metadata.labels['team'] != 'none'", "cluster.yaml:5:3"),
        ("object.metadata.name != 'c' || object.spec.leaseDurationSeconds > 30", "cluster.yaml:8:3"),
        ("object.spec.leaseDurationSeconds > 30 || size(object.metadata.labels) > 5", "cluster.yaml:4:3"),
        ("request.name != 'c'", "cluster.yaml:4:3"),
    ],
)
def test_a_refusal_points_at_what_is_refused(rule: str, place: str) -> None:
    policy = POLICY.replace("RULE", f'"{rule}"')
    files = {"policy.yaml": policy, "cluster.yaml": CLUSTER, "taints.yaml": TAINTS}
    [found] = [one for one in check_snapshot(MemorySnapshot(files)).findings if one.code == "MUS320"]
    assert str(found.place) == place
