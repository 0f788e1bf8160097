"""A pull request that changes derived/ is a finding; what muster itself committed there is none."""

import base64
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from muster.agents.identity.authority import Approved, load_authority
from muster.agents.identity.request import new_request
from muster.cli import exits
from muster.data.kinds import CSR
from muster.data.times import parse_time
from muster.data.tree import Tree
from muster.features.validate.derivededits import derived_edits
from muster.git.repository import open_repository
from tests.features.pulses.test_walkthrough import Muster, cluster, fleet, muster
from tests.support.authority import new_authority
from tests.support.git import Repo, clone

__all__ = ["muster"]

BEGIN, HOUR = parse_time("2026-01-01T00:00:00Z"), timedelta(hours=1)
NOW = ("--now", "2026-01-01T00:00:30Z")
CERTIFICATE = {"derived/certificatesigningrequests/evil.yaml": "status: {certificate: QUFB}\n"}


@pytest.fixture
def repo(tmp_path: Path, muster: Muster) -> Repo:
    """A fleet that was reconciled, and a branch of it that is checked out."""
    repo = fleet(tmp_path / "fleet", a="2026-01-01T00:00:00Z")
    assert muster(repo, "reconcile", *NOW)[0] == exits.FINE
    repo.git("switch", "--quiet", "--create", "topic")
    return repo


def edits(repo: Repo, muster: Muster, base: str = "main") -> list[str]:
    """The lines with which a pull request's check and its plan report edits: the same ones."""
    checked, out, err = muster(repo, "validate", "--rev", "HEAD", "--base", base, "--", "fleet.yaml")
    found = [line for line in (out + err).splitlines() if "MUS504" in line]
    planned, out, err = muster(repo, "plan", "--base", base, *NOW)
    assert [line for line in (out + err).splitlines() if "MUS504" in line] == found
    code = exits.FINDINGS if any("error MUS504" in line for line in found) else exits.FINE
    assert (checked, planned) == (code, code)
    return found


def fleet_with(repo: Repo, spec: Tree) -> None:
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}, "spec": spec}
    repo.commit({"fleet.yaml": yaml.safe_dump(body)})


def test_a_commit_that_changes_what_is_derived_is_named(repo: Repo, muster: Muster) -> None:
    repo.commit({"notes.txt": "x"})
    assert edits(repo, muster) == []
    text = repo.show("derived/managedclusters/a.yaml")
    evil = repo.commit(
        {"notes.txt": "y", "derived/managedclusters/a.yaml": text.replace("True", "False"), **CERTIFICATE}
    )
    (line,) = edits(repo, muster)
    assert f"commit {evil[:12]} changes derived/certificatesigningrequests/evil.yaml and 1 more" in line
    repo.git("checkout", "main", "--", "derived/")
    repo.git("rm", "-q", *CERTIFICATE)
    undone = repo.commit({})
    assert sorted(line.partition("commit ")[2][:12] for line in edits(repo, muster)) == sorted((evil[:12], undone[:12]))


def test_a_merge_request_that_forges_a_run_is_named_where_runs_are_signed(repo: Repo, muster: Muster) -> None:
    repo.commit_run({"derived/notes.txt": "x"}, now="2026-01-01T00:00:30Z")
    (line,) = edits(repo, muster)
    assert "warning MUS504" in line, "without keys that the Fleet names, this is what a run looks like"
    repo.git("switch", "--quiet", "main")
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZ muster"
    fleet_with(repo, {"commit": {"signers": [key]}})
    repo.git("switch", "--quiet", "topic")
    repo.git("rebase", "--quiet", "main")
    assert "error MUS504" in edits(repo, muster)[0]
    fleet_with(repo, {})  # a branch does not choose who may sign
    assert len(edits(repo, muster)) == 1


@pytest.mark.parametrize("issuer", ["itself", "the authority that the Fleet names"])
def test_a_certificate_is_an_edit_whoever_signed_it(issuer: str, repo: Repo, muster: Muster, tmp_path: Path) -> None:
    """The authority's may have been revoked."""
    certificate, key = new_authority(tmp_path / "ca")
    repo.git("switch", "--quiet", "main")
    fleet_with(repo, {"signing": {"authority": certificate.read_text(encoding="ascii")}})
    repo.git("switch", "--quiet", "topic")
    repo.git("rebase", "--quiet", "main")
    signer = load_authority(
        *(new_authority(tmp_path / "evil") if issuer == "itself" else (certificate, key)), HOUR, BEGIN
    )
    request = new_request("a")
    pem = signer.sign(Approved(request.pem, request.user, [], ["client auth"]), BEGIN)
    body = {"apiVersion": CSR.api_version, "kind": CSR.name, "metadata": {"name": "zz"}}
    status = {"certificate": base64.b64encode(pem).decode()}
    repo.commit({"derived/certificatesigningrequests/zz.yaml": yaml.safe_dump({**body, "status": status})})
    assert len(edits(repo, muster)) == 1


