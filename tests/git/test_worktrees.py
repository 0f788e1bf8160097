"""Which work trees there are, and what each has checked out."""

from pathlib import Path

import pytest

from muster.git.repository import Worktree, checkouts, open_repository, worktrees
from tests.support.git import Repo, add_worktree, clone, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"a.yaml": "a: 1\n"})
    return made


@pytest.mark.parametrize("name", ["linked", "with space", "new\nline", "new\n\nline", "-dash"])
def test_lists_all_work_trees(repo: Repo, tmp_path: Path, name: str) -> None:
    add_worktree(repo, tmp_path / name, "feature/x")
    repo.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "detached"))
    repo.git("worktree", "lock", "--reason", "away\nfor now", str(tmp_path / "detached"))
    repository = open_repository(repo.path, repo.environ)
    trees = worktrees(repository)
    assert trees[0] == Worktree(repo.path, "main", locked=False)
    assert set(trees[1:]) == {
        Worktree(tmp_path / name, "feature/x", locked=False),
        Worktree(tmp_path / "detached", None, locked=True),
    }
    assert checkouts(repository, "feature/x") == (Worktree(tmp_path / name, "feature/x", locked=False),)
    assert checkouts(repository, "other") == ()


def test_a_bare_repository_has_its_branch_nowhere(repo: Repo, tmp_path: Path) -> None:
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    repository = open_repository(bare.path, bare.environ)
    assert worktrees(repository) == (Worktree(bare.path, None, locked=False),)
    assert checkouts(repository, "main") == ()
    linked = add_worktree(bare, tmp_path / "linked", "main")
    assert checkouts(repository, "main") == (Worktree(linked.path, "main", locked=False),)


def test_a_branch_without_commits_is_checked_out_all_the_same(tmp_path: Path) -> None:
    empty = new_repository(tmp_path / "empty")
    assert worktrees(open_repository(empty.path, empty.environ)) == (Worktree(empty.path, "main", locked=False),)
