"""What people did between two commits, and whether they said anything to runs."""

from pathlib import Path

import pytest

from muster.git.history import has_run_trailers, touched_between
from muster.git.repository import Repository, open_repository
from tests.support.git import Repo, new_repository


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "repo")
    repo.commit({"a.yaml": "a\n", "b.yaml": "b\n"})
    return repo


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def test_what_was_changed_back_counts_too(repo: Repo) -> None:
    first = repo.tip()
    repo.commit({"a.yaml": "x\n", "c.yaml": "c\n"})
    last = repo.commit({"a.yaml": "a\n", "ö y.md": "x"})
    assert [change.path for change in touched_between(opened(repo), first, last)] == ["c.yaml", "ö y.md", "a.yaml"]


def test_a_merge_is_what_its_sides_brought(repo: Repo) -> None:
    first = repo.tip()
    repo.git("checkout", "--quiet", "-b", "side")
    repo.commit({"side.yaml": "s\n"})
    repo.git("checkout", "--quiet", "main")
    second = repo.commit({"main.yaml": "m\n"})
    repo.git("merge", "--quiet", "--no-ff", "--no-edit", "side")
    assert {change.path for change in touched_between(opened(repo), second, repo.tip())} == {"side.yaml"}
    assert {change.path for change in touched_between(opened(repo), first, repo.tip())} == {"side.yaml", "main.yaml"}


@pytest.mark.parametrize(
    ("message", "speaks"),
    [
        ("Change", False),
        ("Let go\n\nMuster-Allow-Removal: all", True),
        ("Now\n\nMuster-Now: 2026-01-01T00:00:00Z", False),
        ("Say how Muster-Now: works", False),
    ],
)
def test_a_word_to_runs_is_a_line_of_its_own(repo: Repo, message: str, speaks: bool) -> None:
    first = repo.tip()
    repo.commit({"a.yaml": "x\n"}, message)
    last = repo.commit({"a.yaml": "y\n"})
    assert has_run_trailers(opened(repo), first, last) is speaks
    assert not has_run_trailers(opened(repo), last, last)
