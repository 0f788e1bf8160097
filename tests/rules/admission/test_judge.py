"""What admission policies judge."""

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.fleet.assemble import assemble
from muster.rules.admission.judge import judges_removals

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: a}}
spec:
  {more}
  matchConstraints:
    {match}
    resourceRules:
    - {{apiGroups: [{group}], apiVersions: ["*"], operations: [{operation}], resources: [{resource}]}}
  validations: [{{expression: "{expression}"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: a}}
spec: {{policyName: a, validationActions: [Deny]{binding}}}
"""
OWN = {
    "more": "",
    "match": "",
    "group": "cluster.open-cluster-management.io",
    "resource": "managedclusters",
    "operation": "CREATE",
    "expression": "object.metadata.name != 'x'",
    "binding": "",
}


@pytest.mark.parametrize(
    ("operation", "removals"), [("CREATE", False), ("UPDATE", False), ("DELETE", True), ('"*"', True)]
)
def test_what_judges_removals(operation: str, removals: bool) -> None:
    policy = POLICY.format(**{**OWN, "operation": operation})
    assert judges_removals(assemble(MemorySnapshot({"policy.yaml": policy}))) is removals
