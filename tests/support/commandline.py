"""Running the command line in this process, as a user would from a shell."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from muster import commandline as cli
from muster.cli.cache import state_path
from muster.git.repository import open_repository
from muster.run.memo.state import copy_of
from tests.support.git import Repo, copy, git_environ

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def muster(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command line and returns exit code, output and errors."""
    for name, value in git_environ(tmp_path, XDG_CACHE_HOME=str(tmp_path / ".cache")).items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = cli.run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


Make = Callable[[Path], Repo]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, Make], Repo]:
    """Return a function that makes a repository in which a run was, with what that keeps: once, and copies of both."""
    folder = tmp_path_factory.mktemp("once")

    def repository(path: Path, make: Make) -> Repo:
        if not (folder / "fleet").exists():
            copy_of(_kept(make(folder / "fleet")), folder / "kept" / "state")
        made = copy(folder / "fleet", path)
        copy_of(folder / "kept" / "state", _kept(made))
        return made

    return repository


def _kept(repo: Repo) -> Path:
    path = state_path(os.environ, open_repository(repo.path, repo.environ), "main", None)
    assert path is not None
    return path
