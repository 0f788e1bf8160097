"""docs/act/ci.md: each cluster of a placement gets a job, by scripts and files that the forges accept."""

import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.support.example import EXAMPLE
from tests.support.forking import search_path
from tests.support.git import Repo, git_environ, new_repository

PAGE = (Path(__file__).parents[3] / "docs/act/ci.md").read_text(encoding="utf-8")
CLUSTERS = ["new-ap-1", "prod-ap-1", "prod-ap-2", "prod-eu-1", "prod-eu-2", "prod-us-1"]
NOW = "--now 2026-01-01T12:00:00Z"


def example(folder: Path) -> Repo:
    """The example fleet as a repository."""
    repo = new_repository(folder)
    files = {str(path.relative_to(EXAMPLE)): path.read_bytes() for path in EXAMPLE.rglob("*") if path.is_file()}
    repo.commit(files)
    return repo


def run(script: str, cwd: Path, folder: Path) -> str:
    """Run a script of the page, as of the example's noon."""
    environ = git_environ(folder, PATH=search_path(), GITHUB_OUTPUT=str(folder / "output"))
    script = script.replace("muster get", f"muster get {NOW}")
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script], env=environ, cwd=cwd, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_matrix_of_github(tmp_path: Path) -> None:
    repo = example(tmp_path / "fleet")
    shown, written = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    assert json.loads(run(shown, repo.path, tmp_path)) == CLUSTERS
    run(written, repo.path, tmp_path)
    (line,) = (tmp_path / "output").read_text().splitlines()
    assert json.loads(line.removeprefix("matrix=")) == {"cluster": CLUSTERS}


def test_a_child_pipeline_of_gitlab(tmp_path: Path) -> None:
    repo = example(tmp_path / "fleet")
    workflow, jobs = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)
    (script,) = yaml.safe_load(jobs)["clusters"]["script"]
    run(script, repo.path, tmp_path)
    child = yaml.safe_load((repo.path / "child.yml").read_text())
    assert list(child) == ["done", *(f"deploy {name}" for name in CLUSTERS)]
    assert child["deploy prod-eu-1"] == {"variables": {"CLUSTER": "prod-eu-1"}, "script": ["./deploy $CLUSTER"]}
    for schema, name, text in (
        ("vendor.github-workflows", "deploy.yaml", workflow),
        ("vendor.gitlab-ci", "jobs.yml", jobs),
        ("vendor.gitlab-ci", "child.yml", (repo.path / "child.yml").read_text()),
    ):
        path = tmp_path / name
        path.write_text(text)
        command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
