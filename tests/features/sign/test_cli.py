"""`muster sign`, and the same of reconcile: where the key may lie, and what is said."""

from pathlib import Path

import pytest

from tests.features.sign.test_signing import CLUSTER, derived, request
from tests.support.authority import new_authority
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

NOW = "2026-01-01T00:00:00Z"


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"c1.yaml": CLUSTER, "a.yaml": request("a")})
    return repo


def test_a_reconcile_with_an_authority_signs_what_it_approves(fleet: Repo, muster: Run, tmp_path: Path) -> None:
    certificate, key = new_authority(tmp_path / "ca")
    files = ("--ca-cert", str(certificate), "--ca-key", str(key), "--longest", "12h")
    code, out, _ = muster("reconcile", "--repo", str(fleet.path), "--now", NOW, *files)
    assert code == 0
    assert "CertificateSigningRequest/a: signed for the agent of c1 at 2026-01-01T00:00:00Z" in out
    assert derived(fleet, "a")["status"]["certificate"]
    assert fleet.git("log", "-1", "--format=%s").strip() == "Sign 1 request for a certificate"
    assert muster("sign", "--repo", str(fleet.path), *files)[:2] == (0, "nothing to do\n")
    assert all(key.read_text() not in fleet.show(path) for path in fleet.paths())

    fleet.commit({"b.yaml": request("b", usages=["server auth"])})
    code, out, err = muster("reconcile", "--repo", str(fleet.path), "--now", NOW, *files)
    assert code == 1
    assert "CertificateSigningRequest/b is not signed: it asks for server auth" in err


def test_a_key_in_the_repository_is_refused(fleet: Repo, muster: Run, tmp_path: Path) -> None:
    for folder in (fleet.path / "ca", fleet.path / ".git/ca"):
        certificate, key = new_authority(folder)
        code, _, err = muster("sign", "--repo", str(fleet.path), "--ca-cert", str(certificate), "--ca-key", str(key))
        assert code == 2
        assert "is inside the repository, where it must never be" in err
    code, _, err = muster("reconcile", "--repo", str(fleet.path), "--ca-cert", str(certificate))
    assert (code, "--ca-cert and --ca-key go together" in err) == (2, True)
    outside, _ = new_authority(tmp_path / "ca")
    _, other = new_authority(tmp_path / "other")
    code, _, err = muster("sign", "--repo", str(fleet.path), "--ca-cert", str(outside), "--ca-key", str(other))
    assert (code, f"{other} is not the key of {outside}" in err) == (2, True)
    code, _, err = muster("watch", "--repo", str(fleet.path), "--ca-cert", "x", "--ca-key", "y", "--longest", "0s")
    assert (code, "'0s' is not a duration such as 12h or 30m" in err) == (2, True)
