"""How far admission policies look: each by itself, or further."""

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.fleet.assemble import assemble
from muster.rules.admission.judge import reads_other_objects

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
    ("altered", "further"),
    [
        ({}, False),
        ({"resource": '"*"'}, True),
        ({"group": '"*"'}, True),
        ({"operation": "UPDATE"}, False),
        ({"operation": "DELETE"}, True),
        ({"operation": '"*"'}, True),
        ({"group": '""', "resource": "configmaps"}, True),
        ({"more": "paramKind: {apiVersion: v1, kind: ConfigMap}"}, True),
        ({"match": "namespaceSelector: {matchLabels: {a: b}}"}, True),
        ({"expression": "namespaceObject == null"}, True),
        ({"expression": "request.userInfo.username != ''"}, False),
        ({"expression": "object.metadata.name != 'params'"}, False),
        ({"binding": ", paramRef: {name: x}"}, True),
        ({"binding": ", matchResources: {namespaceSelector: {matchLabels: {a: b}}}"}, True),
    ],
)
def test_what_counts_as_further(altered: dict[str, str], further: bool) -> None:
    assert (
        reads_other_objects(assemble(MemorySnapshot({"policy.yaml": POLICY.format(**{**OWN, **altered})}))) is further
    )
