"""The wheel that is built works outside the checkout: it carries policies, schemas and the example."""

import subprocess
import zipfile
from pathlib import Path

from tests.support.git import git_environ
from tests.support.release.running import try_out


def test_the_wheel_carries_its_data(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "muster/py.typed",
        "muster/_bundle/policies/managed-cluster-available.yaml",
        "muster/_bundle/schemas/_common.json",
        "muster/_bundle/fleet-repo-example/fleet.yaml",
        "muster/_bundle/fleet-repo-example/.pre-commit-config.yaml",
        "muster/features/init/skeleton/.github/workflows/reconcile.yaml",
        "muster/features/init/skeleton/.github/workflows/plan.yaml",
        "muster/features/init/skeleton/.github/workflows/comment.yaml",
        "muster/features/init/skeleton/.gitlab-ci.yml",
        "muster/features/page/assets/index.html",
        "muster/features/page/assets/site.js",
        "muster/features/init/skeleton/derived/.gitattributes",
    ):
        assert name in names


def test_the_installed_wheel_runs_from_an_empty_directory(wheel: Path, tmp_path: Path) -> None:
    environ = git_environ(tmp_path, TMPDIR=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
    printed = try_out(wheel, tmp_path, environ)
    assert printed.startswith("muster, version 0.")
    assert "created fleet.yaml" in printed
    assert printed.endswith("2 objects, no findings\n")
    empty = tmp_path / "empty"
    empty.mkdir()
    command = [str(tmp_path / "venv/bin/muster"), "demo"]
    done = subprocess.run(command, cwd=empty, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "prod-ap-2 Unknown" in done.stdout
    assert list(empty.iterdir()) == []
