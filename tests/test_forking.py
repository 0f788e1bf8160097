"""A `muster` that is forked is to a shell what the real one is."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.forking import muster_command, search_path
from tests.support.git import git_environ
from tests.support.patience import wait_until

REAL = [sys.executable, "-c", "from muster.__main__ import main; main()"]
FORKED = muster_command({})


def said(command: list[str], arguments: tuple[str, ...], folder: Path, stdin: str) -> tuple[int, str, str]:
    """What a command line comes to in a folder that it must look at."""
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        env=git_environ(folder, COLUMNS="50"),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "code"),
    [
        (("validate",), "", 1),
        (("get", "--nonsense"), "", 2),
        (("history", "cluster/a"), "", 4),
        (("import", "-"), "kind: é\n", 4),
        (("--help",), "", 0),
    ],
    ids=str,
)
def test_it_says_and_returns_the_same(tmp_path: Path, arguments: tuple[str, ...], stdin: str, code: int) -> None:
    (tmp_path / "a.yaml").write_text("kind: ManagedClustr\napiVersion: cluster.open-cluster-management.io/v1\n")
    forked = said(FORKED, arguments, tmp_path, stdin)
    assert forked == said(REAL, arguments, tmp_path, stdin)
    assert forked[0] == code


def test_a_shell_finds_it_first_and_pipes_what_it_says(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", "muster --version | tr a-z A-Z; muster version | head -0"],
        capture_output=True,
        text=True,
        env=git_environ(tmp_path, PATH=search_path()),
        check=True,
    )
    assert done.stdout.startswith("MUSTER, VERSION ")
    assert done.stderr == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_signals_reach_it(tmp_path: Path, number: int, code: int) -> None:
    """Also one that ends its client at once."""
    environ = git_environ(tmp_path)
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(tmp_path)], env=environ, check=True)
    with subprocess.Popen([*FORKED, "watch"], cwd=tmp_path, env=environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"watching")
        assert _watching(tmp_path) >= 2, "the client and what it asked for"
        os.kill(process.pid, number)
        process.stdout.read()
        assert process.wait() == code
    wait_until(lambda: not _watching(tmp_path), lambda: "it goes on")


def _watching(folder: Path) -> int:
    """How many processes are in a folder."""
    return sum(_is_in(path, folder) for path in Path("/proc").glob("[0-9]*/cwd"))


def _is_in(path: Path, folder: Path) -> bool:
    try:
        return path.readlink() == folder
    except OSError:
        return False
