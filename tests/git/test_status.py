"""What a work tree changes of its commit, as git's index tells it: compared with the files, all of them read."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from muster.git.agents.listing import local_agent_refs
from muster.git.open import open_commit, work_tree_snapshot
from muster.git.repository import open_repository, resolve
from muster.git.status import UnknownChangesError, work_tree_changes
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit(
        {"a.yaml": "a: 1\n", "b/c.yaml": "c: 1\n", "b/d.json": "{}", "b/e.txt": "e", ".gitignore": "/tmp\n*.swp.yaml\n"}
    )
    return made


def rewritten_in_place(repo: Repo) -> None:
    """Of the same size, with the times of before: only that it is as young as the index gives it away."""
    file = repo.path / "a.yaml"
    was = file.stat()
    file.write_text("a: 2\n")
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


def touched(repo: Repo) -> None:
    os.utime(repo.path / "a.yaml")


def removed(repo: Repo) -> None:
    (repo.path / "a.yaml").unlink()


def renamed(repo: Repo) -> None:
    repo.git("mv", "a.yaml", "z.yaml")


def new(repo: Repo) -> None:
    repo.write("n/é ü.yaml", "n: 1\n")


def new_and_ignored(repo: Repo) -> None:
    repo.write("tmp/n.yaml", "n: 1\n")
    repo.write("x.swp.yaml", "n: 1\n")


def staged_and_edited_again(repo: Repo) -> None:
    repo.write("a.yaml", "a: 3\n")
    repo.git("add", "a.yaml")
    repo.write("a.yaml", "a: 1\n")


def out_of_the_index_and_still_there(repo: Repo) -> None:
    repo.git("rm", "--quiet", "--cached", "a.yaml")


def out_of_the_index_and_ignored_now(repo: Repo) -> None:
    repo.git("rm", "--quiet", "--cached", "b/c.yaml")
    repo.write(".gitignore", "/b/c.yaml\n")


def meant_to_be_added(repo: Repo) -> None:
    repo.write("n.yaml", "n: 1\n")
    repo.git("add", "--intent-to-add", "n.yaml")


def executable(repo: Repo) -> None:
    (repo.path / "a.yaml").chmod(0o755)


def attributes_that_convert_nothing(repo: Repo) -> None:
    repo.write(".gitattributes", "* -text !filter -ident linguist-generated diff=yaml\n")
    repo.write("a.yaml", "a: 1\r\n")


@pytest.mark.parametrize(
    "happens",
    [
        rewritten_in_place,
        touched,
        removed,
        renamed,
        new,
        new_and_ignored,
        staged_and_edited_again,
        meant_to_be_added,
        out_of_the_index_and_still_there,
        out_of_the_index_and_ignored_now,
        executable,
        attributes_that_convert_nothing,
    ],
)
def test_what_did_not_change_is_what_the_commit_has(repo: Repo, happens: Callable[[Repo], None]) -> None:
    happens(repo)
    repository = open_repository(repo.path, repo.environ)
    head = resolve(repository, "HEAD")
    changes = work_tree_changes(repository, head)
    commit = open_commit(repository, head)
    before = {file.path: file.oid for file in commit.files()}
    now = {file.path: file.oid for file in work_tree_snapshot(repository, local_agent_refs(repository)).files()}
    paths = {change.path for change in changes}
    assert {path for path in before.keys() | now.keys() if before.get(path) != now.get(path)} <= paths
    assert all(change.old and before[change.path] == change.old.oid for change in changes if change.path in before)
    part = work_tree_snapshot(repository, local_agent_refs(repository), changes, paths)
    assert {file.path: file.oid for file in part.files()} == {p: oid for p, oid in now.items() if p in paths}


def crlf(repo: Repo) -> None:
    repo.git("config", "core.autocrlf", "true")


def a_filter(repo: Repo) -> None:
    repo.commit({"b/.gitattributes": "*.yaml filter=lfs\n"})


def a_filter_to_be(repo: Repo) -> None:
    repo.write("b/.gitattributes", "*.yaml working-tree-encoding=UTF-16\n")


def attributes_of_this_clone(repo: Repo) -> None:
    (repo.path / ".git/info").mkdir()
    (repo.path / ".git/info/attributes").write_text("* text=auto\n")


def sparse(repo: Repo) -> None:
    repo.git("sparse-checkout", "set", "--no-cone", "/a.yaml")


def assumed_unchanged(repo: Repo) -> None:
    repo.git("update-index", "--assume-unchanged", "a.yaml")


def in_conflict(repo: Repo) -> None:
    repo.git("checkout", "--quiet", "-b", "other")
    repo.commit({"a.yaml": "a: 2\n"})
    repo.git("checkout", "--quiet", "main")
    repo.commit({"a.yaml": "a: 3\n"})
    repo.git("merge", "other", check=False)


@pytest.mark.parametrize(
    "happens", [crlf, a_filter, a_filter_to_be, attributes_of_this_clone, sparse, assumed_unchanged, in_conflict]
)
def test_where_the_index_does_not_tell_nothing_is_told(repo: Repo, happens: Callable[[Repo], None]) -> None:
    happens(repo)
    repository = open_repository(repo.path, repo.environ)
    with pytest.raises(UnknownChangesError):
        work_tree_changes(repository, resolve(repository, "HEAD"))


def test_of_another_commit_than_head_nothing_is_told(repo: Repo) -> None:
    repository = open_repository(repo.path, repo.environ)
    before = resolve(repository, "HEAD")
    repo.commit({"a.yaml": "a: 2\n"})
    with pytest.raises(UnknownChangesError):
        work_tree_changes(repository, before)
