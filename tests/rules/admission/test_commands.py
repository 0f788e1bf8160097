"""Rules for objects of other programs, as a user meets them: in the hook, in validate, in plan and in reconcile."""

from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: replicas}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [deployments]}
  validations:
  - expression: request.operation == 'DELETE' || object.spec.replicas <= 5
    message: too many
  - expression: request.operation != 'UPDATE' || object.spec.replicas >= oldObject.spec.replicas
    message: never fewer
  - expression: request.operation != 'DELETE' || !('keep' in oldObject.metadata.?labels.orValue({}))
    message: this one is kept
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: replicas}
spec: {policyName: replicas, validationActions: [Deny]}
"""
AUTHORED = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: owners}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}
  validations:
  - expression: request.userInfo.username == 'alice@example.com' && request.userInfo.groups.size() == 0
    messageExpression: "'not by ' + request.userInfo.username"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: owners}
spec: {policyName: owners, validationActions: [Deny]}
"""


def deployment(replicas: int, labels: str = "{}", name: str = "web") -> str:
    metadata = f"metadata: {{name: {name}, labels: {labels}}}"
    return f"apiVersion: apps/v1\nkind: Deployment\n{metadata}\nspec: {{replicas: {replicas}}}\n"


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"policy.yaml": POLICY, "apps/web.yaml": deployment(3)})
    return repo


def test_a_violation_is_refused_wherever_it_is_met(fleet: Repo, muster: Run) -> None:
    assert muster("validate", "--repo", fleet.path) == (0, "2 objects, no findings\n", "")
    fleet.write("apps/web.yaml", deployment(9))
    told = "apps/web.yaml:4:8: error MUS320: too many"
    code, out, _ = muster("validate", "--repo", fleet.path)
    assert (code, told in out) == (1, True)
    fleet.git("add", ".")
    code, out, _ = muster("validate", "--repo", fleet.path, "--staged", "--touched")
    assert (code, told in out) == (1, True)
    fleet.commit({"clusters/a.yaml": CLUSTER})
    code, _, err = muster("plan", "--repo", fleet.path)
    assert (code, told in err) == (1, True)
    code, _, err = muster("reconcile", "--repo", fleet.path)
    assert (code, told in err) == (1, True)
    assert any(path.startswith("derived/managedclusters") for path in fleet.paths())  # the rest of the fleet goes on
    tip = fleet.tip()
    assert muster("reconcile", "--repo", fleet.path)[0] == 1
    assert fleet.tip() == tip


