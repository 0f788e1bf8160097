"""Running the command line in this process, as a user would from a shell."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.commands import cli
from tests.support.git import git_environ

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
