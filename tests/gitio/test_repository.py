"""Opening repositories of every form, and saying clearly what is wrong with one that cannot be opened."""

import os
import stat
from pathlib import Path

import pytest

from muster.gitio.errors import RepositoryError
from muster.gitio.process import Git
from muster.gitio.repository import current_branch, is_empty, open_repository, resolve
from tests.support.git import Repo, add_worktree, clone, git_environ, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"clusters/a/cluster.yaml": "a: 1\n"})
    return made


def test_opens_the_work_tree_from_any_directory_inside(repo: Repo) -> None:
    opened = open_repository(repo.path / "clusters" / "a", repo.environ)
    assert opened.worktree == repo.path
    assert opened.git_dir == repo.path / ".git"
    assert resolve(opened, "HEAD") == repo.tip()


def test_opens_a_bare_repository(repo: Repo, tmp_path: Path) -> None:
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    opened = open_repository(bare.path, bare.environ)
    assert opened.worktree is None
    assert resolve(opened, "main") == repo.tip()
    assert current_branch(opened) == "main"


def test_opens_a_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    linked = add_worktree(repo, tmp_path / "linked", "feature")
    opened = open_repository(linked.path, linked.environ)
    assert opened.worktree == linked.path
    assert opened.git_dir == repo.path / ".git" / "worktrees" / "linked"
    assert current_branch(opened) == "feature"


def test_opens_from_within_the_git_directory_as_a_server_hook_does(repo: Repo) -> None:
    opened = open_repository(repo.path / ".git", repo.environ)
    assert opened.worktree is None
    assert resolve(opened, "main") == repo.tip()


def test_opens_a_shallow_clone(repo: Repo, tmp_path: Path) -> None:
    repo.commit({"b.yaml": "b: 1\n"})
    repo.git("clone", "--quiet", "--depth=1", f"file://{repo.path}", str(tmp_path / "shallow"))
    assert resolve(open_repository(tmp_path / "shallow", repo.environ), "HEAD") == repo.tip()


def test_opens_a_sha256_repository(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "sha256", object_format="sha256")
    commit = repo.commit({"a.yaml": "a: 1\n"})
    opened = open_repository(repo.path, repo.environ)
    assert opened.object_format == "sha256"
    assert len(commit) == 64
    assert resolve(opened, "main") == commit


def test_a_path_with_a_newline_opens(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "new\nline")
    commit = repo.commit({"a.yaml": "a: 1\n"})
    opened = open_repository(repo.path, repo.environ)
    assert opened.worktree == repo.path
    assert resolve(opened, "HEAD") == commit


def test_refuses_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError) as caught:
        open_repository(tmp_path, git_environ(tmp_path))
    assert caught.value.message == f"{tmp_path} is not in a git repository"
    assert caught.value.hint


@pytest.mark.parametrize("name", ["absent", "file"])
def test_refuses_what_is_no_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RepositoryError, match="is not a directory"):
        open_repository(tmp_path / name, git_environ(tmp_path))


def test_an_empty_repository_opens_but_has_no_commit(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "empty")
    opened = open_repository(repo.path, repo.environ)
    assert is_empty(opened)
    assert current_branch(opened) == "main"
    with pytest.raises(RepositoryError, match="has no commits yet"):
        resolve(opened, "HEAD")


def test_an_unknown_revision_names_the_nearest(repo: Repo) -> None:
    repo.git("branch", "production")
    repo.git("tag", "v1.0")
    opened = open_repository(repo.path, repo.environ)
    with pytest.raises(RepositoryError) as caught:
        resolve(opened, "prodution")
    assert "'prodution'" in caught.value.message
    assert caught.value.hint == "did you mean production?"


@pytest.mark.parametrize("revision", ["", "--all", "a\0b", "no such", "HEAD~99", "HEAD:clusters", "0" * 40])
def test_refuses_what_names_no_commit(repo: Repo, revision: str) -> None:
    with pytest.raises(RepositoryError) as caught:
        resolve(open_repository(repo.path, repo.environ), revision)
    assert caught.value.hint


@pytest.mark.parametrize("revision", ["main", "HEAD", "v1", "refs/heads/main", "main~0", "HEAD@{0}"])
def test_resolves_every_way_to_name_a_commit(repo: Repo, revision: str) -> None:
    repo.git("tag", "--annotate", "v1", "--message", "one")
    assert resolve(open_repository(repo.path, repo.environ), revision) == repo.tip()


def test_a_detached_head_has_a_commit_and_no_branch(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "--detach")
    opened = open_repository(repo.path, repo.environ)
    assert current_branch(opened) is None
    assert resolve(opened, "HEAD") == repo.tip("main")


def test_a_repository_of_another_user_is_explained(repo: Repo) -> None:
    with pytest.raises(RepositoryError) as caught:
        open_repository(repo.path, {**repo.environ, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"})
    assert "belongs to another user" in caught.value.message
    assert f"safe.directory {repo.path}" in caught.value.hint


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


def test_a_directory_that_is_gone_is_not_replaced_by_the_current_one(tmp_path: Path) -> None:
    git = Git(tmp_path / "gone", git_environ(tmp_path))
    assert git.line("rev-parse", "--git-dir") is None