CLUSTER = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}
spec: {hubAcceptsClient: true}
"""


def test_changes_and_removals(fleet: Repo, muster: Run) -> None:
    fleet.write("apps/web.yaml", deployment(2))
    assert "never fewer" in muster("validate", "--repo", fleet.path)[1]
    fleet.commit({"apps/web.yaml": deployment(4, "{keep: 'yes'}")})
    fleet.git("rm", "-q", "apps/web.yaml")
    told = "Deployment/default/web cannot be removed: this one is kept"
    for options in ((), ("--staged",), ("--staged", "--touched")):
        code, out, _ = muster("validate", "--repo", fleet.path, *options)
        assert (code, told in out) == (1, True), options


def test_moving_a_file_removes_nothing_and_a_broken_file_neither(fleet: Repo, muster: Run) -> None:
    fleet.commit({"apps/web.yaml": deployment(4, "{keep: 'yes'}")})
    fleet.git("mv", "apps/web.yaml", "elsewhere.yaml")
    assert muster("validate", "--repo", fleet.path)[0] == 0
    fleet.git("mv", "elsewhere.yaml", "apps.yaml")
    fleet.write("apps.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web\n")
    assert "cannot be removed" not in muster("validate", "--repo", fleet.path)[1]


def commit_as(repo: Repo, mail: str, files: dict[str, str]) -> None:
    other = repo.with_environ(GIT_AUTHOR_NAME="Somebody", GIT_AUTHOR_EMAIL=mail)
    other.commit(files)


def test_who_asks_is_who_changed_the_file_last(fleet: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_as(
        fleet,
        "alice@example.com",
        {"policy.yaml": AUTHORED, "apps/web.yaml": deployment(4), "b.yaml": deployment(1, name="b")},
    )
    assert muster("validate", "--repo", fleet.path, "--rev", "HEAD")[0] == 0
    commit_as(fleet, "bob@example.com", {"b.yaml": deployment(2, name="b"), "note.txt": "n"})
    code, out, _ = muster("validate", "--repo", fleet.path, "--rev", "HEAD")
    assert (code, out.count("MUS320")) == (1, 1)
    assert "b.yaml:3:12: error MUS320: not by bob@example.com" in out
    assert "not by bob@example.com" in muster("reconcile", "--repo", fleet.path)[2]
    # What is not committed is written by whoever works here, and only that.
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "alice@example.com")
    fleet.write("b.yaml", deployment(3, name="b"))
    assert muster("validate", "--repo", fleet.path)[0] == 0
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "carol@example.com")
    out = muster("validate", "--repo", fleet.path)[1]
    assert (out.count("MUS320"), "not by carol@example.com" in out) == (1, True)


def test_nobody_is_known_outside_of_git_nor_before_a_shallow_clone_begins(
    fleet: Repo, muster: Run, tmp_path: Path
) -> None:
    commit_as(fleet, "alice@example.com", {"policy.yaml": AUTHORED, "apps/web.yaml": deployment(4)})
    commit_as(fleet, "bob@example.com", {"note.txt": "n"})
    shallow = tmp_path / "shallow"
    fleet.git("clone", "-q", "--depth=1", f"file://{fleet.path}", str(shallow))
    out = muster("validate", "--repo", shallow, "--rev", "HEAD")[1]
    assert "error MUS320: not by\n" in out
    plain = tmp_path / "plain"
    plain.mkdir()
    for name in ("policy.yaml", "apps/web.yaml"):
        (plain / Path(name).name).write_text((fleet.path / name).read_text())
    assert "error MUS320: not by\n" in muster("validate", "--repo", plain)[1]


def test_an_agents_config_map_is_no_parameter(fleet: Repo, muster: Run) -> None:
    text = POLICY.replace(
        "  matchConstraints:", "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  matchConstraints:", 1
    )
    text = text.replace("object.spec.replicas <= 5", "object.spec.replicas <= int(params.data.max)").replace(
        "validationActions: [Deny]",
        "validationActions: [Deny], paramRef: {name: limit, namespace: rules, parameterNotFoundAction: Deny}",
    )
    given = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limit, namespace: rules}\ndata: {max: '5'}\n"
    fleet.commit({"policy.yaml": text, "clusters/a.yaml": CLUSTER})
    fleet.commit_to("refs/heads/agents/a", {"limit.yaml": given})
    assert "no object matches spec.paramRef" in muster("validate", "--repo", fleet.path, "--rev", "HEAD")[1]
    fleet.commit({"limit.yaml": given})
    assert "MUS320" not in muster("validate", "--repo", fleet.path, "--rev", "HEAD")[1]


def test_an_edit_by_a_command_is_its_users(fleet: Repo, muster: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = AUTHORED.replace("[apps]", "[cluster.open-cluster-management.io]").replace("deployments", "managedclusters")
    waiting = CLUSTER.replace("hubAcceptsClient: true", "hubAcceptsClient: false")
    commit_as(fleet, "alice@example.com", {"policy.yaml": text, "clusters/a.yaml": waiting})
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "bob@example.com")
    code, _, err = muster("accept", "--repo", fleet.path, "--clusters", "a")
    assert (code, "not by bob@example.com" in err) == (1, True)
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "alice@example.com")
    assert muster("accept", "--repo", fleet.path, "--clusters", "a")[0] == 0


def test_a_definition_may_go_with_its_objects(fleet: Repo, muster: Run) -> None:
    text = POLICY.replace("[apps]", "[example.com]").replace("[deployments]", "[oxen]")
    definition = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: oxen.example.com}\n"
        "spec: {group: example.com, scope: Namespaced, names: {kind: Ox, plural: oxen}}\n"
    )
    ox = "apiVersion: example.com/v1\nkind: Ox\nmetadata: {name: a, labels: {keep: 'yes'}}\nspec: {replicas: 1}\n"
    fleet.commit({"policy.yaml": text, "crd.yaml": definition, "ox.yaml": ox})
    fleet.git("rm", "-q", "crd.yaml", "ox.yaml")
    assert "Ox/default/a cannot be removed: this one is kept" in muster("validate", "--repo", fleet.path)[1]


def test_a_rule_that_is_committed_answers_for_what_it_refuses(fleet: Repo, muster: Run) -> None:
    """Also a parameter, or a namespace's labels: what is refused stands in files that the commit does not touch."""
    reading = POLICY.replace(
        "  matchConstraints:", "  paramKind: {apiVersion: v1, kind: ConfigMap}\n  matchConstraints:", 1
    )
    reading = reading.replace("object.spec.replicas <= 5", "object.spec.replicas <= int(params.data.max)")
    ref = "paramRef: {name: limit, namespace: rules, parameterNotFoundAction: Deny}"
    selected = "matchResources: {namespaceSelector: {matchLabels: {tier: gold}}}"
    reading = reading.replace("validationActions: [Deny]", f"validationActions: [Deny], {ref}, {selected}")
    limit = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limit, namespace: rules}\ndata: {max: '5'}\n"
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {tier: gold}}\n"
    fleet.commit({"policy.yaml": reading, "limit.yaml": limit, "space.yaml": space})
    for path, before, after in (
        ("limit.yaml", limit, limit.replace("5", "2")),
        ("policy.yaml", reading, reading.replace("<= int", "<= -int")),
    ):
        fleet.write(path, after)
        fleet.git("add", path)
        code, out, _ = muster("validate", "--repo", fleet.path, "--staged", "--touched")
        assert (code, "apps/web.yaml:4:8: error MUS320: too many" in out) == (1, True), path
        fleet.write(path, before)
        fleet.git("add", path)
    fleet.commit({"limit.yaml": limit.replace("5", "2"), "space.yaml": space.replace("gold", "tin")})
    fleet.write("space.yaml", space)
    fleet.git("add", ".")
    assert muster("validate", "--repo", fleet.path, "--staged", "--touched")[0] == 1
    fleet.git("checkout", "-q", "HEAD", "--", "space.yaml")
    fleet.commit({"space.yaml": space})
    fleet.write("other.yaml", deployment(1, name="other"))
    fleet.git("add", ".")
    assert muster("validate", "--repo", fleet.path, "--staged", "--touched") == (0, "2 objects, no findings\n", "")
