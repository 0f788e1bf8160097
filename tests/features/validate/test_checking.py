"""validate compares with a base, so that policies can speak of changes."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.commandline import Run
from tests.support.editing import Editing
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


def _digests(out: str) -> Counter[str]:
    """How often each finding is in a report, wherever its line is."""
    return Counter(one["digest"] for one in json.loads(out or "[]"))


def test_the_files_have_the_findings_of_their_commit_whatever_was_checked_before(
    tmp_path: Path, muster: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edits, undone edits, commits and checkouts: the same from the cache as without one, and the hook tells apart what
    was there before."""
    living, index = Editing.small(tmp_path / "fleet", 5, 8), tmp_path / "index"
    repo, deaf = living.repo, tmp_path / "deaf"  # the same objects without agents' refs, as the hook sees them
    repo.git("clone", "--quiet", "--shared", "--single-branch", str(repo.path), str(deaf))
    kept, caused = str(tmp_path / "cache"), 0

    def validate(*arguments: str, cache: str = "", path: Path = repo.path) -> tuple[int, str]:
        monkeypatch.setenv("MUSTER_CACHE_DIR", cache)
        code, out, err = muster("validate", "-o", "json", "--repo", path, *arguments)
        assert code in (0, 1), err
        return code, out

    def content() -> str:
        """A commit of the files as they are, on top of HEAD."""
        aside = replace(repo, environ={**repo.environ, "GIT_INDEX_FILE": str(index)})
        aside.git("add", "--all")
        return repo.git("commit-tree", aside.git("write-tree"), "-p", "HEAD", "-m", "as it is")

    for _ in range(15):
        what = living.step()
        commit = content()
        whole = validate("--rev", commit)
        assert validate(cache=kept) == whole, what
        repo.git("add", "--all")
        hook = _digests(validate("--staged", "--touched", cache=kept)[1])
        now = _digests(validate("--rev", commit, path=deaf)[1])
        head = repo.tip()
        before = _digests(validate("--rev", head, "--base", head, path=deaf)[1])
        assert hook == {digest: count for digest, count in now.items() if count > before[digest]}, what
        caused += hook.total()
        living.commit_or_not()
    assert caused > 3, "what this is about has happened"


OCM = "cluster.open-cluster-management.io"
SELECTING = (
    f"apiVersion: {OCM}/v1beta1\nkind: Placement\nmetadata: {{name: web, namespace: shop}}\nspec:\n  predicates:\n"
    "  - requiredClusterSelector: {labelSelector: {matchLabels: {region: eu}}}\n"
    "  spreadPolicy: {spreadConstraints: [{topologyKey: zone.example.com, topologyKeyType: Claim, maxSkew: 1}]}\n"
)
BINDING = (
    f"apiVersion: {OCM}/v1beta2\nkind: ManagedClusterSetBinding\nmetadata: {{name: default, namespace: shop}}\n"
    "spec: {clusterSet: default}\n"
)
SET = (
    f"apiVersion: {OCM}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: prod}}\n"
    "spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}\n"
)
REMEDY = (
    "apiVersion: remedy.karmada.io/v1alpha1\nkind: Remedy\nmetadata: {name: r}\n"
    "spec: {clusterAffinity: {clusterNames: [c2]}, actions: [TrafficControl]}\n"
)
POOL = (
    "apiVersion: muster.dev/v1alpha1\nkind: NodePool\nmetadata: {name: n, namespace: prod1}\n"
    "spec: {clusterName: prod1, replicas: 1}\n"
)

ADD_ON = (
    "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\n"
    "metadata: {name: w, namespace: c4}\nspec: {}\n"
)


def member(name: str, *, region: str = "region", of: str = "default", seconds: str = "60") -> str:
    return (
        f"apiVersion: {OCM}/v1\nkind: ManagedCluster\nmetadata:\n  name: {name}\n"
        f"  labels: {{{region}: eu, {OCM}/clusterset: {of}}}\n"
        f"spec: {{hubAcceptsClient: true, leaseDurationSeconds: {seconds}}}\n"
    )


FLEET = {
    "web.yaml": SELECTING,
    "binding.yaml": BINDING,
    "set.yaml": SET,
    "remedy.yaml": REMEDY,
    "pool.yaml": POOL,
    **{f"clusters/c{number}.yaml": member(f"c{number}") for number in range(8)},
    "clusters/c3.yaml": member("c3", of="prod"),
}


