"""A pull request that changes derived/ is a finding; what muster itself committed there is none."""

from pathlib import Path

import pytest
import yaml

from muster.answers.derivededits import derived_edits
from muster.commands import exits
from muster.gitio.repository import open_repository
from muster.model.kinds import CSR
from muster.model.tree import Tree
from tests.acts.test_walkthrough import Muster, cluster, fleet, muster
from tests.support.authority import new_authority
from tests.support.git import Repo, clone

__all__ = ["muster"]

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
    assert (checked, planned) == ((exits.FINDINGS, exits.FINDINGS) if found else (exits.FINE, exits.FINE))
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
    repo.commit({})
    assert edits(repo, muster) == []


def test_a_merge_request_that_forges_a_run_is_named_where_runs_are_signed(repo: Repo, muster: Muster) -> None:
    repo.commit_run({"derived/notes.txt": "x"}, now="2026-01-01T00:00:30Z")
    assert edits(repo, muster) == [], "without keys that the Fleet names, this is what a run looks like"
    repo.git("switch", "--quiet", "main")
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIIJdD7y3aLq454yWBdwLWbieU1ebz9/cu7/QEXn9OIeZ muster"
    fleet_with(repo, {"commit": {"signers": [key]}})
    repo.git("switch", "--quiet", "topic")
    repo.git("rebase", "--quiet", "main")
    assert len(edits(repo, muster)) == 1
    fleet_with(repo, {})  # a branch does not choose who may sign
    assert len(edits(repo, muster)) == 1


def test_the_signer_adds_certificates_and_nothing_else(repo: Repo, muster: Muster, tmp_path: Path) -> None:
    repo.git("switch", "--quiet", "main")
    path = "derived/certificatesigningrequests/r.yaml"
    body = {"apiVersion": CSR.api_version, "kind": CSR.name, "metadata": {"name": "r"}}

    def request(signed: bool, approved: bool = False) -> Tree:
        status: dict[str, Tree] = {"muster": {"decided": {"request": "d"}}}
        if signed:
            status |= {"certificate": "QUFB", "muster": {"decided": {"request": "d", "signed": "d"}}}
        if approved:
            status["conditions"] = [{"type": "Approved", "status": "True"}]
        return {**body, "status": status}

    asked, signed, approved = request(signed=False), request(signed=True), request(signed=True, approved=True)
    certificate, _ = new_authority(tmp_path / "ca")
    for named in (False, True):
        if named:
            fleet_with(repo, {"signing": {"authority": certificate.read_text(encoding="ascii")}})
        for before, after, fine in (
            (asked, signed, named),
            (None, signed, False),
            (None, {**body, "status": {"certificate": "QUFB"}}, named),
            (asked, approved, False),
            (signed, asked, False),
            (signed, None, False),
        ):
            repo.commit({path: None if before is None else yaml.safe_dump(before)})
            repo.commit({path: None if after is None else yaml.safe_dump(after)})
            found = list(derived_edits(open_repository(repo.path, repo.environ), "HEAD~1", "HEAD"))
            assert (found == []) is fine, (named, before, after)


def test_what_a_branch_merged_of_its_base_is_no_edit_of_it(repo: Repo, muster: Muster) -> None:
    repo.commit({"notes.txt": "x"})
    repo.git("switch", "--quiet", "main")
    repo.commit({"clusters/b/cluster.yaml": cluster("b")})
    assert muster(repo, "reconcile", *NOW)[0] == exits.FINE
    repo.git("switch", "--quiet", "topic")
    assert edits(repo, muster) == [], "the base moved on"
    repo.git("merge", "--quiet", "--no-edit", "main")
    assert edits(repo, muster) == []
    assert edits(repo, muster, "HEAD~1") == [], "what the merge brought is a run of muster"
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