def test_what_a_branch_merged_of_its_base_is_no_edit_of_it(repo: Repo, muster: Muster) -> None:
    repo.commit({"notes.txt": "x"})
    repo.git("switch", "--quiet", "main")
    repo.commit({"clusters/b/cluster.yaml": cluster("b")})
    assert muster(repo, "reconcile", *NOW)[0] == exits.FINE
    repo.git("switch", "--quiet", "topic")
    assert edits(repo, muster) == [], "the base moved on"
    repo.git("merge", "--quiet", "--no-edit", "main")
    assert edits(repo, muster) == []
    assert "warning MUS504" in edits(repo, muster, "HEAD~1")[0], "what the merge brought may be a run of muster"
    evil = repo.commit(CERTIFICATE)
    assert evil[:12] in edits(repo, muster)[0]


def test_a_shallow_clone_compares_with_the_base(repo: Repo, muster: Muster, tmp_path: Path) -> None:
    repo.commit({"notes.txt": "x"})
    shallow = clone(repo, tmp_path / "shallow", "--depth=1", "--no-single-branch")
    assert muster(shallow, "validate", "--rev", "HEAD", "--base", "origin/main")[0] == exits.FINE
    repo.commit(CERTIFICATE)
    shallow = clone(repo, tmp_path / "again", "--depth=1", "--no-single-branch")
    code, out, err = muster(shallow, "validate", "--rev", "HEAD", "--base", "origin/main")
    assert code == exits.FINDINGS
    assert "MUS504" in out + err


@pytest.mark.parametrize("where", ["topic", "main"])
def test_a_pull_request_does_not_waive_what_its_commits_do(where: str, repo: Repo, muster: Muster) -> None:
    """Its base may, which is decided by others."""
    repo.commit(CERTIFICATE)
    (found,) = (one for one in derived_edits(open_repository(repo.path, repo.environ), "main", "topic"))
    repo.git("switch", "--quiet", where)
    waiver = {
        "code": found.code.value,
        "file": found.about,
        "findings": [{"digest": found.digest}],
        "reason": "known",
        "owner": "sre",
        "until": "2099-01-01",
    }
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Waiver", "metadata": {"name": "w"}, "spec": waiver}
    repo.commit({"waivers/w.yaml": yaml.safe_dump(body)})
    repo.git("switch", "--quiet", "topic")
    repo.git("merge", "--quiet", "--no-edit", "main")
    code = exits.FINDINGS if where == "topic" else exits.FINE
    for command in (("validate", "--rev", "HEAD"), ("plan", *NOW)):
        done, out, err = muster(repo, *command, "--base", "main")
        assert done == code, (command, out, err)
        assert "error MUS504" in out + err, "an error is shown in any case"


def test_every_commit_counts_also_one_that_is_undone_or_empty(repo: Repo, muster: Muster) -> None:
    """A pair that looks like runs; an empty commit; a merge of it; a merge that drops what the base has."""
    now = "2026-01-01T00:00:30Z"
    first = repo.commit_run({"derived/notes.txt": "x"}, now="2099-01-01T00:00:00Z")
    second = repo.commit_run({"derived/notes.txt": None}, now=now)
    named = sorted(line.partition("commit ")[2][:12] for line in edits(repo, muster))
    assert named == sorted((first[:12], second[:12]))
    repo.git("reset", "--quiet", "--hard", "main")
    for said in ("Muster-Now: 2000-01-01T00:00:00Z", f"Muster-Source: {repo.tip()}", f"Muster-Whole: {repo.tip()}"):
        empty = repo.commit({}, f"Nothing\n\n{said}")
        repo.git("switch", "--quiet", "--create", f"more-{empty[:12]}", "main")
        repo.commit({"notes.txt": "x"})
        repo.git("merge", "--quiet", "--no-edit", "topic")
        code, out, err = muster(repo, "validate", "--rev", "HEAD", "--base", "main")
        assert code == exits.FINDINGS
        assert f"error MUS506: commit {empty[:12]} has a line Muster-Now" in out + err
        repo.git("switch", "--quiet", "topic")
        repo.git("reset", "--quiet", "--hard", "main")


def test_a_merge_does_not_drop_what_the_base_has(repo: Repo, muster: Muster) -> None:
    repo.commit({"notes.txt": "x"})
    repo.git("switch", "--quiet", "main")
    repo.commit({"clusters/b/cluster.yaml": cluster("b")})
    assert muster(repo, "reconcile", *NOW)[0] == exits.FINE
    repo.git("switch", "--quiet", "topic")
    repo.git("merge", "--quiet", "--no-commit", "--no-edit", "main")
    repo.git("checkout", "--quiet", "topic", "--", "derived/")
    repo.git("rm", "--quiet", "-r", "--cached", "derived/leases", "derived/managedclusters/b.yaml", check=False)
    for path in ("derived/leases/b/managed-cluster-lease.yaml", "derived/managedclusters/b.yaml"):
        (repo.path / path).unlink(missing_ok=True)
    merge = repo.commit({})
    (line,) = edits(repo, muster)
    assert f"error MUS504: commit {merge[:12]} changes derived/" in line
