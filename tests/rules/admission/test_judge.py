"""How far admission policies look: each by itself, or further."""

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.fleet.assemble import assemble
from muster.rules.admission.judge import judges_removals, reads_other_objects

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
    foreign = {"map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"}
    policy = POLICY.format(**{**OWN, **altered})
    assert reads_other_objects(assemble(MemorySnapshot({"policy.yaml": policy, **foreign}))) is further


@pytest.mark.parametrize("altered", [{"resource": '"*"'}, {"group": '""', "resource": "configmaps"}])
def test_without_objects_of_unknown_kinds_none_is_matched(altered: dict[str, str]) -> None:
    assert not reads_other_objects(assemble(MemorySnapshot({"policy.yaml": POLICY.format(**{**OWN, **altered})})))


@pytest.mark.parametrize(
    ("operation", "removals"), [("CREATE", False), ("UPDATE", False), ("DELETE", True), ('"*"', True)]
)
def test_what_judges_removals(operation: str, removals: bool) -> None:
    policy = POLICY.format(**{**OWN, "operation": operation})
    assert judges_removals(assemble(MemorySnapshot({"policy.yaml": policy}))) is removals
