"""The wheel that is built works outside the checkout: it carries policies, schemas and the example."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.support.git import git_environ


def test_the_wheel_carries_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "muster/py.typed",
        "muster/_bundle/policies/managed-cluster-available.yaml",
        "muster/_bundle/schemas/_common.json",
        "muster/_bundle/fleet-repo-example/fleet.yaml",
        "muster/_bundle/fleet-repo-example/.pre-commit-config.yaml",
        "muster/commands/skeleton/.github/workflows/reconcile.yaml",
        "muster/commands/skeleton/.github/workflows/plan.yaml",
        "muster/commands/skeleton/.github/workflows/comment.yaml",
        "muster/commands/skeleton/.gitlab-ci.yml",
        "muster/output/site/assets/index.html",
        "muster/output/site/assets/site.js",
        "muster/commands/skeleton/derived/.gitattributes",
    ):
        assert name in names


def test_the_installed_wheel_runs_the_demo_from_an_empty_directory(wheel: Path, tmp_path: Path) -> None:
    environ = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environ)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(environ), "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-compile", str(wheel)], check=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    done = subprocess.run(
        [environ / "bin" / "muster", "demo"],
        cwd=empty,
        env=git_environ(tmp_path, TMPDIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 cluster Unknown" in done.stdout
    assert list(empty.iterdir()) == []
