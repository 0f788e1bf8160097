"""muster as a repository, and the release of it, made once for all tests that install it."""

import shutil
from pathlib import Path

import pytest

from tests.support.git import Repo, new_repository
from tests.support.release import ROOT, release

#: What of this checkout the distributions are made of.
SHIPPED = ("engine", "policies", "schemas", "fleet-repo-example", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """muster as a git repository: what is shipped of this checkout, in one commit."""
    repo = new_repository(tmp_path_factory.mktemp("source") / "muster")
    for name in SHIPPED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, repo.path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(path, repo.path / name)
    repo.commit()
    return repo


@pytest.fixture(scope="session")
def released(source: Repo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what is released, made with the build backend that is installed beside the tests."""
    out = tmp_path_factory.mktemp("dist")
    assert len(release(source.path, out)) == 2
    return out


@pytest.fixture(scope="session")
def wheel(released: Path) -> Path:
    """The wheel of it."""
    return next(released.glob("*.whl"))
