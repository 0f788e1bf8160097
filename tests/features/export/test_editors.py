"""What editors go by: schemas that `muster init` and `muster export schemas` lay down, and the line that names them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import muster as package
from tests.features.edits.test_claim_cli import NOW, POOL
from tests.support.commandline import Run
from tests.support.example import EXAMPLE, NOON
from tests.support.git import Repo, git_environ

MODELINE = re.compile(r"# yaml-language-server: \$schema=(\S+)\n")


@pytest.fixture
def repo(tmp_path: Path, muster: Run) -> Repo:
    """What `muster init` lays down, and a pool, in one commit."""
    assert muster("init", tmp_path / "fleet")[0] == 0
    repo = Repo(tmp_path / "fleet", git_environ(tmp_path))
    repo.commit({"pools/ci.yaml": POOL})
    return repo


def named(file: Path) -> Path:
    """The schema that the first line of a file names."""
    found = MODELINE.match(file.read_text())
    assert found
    return file.parent / found[1]


def checked(file: Path) -> "subprocess.CompletedProcess[str]":
    """What another validator says of a file, by the schema that it names, from the disk."""
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(named(file)), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_what_is_laid_down_names_its_schema(repo: Repo) -> None:
    for name in ("fleet.yaml", "clusters/example/cluster.yaml"):
        done = checked(repo.path / name)
        assert done.returncode == 0, done.stdout
    file = repo.path / "clusters/example/cluster.yaml"
    file.write_text(file.read_text().replace("hubAcceptsClient", "hubAcceptClient"))
    done = checked(file)
    assert done.returncode == 1
    assert "'hubAcceptClient' was unexpected" in done.stdout


def test_edits_keep_the_line_and_new_files_get_one(repo: Repo, muster: Run) -> None:
    file = repo.path / "clusters/example/cluster.yaml"
    before = file.read_text()
    assert muster("accept", "--clusters", "example", "--repo", repo.path)[0] == 0
    assert file.read_text() == before.replace("hubAcceptsClient: false", "hubAcceptsClient: true")
    assert muster("claim", "job-1", "--pool", "ci", "--repo", repo.path, "--now", NOW)[0] == 0
    claim = repo.path / "pools/claims/pools/job-1.yaml"
    assert named(claim).resolve() == repo.path / ".muster/schemas/clusterclaim.json"
    assert checked(claim).returncode == 0


def test_a_repository_without_schemas_gets_no_line(repo: Repo, muster: Run) -> None:
    repo.git("rm", "--quiet", "-r", ".muster")
    repo.commit()
    assert muster("claim", "job-1", "--pool", "ci", "--repo", repo.path, "--now", NOW)[0] == 0
    assert not MODELINE.match((repo.path / "pools/claims/pools/job-1.yaml").read_text())


def test_they_are_written_anew_on_demand(repo: Repo, muster: Run) -> None:
    fleet = repo.path / ".muster/schemas/fleet.json"
    text = fleet.read_text()
    fleet.write_text("{}\n")
    assert "kept    .muster/schemas (exists)" in muster("init", repo.path)[1]
    assert muster("export", "schemas", repo.path / ".muster/schemas")[0] == 0
    assert fleet.read_text() == text
    assert repo.git("status", "--porcelain") == ""


def test_the_line_changes_nothing_of_what_is_derived(tmp_path: Path) -> None:
    """Above every file of the example that people and agents write, it is a fixed point as it was."""
    for source in EXAMPLE.rglob("*.yaml"):
        name = source.relative_to(EXAMPLE)
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        above = "" if name.parts[0] == "derived" else "# yaml-language-server: $schema=.muster/schemas/object.json\n"
        target.write_text(above + source.read_text())
    run = package.evaluate(tmp_path, NOON)
    assert (run.files, run.findings) == ({}, [])
