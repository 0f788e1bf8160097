"""A cluster's whole stay: it asks, is let in with its request for a certificate, leaves, and does not come back by
itself. Its agent is a branch of the very repository."""

import base64
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from muster.data.tree import Tree
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T00:00:00Z"
REF = "refs/heads/agents/a"
ASKING = """\
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: a}
spec: {hubAcceptsClient: false, leaseDurationSeconds: 30}
"""
OPEN = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec:
  registration: {autoAccept: true}
  policyParams: {csr-approval: {autoApprovedUsers: [USERS]}}
"""


def request(tmp_path: Path, cluster: str = "a") -> str:
    """A request for a certificate with a key of its own, as an agent sends it."""
    group = f"system:open-cluster-management:{cluster}"
    done = subprocess.run(
        [
            "openssl",
            "req",
            "-new",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            tmp_path / "key.pem",
            "-subj",
            f"/O={group}/CN={group}:agent",
        ],
        capture_output=True,
        check=True,
    )
    return (
        "apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\n"
        f"metadata: {{name: a-x, labels: {{open-cluster-management.io/cluster-name: {cluster}}}}}\n"
        "spec:\n  signerName: kubernetes.io/kube-apiserver-client\n"
        f"  request: {base64.b64encode(done.stdout).decode()}\n"
    )


def beat(repo: Repo, **files: str) -> None:
    repo.commit_to(REF, {"cluster.yaml": ASKING, **{f"{name}.yaml": text for name, text in files.items()}})


def clusters(repo: Repo, muster: Run) -> list[list[str]]:
    """The rows of `get`, after a run."""
    assert muster("reconcile", "--repo", repo.path, "--now", NOW)[0] == 0
    rows = muster("get", "clusters", "--repo", repo.path, "--now", NOW)[1].splitlines()[1:]
    return [row.split()[:2] for row in rows if not row.startswith("agents heard")]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"README.yaml": ""})
    beat(repo)
    return repo


@pytest.mark.parametrize("automatic", [False, True], ids=["by hand", "autoAccept"])
def test_a_cluster_whose_file_is_deleted_is_gone_while_its_agent_speaks(
    automatic: bool, repo: Repo, muster: Run
) -> None:
    assert clusters(repo, muster) == [["a", "no"]]
    assert muster("accept", "--clusters", "a", "--repo", repo.path)[0] == 0
    assert clusters(repo, muster) == [["a", "yes"]]
    repo.commit(
        {"clusters/a/cluster.yaml": None, **({"fleet.yaml": OPEN.replace("[USERS]", "[]")} if automatic else {})}
    )
    for _ in range(3):
        assert clusters(repo, muster) == []
        beat(repo)
    code, out, _ = muster("validate", "--repo", repo.path, "--rev", "HEAD")
    assert (code, "MUS124: ManagedCluster/a was removed from the fleet, and its agent still reports" in out) == (
        0,
        True,
    )
    assert muster("accept", "--clusters", "a", "--repo", repo.path)[0] == 0
    assert clusters(repo, muster) == [["a", "yes"]]
    assert "removed" not in repo.git("grep", "-h", "", "HEAD", "--", "derived")


@pytest.mark.parametrize("automatic", [False, True], ids=["by hand", "autoAccept"])
def test_a_denied_cluster_whose_file_is_deleted_is_gone(automatic: bool, repo: Repo, muster: Run) -> None:
    if automatic:
        repo.commit({"fleet.yaml": OPEN})
        assert clusters(repo, muster) == [["a", "yes"]]
    assert muster("accept", "--clusters", "a", "--repo", repo.path)[0] == 0
    assert clusters(repo, muster) == [["a", "yes"]]
    assert muster("deny", "--clusters", "a", "--repo", repo.path)[0] == 0
    assert clusters(repo, muster) == [["a", "denied"]]
    beat(repo)
    repo.git("rm", "-rq", "clusters")
    repo.git("commit", "-qm", "Remove it")
    told = muster("reconcile", "--repo", repo.path, "--now", NOW)[1]
    assert "a removed" in told
    for _ in range(2):
        assert clusters(repo, muster) == []
    assert "derived/managedclusters/a.yaml" not in repo.paths()


def test_a_branch_that_is_made_anew_is_a_newcomer(repo: Repo, muster: Run) -> None:
    muster("accept", "--clusters", "a", "--repo", repo.path)
    clusters(repo, muster)
    repo.commit({"clusters/a/cluster.yaml": None})
    assert clusters(repo, muster) == []
    repo.git("update-ref", "-d", REF)
    assert clusters(repo, muster) == []
    beat(repo)
    assert clusters(repo, muster) == [["a", "no"]]


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the requests")


def approved(repo: Repo, muster: Run) -> str | None:
    """The reason for which the request is approved, after a run."""
    muster("reconcile", "--repo", repo.path, "--now", NOW)
    out = muster("get", "csr/a-x", "-o", "yaml", "--repo", repo.path, "--now", NOW)[1]
    body: Tree = yaml.safe_load(out)
    found = [c["reason"] for c in body.get("status", {}).get("conditions", ()) if c["type"] == "Approved"]
    return found[0] if found else None


@needs_openssl
def test_accepting_a_cluster_approves_the_request_that_was_seen_and_no_other(
    repo: Repo, muster: Run, tmp_path: Path
) -> None:
    seen = request(tmp_path)
    beat(repo, csr=seen)
    assert approved(repo, muster) is None
    code, out, _ = muster("accept", "--clusters", "a", "--repo", repo.path)
    assert (code, "CertificateSigningRequest/a-x: approved in clusters/a/a-x.csr.yaml" in out) == (0, True)
    beat(repo, csr=request(tmp_path))
    assert approved(repo, muster) is None, "it took the other's place before anybody saw it"
    beat(repo, csr=seen)
    assert approved(repo, muster) == "MusterAccept"
    beat(repo, csr=request(tmp_path))
    assert approved(repo, muster) is None
    muster("accept", "--clusters", "a", "--repo", repo.path)
    assert approved(repo, muster) == "MusterAccept"
    assert muster("accept", "--clusters", "a", "--repo", repo.path)[1].startswith("nothing to do")
    muster("deny", "--clusters", "a", "--repo", repo.path)
    assert approved(repo, muster) is None
    assert muster("validate", "--repo", repo.path) == (0, "2 objects, no findings\n", ""), "who denies it has said all"
    muster("accept", "--clusters", "a", "--repo", repo.path)
    beat(repo)
    code, out, _ = muster("validate", "--repo", repo.path, "--rev", "HEAD")
    assert (code, out) == (0, "1 object, no findings\n"), "the request went, the word about it is only idle"


@needs_openssl
@pytest.mark.parametrize(
    ("users", "counts"),
    [
        ("agents/*", True),
        ("agents/a", True),
        ("agents/b", False),
        ("", False),
        ("system:open-cluster-management:a:agent", False),
    ],
)
def test_requests_that_come_on_a_branch_are_approved_by_its_name(
    users: str, counts: bool, repo: Repo, muster: Run, tmp_path: Path
) -> None:
    repo.commit({"fleet.yaml": OPEN.replace("USERS", f'"{users}"' if users else "").replace("autoAccept: true", "")})
    beat(repo, csr=request(tmp_path))
    assert (approved(repo, muster) is not None) is counts


SIGNED = """\
apiVersion: muster.dev/v1alpha1
kind: Fleet
metadata: {name: f}
spec: {policyParams: {csr-approval: {signers: [example.com/agents]}}}
"""
OWN_APPROVAL = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: csr-approval}
spec:
  target: {kind: CertificateSigningRequest}
  type: Approved
  matchConditions: [{name: never, expression: "false"}]
  rules: [{name: never, status: "True", reason: Never}]
"""


