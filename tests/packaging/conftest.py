"""muster as a repository, and the release of it, made once for all tests that install it."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.support.git import Repo, new_repository
from tests.support.release import ROOT, release
from tests.support.release.making import Making, UnavailableError

#: What of this checkout the distributions are made of.
SHIPPED = ("engine", "policies", "schemas", "fleet-repo-example", "pyproject.toml", "README.md", "LICENSE")


def committed(path: Path, names: Iterable[str]) -> Repo:
    """A git repository at a path that has files and folders of this checkout, in one commit."""
    repo = new_repository(path)
    for name in names:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(ROOT / name, path / name)
    repo.commit()
    return repo


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    """muster as a git repository: what is shipped of this checkout."""
    return committed(tmp_path_factory.mktemp("source") / "muster", SHIPPED)


@pytest.fixture(scope="session")
def released(source: Repo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what is released, made with the build backend that is installed beside the tests, and signed; one
    part of it cannot be made here."""
    out, key = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("keys") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    _, missing = release(source.path, out, {"The image": _unavailable}, str(key))
    assert missing == {"The image": "buildah not installed"}
    (out / "signers").write_text(f"release@example.com {key.with_suffix('.pub').read_text()}")
    return out


def _unavailable(making: Making) -> None:
    raise UnavailableError("buildah not installed")


@pytest.fixture(scope="session")
def wheel(released: Path) -> Path:
    """The wheel of it."""
    return next(released.glob("*.whl"))
