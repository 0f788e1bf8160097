"""Which snapshot a path and a revision mean."""

from pathlib import Path

import pytest

from muster.git.errors import RepositoryError
from muster.git.open import open_snapshot
from tests.support.git import Repo, clone, new_repository

AGENTS = {"lease.yaml": "kind: Lease\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A commit with a file that the work tree has differently, and an agent's ref."""
    made = new_repository(tmp_path / "fleet")
    made.commit({"a.yaml": "committed: 1\n"})
    made.commit({"a.yaml": "newer: 1\n"})
    made.commit_to("refs/heads/agents/c1", AGENTS)
    made.write("a.yaml", "edited: 1\n")
    return made


def read(path: Path, rev: str | None = None) -> dict[str, bytes]:
    return {file.label: file.read() for file in open_snapshot(path, rev).files()}


def test_without_a_revision_a_directory_is_read_as_it_stands(repo: Repo, tmp_path: Path) -> None:
    assert read(repo.path) == {"a.yaml": b"edited: 1\n"}
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "b.yaml").write_text("b: 1\n")
    assert read(plain) == {"b.yaml": b"b: 1\n"}


@pytest.mark.parametrize("rev", ["HEAD", "main"])
def test_with_a_revision_it_is_the_commit_and_what_agents_say_now(repo: Repo, rev: str) -> None:
    assert read(repo.path, rev) == {"a.yaml": b"newer: 1\n", "agents/c1:lease.yaml": b"kind: Lease\n"}


def test_what_agents_say_now_does_not_count_for_the_past(repo: Repo) -> None:
    assert read(repo.path, "main~1") == {"a.yaml": b"committed: 1\n"}


def test_a_bare_repository_has_no_files_but_its_heads(repo: Repo, tmp_path: Path) -> None:
    bare = clone(repo, tmp_path / "bare.git", "--bare")
    assert read(bare.path) == read(repo.path, "HEAD")


def test_what_is_not_there_cannot_be_read(repo: Repo, tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="is not a directory"):
        open_snapshot(tmp_path / "nowhere")
    with pytest.raises(RepositoryError):
        open_snapshot(repo.path, "no-such-branch")
