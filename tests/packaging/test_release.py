"""What `make release` makes: of the commit alone, the same bytes again, and a statement that says so."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.git import Repo, git_environ
from tests.support.release import PROVENANCE, SUMS, release


def test_the_statement_is_of_these_files_and_of_this_commit(source: Repo, released: Path) -> None:
    """That two builds of it are equal, making it has asserted."""
    statement = json.loads((released / PROVENANCE).read_text())
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    assert sorted(name.partition("-")[0] for name in subjects) == ["muster_fleet", "muster_fleet"]
    assert subjects == {name: sha256((released / name).read_bytes()).hexdigest() for name in subjects}
    assert {path.name for path in released.iterdir()} == {*subjects, PROVENANCE, SUMS, f"{SUMS}.sig", "signers"}
    made_from, *tools = statement["predicate"]["buildDefinition"]["resolvedDependencies"]
    assert made_from["digest"] == {"gitCommit": source.tip(), "gitTree": source.git("rev-parse", "HEAD^{tree}")}
    assert [tool["name"] for tool in tools] == ["build", "hatchling"]
    done = subprocess.run(["sha256sum", "--check", "--strict", SUMS], cwd=released, capture_output=True, check=False)
    assert done.returncode == 0


def test_the_digests_are_signed_where_a_key_is_given(released: Path) -> None:
    by = ("-f", "signers", "-I", "release@example.com", "-n", "file", "-s", f"{SUMS}.sig")
    for content, code in (((released / SUMS).read_bytes(), 0), (b"others", 255)):
        command = ["ssh-keygen", "-Y", "verify", *by]
        done = subprocess.run(command, cwd=released, input=content, capture_output=True, check=False)
        assert done.returncode == code, done.stderr


def test_what_is_not_committed_is_in_no_release(source: Repo, tmp_path: Path) -> None:
    stray = source.path / "engine/muster/stray.py"
    stray.write_text("")
    try:
        with pytest.raises(AssertionError, match="commit everything first"):
            release(source.path, tmp_path / "dist")
    finally:
        stray.unlink()


def test_the_sdist_can_be_installed_too(released: Path, tmp_path: Path) -> None:
    """Offline, and without what muster needs: the build backend and that are found where these tests have theirs."""
    (sdist,) = released.glob("*.tar.gz")
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--no-compile",
        "--disable-pip-version-check",
        "--target",
        str(tmp_path / "target"),
        str(sdist),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    environ = git_environ(tmp_path, PYTHONPATH=str(tmp_path / "target"))
    command = [sys.executable, "-m", "muster", "validate"]
    done = subprocess.run(command, cwd=tmp_path / "target", env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
