"""What differs between two commits."""

import os
from pathlib import Path

import pytest

from muster.git.changes import Blob, PathChange, changed_paths, changes_between
from muster.git.repository import open_repository
from tests.support.git import Repo, clone, new_repository


@pytest.fixture(params=["sha1", "sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repo:
    return new_repository(tmp_path / "fleet", object_format=request.param)


def test_lists_what_was_added_changed_removed_and_renamed(repo: Repo, tmp_path: Path) -> None:
    old = repo.commit({"same": "0", "changed": "1", "removed": "2", "from": "content\n" * 9, "new\nline": "3"})
    (repo.path / "from").rename(repo.path / "to")
    new = repo.commit({"changed": "4", "removed": None, "added/deep": "5", "new\nline": "6", 'quo"te': "7"})

    def before(path: str) -> Blob:
        return Blob("100644", repo.tip(f"{old}:{path}"))

    def after(path: str) -> Blob:
        return Blob("100644", repo.tip(f"{new}:{path}"))

    expected = (
        PathChange("added/deep", None, after("added/deep"), b"added/deep"),
        PathChange("changed", before("changed"), after("changed"), b"changed"),
        PathChange("from", before("from"), None, b"from"),
        PathChange("new\\nline", before("new\nline"), after("new\nline"), b"new\nline"),
        PathChange('quo"te', None, after('quo"te'), b'quo"te'),
        PathChange("removed", before("removed"), None, b"removed"),
        PathChange("to", None, after("to"), b"to"),
    )
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    for where in (repo, bare):
        repository = open_repository(where.path, where.environ)
        assert changed_paths(repository, old, new) == changes_between(repository.git, old, new) == expected
        assert changed_paths(repository, new, new) == ()


def test_from_nothing_everything_is_new(repo: Repo) -> None:
    new = repo.commit({"a": "1", os.fsdecode(b"b\xe9"): "2"})
    changes = changed_paths(open_repository(repo.path, repo.environ), None, new)
    assert [(change.path, change.old) for change in changes] == [("a", None), ("b\\xe9", None)]


def test_does_not_look_at_the_index(repo: Repo) -> None:
    old, new = repo.commit({"a": "1"}), repo.commit({"a": "2"})
    repo.write(".git/index", "damaged")
    assert [change.path for change in changed_paths(open_repository(repo.path, repo.environ), old, new)] == ["a"]
