"""The hook's findings: for what a commit of some files is answerable, and for what it is not."""

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.features.validate.touched import touched_findings
from muster.run.checking import check_snapshot

CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: NAME, labels: {team: TEAM}}
spec: {hubAcceptsClient: true}
"""
SICK = CLUSTER.replace("hubAcceptsClient: true", "hubAcceptsClient: 1").replace("NAME", "sick")
REPORTED = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: sick}
status: {conditions: []}
"""
RULE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: teams}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {apiGroups: [cluster.open-cluster-management.io], apiVersions: ["*"], operations: ["*"], resources: ["*"]}
  validations: [{expression: "object.metadata.labels.team in params.data", message: "no such team"}]
"""
BINDING = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: teams}
spec:
  policyName: teams
  validationActions: [Deny]
  paramRef: {name: teams, namespace: hub, parameterNotFoundAction: Deny}
"""
PARAMS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: teams, namespace: hub}\ndata: {red: ''}\n"
FILES = {
    "clusters/fine.yaml": CLUSTER.replace("NAME", "fine").replace("TEAM", "red"),
    "clusters/odd.yaml": CLUSTER.replace("NAME", "odd").replace("TEAM", "blue"),
    "clusters/sick.yaml": SICK,
    "clusters/sick-report.yaml": REPORTED,
    "clusters/unreadable.yaml": "a: [",
    "policies/rule.yaml": RULE,
    "policies/binding.yaml": BINDING,
    "policies/teams.yaml": PARAMS,
}


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ([], set()),
        (["clusters/fine.yaml"], set()),
        (["clusters/odd.yaml"], {"clusters/odd.yaml"}),
        (["clusters/sick.yaml"], {"clusters/sick.yaml"}),
        (["clusters/sick-report.yaml"], {"clusters/sick.yaml"}),
        (["clusters/unreadable.yaml", "elsewhere.md"], {"clusters/unreadable.yaml"}),
        (["policies/rule.yaml"], {"clusters/odd.yaml"}),
        (["policies/binding.yaml"], {"clusters/odd.yaml"}),
        (["policies/teams.yaml"], {"clusters/odd.yaml"}),
    ],
)
def test_a_change_answers_for_its_objects_and_a_policy_for_what_it_refuses(files: list[str], told: set[str]) -> None:
    fleet = check_snapshot(MemorySnapshot(FILES))
    assert {found.file for found in fleet.findings} == {
        f"clusters/{name}.yaml" for name in ("odd", "sick", "unreadable")
    }
    assert {found.file for found in touched_findings(fleet, files)} == told
