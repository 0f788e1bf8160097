"""Running git: which git, in which environment, for how long."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from muster.git.errors import KilledError, RepositoryError
from muster.git.repository import open_repository, resolve
from muster.git.snapshot import CommitSnapshot
from muster.git.store.process import Git, Process
from tests.support.git import Repo, git_environ, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"clusters/a/cluster.yaml": "a: 1\n"})
    return made


def _fake_git(directory: Path, script: str) -> str:
    """Put a `git` on a PATH of its own that runs `script`; return that PATH."""
    directory.mkdir()
    fake = directory / "git"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    return str(directory)


def test_a_missing_git_is_explained(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(RepositoryError) as caught:
        open_repository(repo.path, {**repo.environ, "PATH": str(tmp_path)})
    assert "git cannot be started" in caught.value.message
    assert "PATH" in caught.value.hint


def test_a_missing_git_is_explained_also_with_an_unchanged_environment(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RepositoryError, match="git cannot be started"):
        open_repository(repo.path, os.environ)


@pytest.mark.parametrize("version", ["git version 1.8.3.1", "git version 2.29.9", "nonsense"])
def test_an_old_git_is_refused(repo: Repo, tmp_path: Path, version: str) -> None:
    path = _fake_git(tmp_path / "bin", f"echo '{version}'") + os.pathsep + repo.environ["PATH"]
    with pytest.raises(RepositoryError, match="is too old"):
        open_repository(repo.path, {**repo.environ, "PATH": path})


#: Kills itself at one command, and is git for all others.
_KILLED = 'case "$*" in *"$KILLED_AT"*) kill -"$KILLED_BY" $$ ;; esac\nexec "$REAL_GIT" "$@"'


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGTERM, signal.SIGXCPU])
@pytest.mark.parametrize("command", ["config", "cat-file", "ls-tree"])
def test_a_git_that_a_signal_ended_says_nothing_of_the_repository(
    repo: Repo, tmp_path: Path, command: str, signal_: signal.Signals
) -> None:
    real = shutil.which("git", path=repo.environ["PATH"])
    environ = {
        **repo.environ,
        "PATH": _fake_git(tmp_path / "bin", _KILLED) + os.pathsep + repo.environ["PATH"],
        "REAL_GIT": str(real),
        "KILLED_AT": command,
        "KILLED_BY": signal_.name.removeprefix("SIG"),
    }
    with pytest.raises(KilledError) as caught:
        for file in CommitSnapshot(open_repository(repo.path, environ), repo.tip("main")).files():
            file.read()
    assert caught.value.message == f"git {command} was ended by {signal_.name}"


def test_a_hooks_environment_does_not_leak_into_another_repository(repo: Repo, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other")
    commit = other.commit({"b.yaml": "b: 1\n"})
    hook = {
        "GIT_DIR": str(repo.path / ".git"),
        "GIT_WORK_TREE": str(repo.path),
        "GIT_INDEX_FILE": str(repo.path / ".git" / "next-index-1.lock"),
        "GIT_OBJECT_DIRECTORY": str(repo.path / ".git" / "objects"),
    }
    opened = open_repository(other.path, {**other.environ, **hook})
    assert resolve(opened, "HEAD") == commit
    assert opened.staged_index == other.path / ".git" / "index"


def test_variables_of_the_own_process_do_not_leak_either(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = new_repository(tmp_path / "other")
    commit = other.commit({"b.yaml": "b: 1\n"})
    monkeypatch.setenv("GIT_DIR", str(repo.path / ".git"))
    assert resolve(open_repository(other.path, other.environ), "HEAD") == commit


@pytest.mark.parametrize(
    ("hook", "index"),
    [
        ({"GIT_INDEX_FILE": ".git/index"}, ".git/index"),
        ({"GIT_INDEX_FILE": "{repo}/.git/next-index-7.lock"}, ".git/next-index-7.lock"),
        ({"GIT_INDEX_FILE": "{repo}/mine", "GIT_DIR": "{repo}/.git"}, "mine"),
        ({"GIT_INDEX_FILE": "/elsewhere/.git/index"}, ".git/index"),
        ({}, ".git/index"),
    ],
)
def test_a_pre_commit_hooks_index_is_the_staged_one(repo: Repo, hook: dict[str, str], index: str) -> None:
    environ = {name: value.format(repo=repo.path) for name, value in hook.items()}
    opened = open_repository(repo.path, {**repo.environ, **environ})
    assert opened.staged_index == repo.path / index


def test_a_command_past_its_limit_is_killed_with_its_children(repo: Repo, tmp_path: Path) -> None:
    path = _fake_git(tmp_path / "bin", "echo $$ >&2; sleep 600 & wait") + os.pathsep + repo.environ["PATH"]
    git = Git(repo.path, {**repo.environ, "PATH": path})
    with pytest.raises(RepositoryError, match="no answer within"):
        git.run("fetch", limit_seconds=0.2)


@pytest.mark.parametrize("script", ["setsid sleep 20 & echo said", "setsid sleep 20 & sleep 20"])
def test_a_child_that_keeps_the_pipes_is_not_waited_for(repo: Repo, tmp_path: Path, script: str) -> None:
    """As a helper of ssh does that stays for the next connection: it has left the process group, too."""
    path = _fake_git(tmp_path / "bin", script) + os.pathsep + repo.environ["PATH"]
    git = Git(repo.path, {**repo.environ, "PATH": path})
    began = time.monotonic()
    if "said" in script:
        assert git.run("fetch", limit_seconds=15).stdout == b"said\n"
    else:
        with pytest.raises(RepositoryError, match="no answer within 0.3 seconds"):
            git.run("fetch", limit_seconds=0.3)
    assert time.monotonic() - began < 10


def test_a_directory_that_is_gone_is_not_replaced_by_the_current_one(tmp_path: Path) -> None:
    git = Git(tmp_path / "gone", git_environ(tmp_path))
    assert git.line("rev-parse", "--git-dir") is None


def test_an_interrupt_while_git_is_started_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes when git runs already, and before anybody could end it."""
    started: list[Process] = []

    def interrupted(*arguments: Any, **options: Any) -> Process:
        started.append(Process(*arguments, **options))
        signal.raise_signal(signal.SIGINT)
        return started[-1]

    monkeypatch.setattr("muster.git.store.process.Process", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Git(tmp_path, dict(os.environ)).start("cat-file", "--batch")
    (process,) = started
    assert process.wait(10)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_process_that_nobody_dropped_is_ended_in_silence(repo: Repo) -> None:
    """Its handle ends it, too, but may be dropped when there is nothing left to do that with."""
    script = (
        "import os, pathlib, sys; from muster.git.repository import open_repository\n"
        "os.kept = open_repository(pathlib.Path(sys.argv[1]), os.environ).git.start('cat-file', '--batch')\n"
        "print(os.kept.pid)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, repo.path], capture_output=True, text=True, check=True, env=repo.environ
    )
    assert done.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(done.stdout), 0)
