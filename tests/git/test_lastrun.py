"""When the last run decided, as far as history tells."""

from pathlib import Path

import pytest

from muster.data.times import parse_time
from muster.git.enginecommits import LastRun, last_run
from muster.git.repository import open_repository, resolve
from tests.support.git import Repo, new_repository

DERIVED = "derived/managedclusters/a.yaml"
FIRST, SECOND, UNTIL = "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z", "2026-01-01T01:00:00Z"


def derived(*transitions: str) -> str:
    return "status:\n  conditions:\n" + "".join(f"  - lastTransitionTime: '{time}'\n" for time in transitions)


def asked(repo: Repo, revision: str = "HEAD") -> LastRun:
    repository = open_repository(repo.path, repo.environ)
    return last_run(repository, resolve(repository, revision), parse_time(FIRST), parse_time(UNTIL))


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({"fleet.yaml": "# nothing\n"}, "By a person, who writes\n\nMuster-Now: 2030-01-01T00:00:00Z")
    return made


def test_where_nothing_is_derived_there_was_no_run(repo: Repo) -> None:
    assert asked(repo) == LastRun()


def test_the_newest_commit_with_the_trailer_counts(repo: Repo) -> None:
    repo.commit_run({DERIVED: derived(FIRST)}, "1 cluster available", now=FIRST)
    last = repo.commit_run({DERIVED: derived(SECOND)}, "1 cluster Unknown", now=SECOND)
    repo.commit({"fleet.yaml": "# more\n"}, f"Quote Muster\n\nMuster-Now: {FIRST} it said\n\nand more text")
    assert asked(repo) == LastRun(parse_time(SECOND), last)


@pytest.mark.parametrize("said", ["", "Muster-Now: yesterday"], ids=["squashed", "no time"])
def test_without_a_trailer_the_latest_transition_is_the_nearest_that_is_known(tmp_path: Path, said: str) -> None:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({DERIVED: derived(SECOND, FIRST, "2099-01-01T00:00:00Z")}, f"Everything at once\n\n{said}")
    assert asked(repo) == LastRun(parse_time(SECOND))
    repo.commit({DERIVED: "status: {}\n"})
    assert asked(repo) == LastRun()