@needs_openssl
@pytest.mark.parametrize(
    ("files", "signer", "counts"),
    [
        ({"fleet.yaml": SIGNED}, "example.com/agents", True),
        ({"fleet.yaml": SIGNED}, "kubernetes.io/kube-apiserver-client", False),
        ({"policies/own.yaml": OWN_APPROVAL}, "kubernetes.io/kube-apiserver-client", True),
        ({"policies/own.yaml": OWN_APPROVAL}, "example.com/agents", False),
    ],
)
def test_accepting_a_cluster_approves_what_goes_to_the_signers_that_the_policy_names(
    files: dict[str, str], signer: str, counts: bool, repo: Repo, muster: Run, tmp_path: Path
) -> None:
    """The built-in policy's where the fleet's own says nothing of signers."""
    repo.commit(files)
    beat(repo, csr=request(tmp_path).replace("kubernetes.io/kube-apiserver-client", signer))
    code, out, err = muster("accept", "--clusters", "a", "--repo", repo.path)
    assert (code, "a-x: approved in" in out) == (0, counts), f"{out}{err}"


@needs_openssl
def test_a_request_for_another_cluster_is_not_approved_with_this_one(repo: Repo, muster: Run, tmp_path: Path) -> None:
    forged = request(tmp_path, "b").replace("cluster-name: b", "cluster-name: a")
    beat(repo, csr=forged)
    clusters(repo, muster)
    out = muster("accept", "--clusters", "a", "--repo", repo.path)[1]
    assert "approved" not in out
    assert approved(repo, muster) is None
