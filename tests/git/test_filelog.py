"""The commits that changed a file or the derived files below some folders."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from muster.git.filelog import derived_log, file_log, files_containing, walk_range
from muster.git.repository import Repository, open_repository
from tests.support.git import Repo, new_repository

FILE = "derived/a.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"a.yaml": "name: a\n"})
    return made


def opened(repo: Repo) -> Repository:
    return open_repository(repo.path, repo.environ)


def test_the_versions_of_a_file_are_dated_by_the_runs_that_made_them(repo: Repo) -> None:
    source = repo.tip()
    run = repo.commit_run({FILE: "1\n"}, now="2026-01-01T00:05:00Z")
    moved = repo.commit({FILE: None, "derived/00/a.yaml": "2\n"}, "Move it\n\nwith care")
    gone = repo.commit({"derived/00/a.yaml": None})
    versions = list(file_log(opened(repo), gone, (FILE, "derived/00/a.yaml")))
    assert [(one.commit, one.source, one.data) for one in versions] == [
        (run, source, b"1\n"),
        (moved, "", b"2\n"),
        (gone, "", None),
    ]
    assert versions[0].time == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)
    assert (versions[1].author, versions[1].subject) == ("Ada", "Move it")


def test_a_walk_ends_at_the_known_commit_or_at_a_length(repo: Repo) -> None:
    first = repo.commit_run({FILE: "1\n"})
    last = repo.commit_run({FILE: "2\n", "derived/b.txt": "2\n"})
    walk = walk_range(opened(repo), last, first, 10)
    assert walk.follows
    (commit,) = derived_log(opened(repo), walk, ("derived",))
    assert (commit.commit, commit.by_run, commit.first) == (last, True, False)
    assert [file.path for file in commit.files] == [FILE, "derived/b.txt"]
    cut = walk_range(opened(repo), last, "", 1)
    assert (cut.follows, cut.end, cut.cut) == (False, first, datetime(2026, 1, 1, tzinfo=UTC))
    assert not walk_range(opened(repo), last, "1" * 40, 10).follows


def test_files_that_name_something(repo: Repo) -> None:
    repo.commit({"b.yaml": "name: b\n", "derived/a.yaml": "name: a\n"})
    assert files_containing(opened(repo), repo.tip(), "name: a") == ["a.yaml"]