@pytest.mark.parametrize(
    ("committed", "edits", "expected"),
    [
        pytest.param({}, {"clusters/c1.yaml": member("c1", region="regoin")}, [], id="others have the label"),
        pytest.param(
            {f"clusters/c{number}.yaml": member(f"c{number}", region="regoin") for number in range(7)},
            {"clusters/c7.yaml": member("c7", region="regoin")},
            ["MUS235 web.yaml: Placement/shop/web requires the label 'region', which no ManagedCluster has"],
            id="the last cluster with a label",
        ),
        pytest.param(
            {},
            {"set.yaml": None},
            ["MUS233 clusters/c3.yaml: ManagedCluster/c3 names ManagedClusterSet 'prod', which does not exist"],
            id="the set of a cluster",
        ),
        pytest.param(
            {},
            {"clusters/c4.yaml": member("c4", of="prdo")},
            ["MUS233 clusters/c4.yaml: ManagedCluster/c4 names ManagedClusterSet 'prdo', which does not exist"],
            id="a set that does not exist",
        ),
        pytest.param(
            {},
            {"clusters/c2.yaml": None},
            ["MUS210 remedy.yaml: there is no cluster 'c2'"],
            id="a cluster that is named",
        ),
        pytest.param(
            {},
            {"binding.yaml": None},
            ["MUS234 web.yaml: Placement/shop/web selects no cluster: no set is bound to namespace 'shop'"],
            id="the last binding",
        ),
        pytest.param(
            {"add-on.yaml": ADD_ON},
            {"clusters/c4.yaml": None},
            ["MUS210 add-on.yaml: ManagedClusterAddOn/c4/w names the cluster 'c4', which does not exist"],
            id="the cluster of an add-on",
        ),
        pytest.param({}, {"clusters/prod-1.yaml": member("prod-1")}, [], id="only a hint elsewhere"),
        pytest.param({}, {"clusters/prod1.yaml": member("prod1")}, [], id="a missing cluster comes"),
        pytest.param(
            {"clusters/c5.yaml": member("c5", seconds="soon")},
            {"clusters/c5.yaml": member("c5", region="zone", seconds="soon")},
            [],
            id="a mistake that was there before",
        ),
        pytest.param(
            {"clusters/c5.yaml": member("c5", seconds="soon")},
            {"clusters/c5.yaml": member("c5", seconds="later")},
            ["MUS202 clusters/c5.yaml: spec.leaseDurationSeconds must be a whole number, not 'later'"],
            id="another mistake in its place",
        ),
    ],
)
def test_the_hook_reports_what_a_change_brings_about_wherever_it_is(
    tmp_path: Path, muster: Run, committed: dict[str, str], edits: dict[str, str | None], expected: list[str]
) -> None:
    """Every claim of a cluster may be in an agent's ref, which the hook does not read."""
    repo = new_repository(tmp_path / "fleet")
    repo.commit({**FLEET, **committed})
    repo.write("clusters/c6.yaml", member("c6", of="prod"))
    repo.git("add", "--all")
    assert muster("validate", "--staged", "--touched", "--repo", repo.path)[0] == 0  # the first check is a whole one
    repo.git("reset", "--quiet", "--hard")
    for path, text in edits.items():
        repo.write(path, text)
    assert muster("validate", "--repo", repo.path)[1] == muster("validate", "--repo", repo.path)[1]
    repo.git("add", "--all")
    _, out, err = muster("validate", "--staged", "--touched", "-o", "json", "--repo", repo.path)
    found = [f"{one['code']} {one['file']}: {one['message']}" for one in json.loads(out or "[]")]
    assert found == expected, err
    repo.git("commit", "--quiet", "--message", "so be it")
    whole = muster("validate", "--rev", "HEAD", "--repo", repo.path)[1]
    assert muster("validate", "--repo", repo.path)[1] == whole, "from what the checks before it kept"


def test_touched_is_compared_with_head_alone(tmp_path: Path, muster: Run) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit(FLEET)
    code, _, err = muster("validate", "--staged", "--touched", "--base", "HEAD", "--repo", repo.path)
    assert (code, "it excludes --base" in err) == (2, True)
