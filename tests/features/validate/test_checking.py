"""validate compares with a base, so that policies can speak of changes."""

from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: regions}
spec:
  matchConstraints:
    resourceRules:
    - apiGroups: [cluster.open-cluster-management.io]
      apiVersions: ["*"]
      operations: [UPDATE, DELETE]
      resources: [managedclusters]
  validations:
  - expression: request.operation != 'UPDATE' || object.metadata.labels['region'] == oldObject.metadata.labels['region']
    message: a cluster does not move
  - expression: request.operation != 'DELETE' || !oldObject.spec.hubAcceptsClient
    messageExpression: "'deny ' + request.name + ' first'"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: regions}
spec: {policyName: regions, validationActions: [Deny]}
"""


def cluster(region: str, *, accepted: bool = True) -> str:
    return (
        "apiVersion: cluster.open-cluster-management.io/v1\n"
        "kind: ManagedCluster\n"
        f"metadata: {{name: a, labels: {{region: {region}}}}}\n"
        f"spec: {{hubAcceptsClient: {str(accepted).lower()}}}\n"
    )


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"policy.yaml": POLICY, "a.yaml": cluster("eu")})
    return repo


def test_the_work_tree_is_compared_with_head(fleet: Repo, muster: Run) -> None:
    assert muster("validate", "--repo", fleet.path)[0] == 0
    fleet.write("a.yaml", cluster("us"))
    code, out, _ = muster("validate", "--repo", fleet.path)
    assert code == 1
    assert "a cluster does not move" in out


def test_what_is_staged_is_compared_with_head(fleet: Repo, muster: Run) -> None:
    fleet.write("a.yaml", cluster("us"))
    assert muster("validate", "--repo", fleet.path, "--staged")[0] == 0
    fleet.git("add", "a.yaml")
    code, out, _ = muster("validate", "--repo", fleet.path, "--staged", "a.yaml")
    assert code == 1
    assert "a cluster does not move" in out


def test_a_revision_is_compared_with_its_parent_or_the_base_that_is_named(fleet: Repo, muster: Run) -> None:
    first = fleet.git("rev-parse", "HEAD")
    fleet.commit({"a.yaml": cluster("us")})
    assert muster("validate", "--repo", fleet.path, "--rev", "HEAD")[0] == 1
    fleet.commit({"note.txt": "nothing"})
    assert muster("validate", "--repo", fleet.path, "--rev", "HEAD")[0] == 0
    assert muster("validate", "--repo", fleet.path, "--rev", "HEAD", "--base", first)[0] == 1
    assert muster("validate", "--repo", fleet.path, "--rev", first)[0] == 0


def test_removing_a_file_deletes_its_object(fleet: Repo, muster: Run) -> None:
    (fleet.path / "a.yaml").unlink()
    code, out, _ = muster("validate", "--repo", fleet.path)
    assert code == 1
    assert "ManagedCluster/a cannot be removed: deny a first" in out
    fleet.commit({"a.yaml": cluster("eu", accepted=False)})
    (fleet.path / "a.yaml").unlink()
    assert muster("validate", "--repo", fleet.path)[0] == 0


def test_a_base_that_does_not_exist_is_a_mistake(fleet: Repo, muster: Run) -> None:
    code, _, err = muster("validate", "--repo", fleet.path, "--base", "nowhere")
    assert code == 4
    assert "nowhere" in err


def test_a_cluster_that_is_being_removed_is_not_accepted_again(fleet: Repo, muster: Run) -> None:
    fleet.commit({"a.yaml": cluster("eu", accepted=False)})
    text = cluster("eu").replace("{name: a,", '{name: a, deletionTimestamp: "2026-01-01T00:00:00Z",')
    fleet.write("a.yaml", text)
    code, out, _ = muster("validate", "--repo", fleet.path)
    assert code == 1
    assert 'cluster namespace "a" is terminating' in out
