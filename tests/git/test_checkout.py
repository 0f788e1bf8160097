"""Whether a checkout may have brought a file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from muster.git.checkout import why_of_checkout
from tests.support.git import Repo, add_worktree, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"a.yaml": "a: 1\n"})
    return made


def _tracked(repo: Repo) -> Path:
    repo.commit({"kept/s": "x"})
    return repo.path / "kept/s"


def _staged(repo: Repo) -> Path:
    repo.write("kept/s", "x")
    repo.git("add", "kept/s")
    return repo.path / "kept/s"


def _only_in_head(repo: Repo) -> Path:
    path = _tracked(repo)
    repo.git("rm", "--quiet", "--cached", "kept/s")
    return path


def _deleted_in_the_work_tree(repo: Repo) -> Path:
    path = _tracked(repo)
    path.unlink()
    return path


def _other_letters(repo: Repo) -> Path:
    repo.commit({"Kept/S": "x"})
    return repo.path / "kept/s"


def _a_link(repo: Repo) -> Path:
    repo.write("real", "x")
    (repo.path / "s").symlink_to("real")
    return repo.path / "s"


def _behind_a_link(repo: Repo) -> Path:
    repo.commit({"real/s": "x"})
    (repo.path / "kept").symlink_to("real")
    return repo.path / "kept/s"


def _behind_a_link_from_outside(repo: Repo) -> Path:
    repo.commit({"real/s": "x"})
    (repo.path.parent / "link").symlink_to(repo.path / "real")
    return repo.path.parent / "link/s"


def _behind_a_link_to_elsewhere(repo: Repo) -> Path:
    (repo.path.parent / "elsewhere").mkdir()
    (repo.path / "kept").symlink_to("../elsewhere")
    return repo.path / "kept/s"


def _in_a_repository_within(repo: Repo) -> Path:
    inner = new_repository(repo.path / "inner")
    inner.commit({"s": "x"})
    return inner.path / "s"


def _in_another_work_tree(repo: Repo) -> Path:
    other = add_worktree(repo, repo.path.parent / "other", "feature")
    other.commit({"s": "x"})
    return other.path / "s"


def _before_the_first_commit(repo: Repo) -> Path:
    fresh = new_repository(repo.path.parent / "fresh")
    fresh.write("s", "x")
    fresh.git("add", "s")
    return fresh.path / "s"


def _a_folder_with_a_tracked_file(repo: Repo) -> Path:
    repo.commit({"cache/state/x.sqlite": "x"})
    return repo.path / "cache"


@pytest.mark.parametrize(
    "make",
    [
        _tracked,
        _staged,
        _only_in_head,
        _deleted_in_the_work_tree,
        _other_letters,
        _a_link,
        _behind_a_link,
        _behind_a_link_from_outside,
        _behind_a_link_to_elsewhere,
        _in_a_repository_within,
        _in_another_work_tree,
        _before_the_first_commit,
        _a_folder_with_a_tracked_file,
    ],
)
def test_it_may(repo: Repo, make: Callable[[Repo], Path]) -> None:
    assert why_of_checkout([make(repo)], repo.environ)


@pytest.mark.parametrize("name", ["s", "kept/s", "kept/deeper/s", "[a]*.yaml", ":(top)a.yaml"])
def test_what_git_does_not_track_it_may_not(repo: Repo, name: str) -> None:
    repo.write(name, "x")
    assert why_of_checkout([repo.path / name], repo.environ) == ""


def test_a_file_beside_it_counts(repo: Repo) -> None:
    repo.commit({"s-wal": "x"})
    assert why_of_checkout([repo.path / "s"], repo.environ) == ""
    assert "s-wal" in why_of_checkout([repo.path / "s", repo.path / "s-wal"], repo.environ)


def test_outside_of_a_work_tree_it_may_not(tmp_path: Path, repo: Repo) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    for path in (tmp_path / "s", tmp_path / "link/s", tmp_path / "missing/s", repo.path / ".git/s"):
        assert why_of_checkout([path], repo.environ) == ""
