"""`muster claim` and `muster release`: one commit each, which the next reconcile acts on."""

from pathlib import Path

import pytest
import yaml

from tests.support.commandline import Run
from tests.support.git import Repo, clone, new_repository

POOL = """\
apiVersion: hive.openshift.io/v1
kind: ClusterPool
metadata: {name: ci, namespace: pools}
spec:
  size: 0
  baseDomain: ci.example.com
  imageSetRef: {name: v1}
  platform: {aws: {region: eu-1}}
"""
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"pools/ci.yaml": POOL})
    return repo


def test_a_claim_is_one_commit_with_one_file(muster: Run, repo: Repo) -> None:
    before = repo.git("rev-parse", "HEAD")
    code, out, err = muster(
        "claim", "job-1", "--pool", "ci", "--lifetime", "8h", "--subject", "Group/ci", "--repo", repo.path, "--now", NOW
    )
    assert (code, err) == (0, "")
    assert "Claim a cluster of pool ci as job-1" in out
    assert repo.git("rev-parse", "HEAD^") == before
    assert repo.git("diff", "--name-only", "HEAD^") == "pools/claims/pools/job-1.yaml"
    body = yaml.load((repo.path / "pools/claims/pools/job-1.yaml").read_text(), Loader=yaml.BaseLoader)
    assert body["metadata"] == {"name": "job-1", "namespace": "pools", "creationTimestamp": NOW}
    assert body["spec"] == {"clusterPoolName": "ci", "lifetime": "8h", "subjects": [{"kind": "Group", "name": "ci"}]}


def test_a_release_removes_the_file_in_one_commit(muster: Run, repo: Repo) -> None:
    muster("claim", "job-1", "--pool", "ci", "--repo", repo.path, "--now", NOW)
    code, out, _ = muster("release", "job-1", "--repo", repo.path)
    assert code == 0
    assert "Release claim job-1" in out
    assert repo.git("diff", "--name-status", "HEAD^") == "D\tpools/claims/pools/job-1.yaml"
    assert not (repo.path / "pools/claims/pools/job-1.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("claim", "job-1", "--pool", "cj"), "there is no ClusterPool named 'cj'"),
        (("claim", "Job 1", "--pool", "ci"), "'Job 1' is not a valid name for a claim"),
        (("claim", "job-1", "--pool", "ci", "--subject", "ci"), "'ci' is not a subject"),
        (("release", "job-9"), "there is no ClusterClaim named 'job-9'"),
    ],
)
def test_a_claim_that_cannot_be_made_says_why(
    muster: Run, repo: Repo, arguments: tuple[str, ...], message: str
) -> None:
    before = repo.git("rev-parse", "HEAD")
    code, _, err = muster(*arguments, "--repo", repo.path)
    assert code == 1
    assert message in err
    assert repo.git("rev-parse", "HEAD") == before


def test_a_claim_is_not_made_twice(muster: Run, repo: Repo) -> None:
    muster("claim", "job-1", "--pool", "ci", "--repo", repo.path)
    code, _, err = muster("claim", "job-1", "--pool", "ci", "--repo", repo.path)
    assert code == 1
    assert "ClusterClaim/pools/job-1 already exists, in pools/claims/pools/job-1.yaml" in err


def test_a_claim_that_shares_its_file_is_not_taken_apart(muster: Run, repo: Repo) -> None:
    claim = "apiVersion: hive.openshift.io/v1\nkind: ClusterClaim\nmetadata: {name: %s, namespace: pools}\n"
    spec = "spec: {clusterPoolName: ci}\n"
    repo.commit({"two.yaml": f"{claim % 'a'}{spec}---\n{claim % 'b'}{spec}"})
    code, _, err = muster("release", "a", "--repo", repo.path)
    assert code == 1
    assert "ClusterClaim/pools/a shares its file with other objects: two.yaml" in err


def test_push_builds_on_what_others_have_pushed(muster: Run, repo: Repo, tmp_path: Path) -> None:
    hub = new_repository(tmp_path / "hub.git", bare=True)
    repo.git("remote", "add", "origin", str(hub.path))
    repo.git("push", "--quiet", "origin", "main")
    other = clone(hub, tmp_path / "other")
    claim = ("claim", "--pool", "ci", "--now", NOW, "--push")
    assert muster(*claim, "job-1", "--repo", other.path)[0] == 0
    # This clone is behind: it fetches first, so both claims are there, and a name is taken that only the hub knows.
    code, out, err = muster(*claim, "job-2", "--repo", repo.path)
    assert (code, err) == (0, "")
    assert "pushed to origin" in out
    assert hub.git("rev-parse", "main") == repo.git("rev-parse", "main")
    assert hub.git("ls-tree", "--name-only", "main:pools/claims/pools").split() == ["job-1.yaml", "job-2.yaml"]
    code, _, err = muster(*claim, "job-2", "--repo", other.path)
    assert code == 1
    assert "ClusterClaim/pools/job-2 already exists" in err
    code, out, err = muster("release", "job-2", "--repo", other.path, "--push")
    assert (code, err) == (0, "")
    assert "pools/claims/pools/job-2.yaml removed" in out
    assert hub.git("ls-tree", "--name-only", "main:pools/claims/pools").split() == ["job-1.yaml"]


def test_a_claim_that_no_schema_takes_is_not_committed(muster: Run, repo: Repo) -> None:
    before = repo.git("rev-parse", "HEAD")
    code, _, err = muster("claim", "job-1", "--pool", "ci", "--subject", f"User/{'x' * 1000}", "--repo", repo.path)
    assert code == 1
    assert "MUS206" in err
    assert repo.git("rev-parse", "HEAD") == before
