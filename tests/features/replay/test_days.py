"""A day of a fleet: its runs are repeated byte for byte, and a setting that is tried gives what a real rerun gives."""

from datetime import timedelta
from pathlib import Path

import pytest

from muster.features.replay.answers import repeat
from muster.git.repository import open_repository
from tests.support.days import HOUR, START, Days
from tests.support.git import Repo, clone
from tests.support.lived import Lived

UNTIL = START + 9 * HOUR
ALARM = timedelta(minutes=15)
GRACE = "managed-cluster-available.graceFactor"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lived, Lived, str]:
    """A fleet at its start and nine hours later, in which much happened, of six clusters that report on branches, a
    further repository and a relay; and the commit of the start."""
    folder = tmp_path_factory.mktemp("days")
    begun = Lived.begun(folder / "begun", Days.of(3, 6, 1, pace=12))
    lived = begun.copy(folder / "lived")
    start = lived.hub.tip("main")
    lived.live(UNTIL)
    return begun, lived, start


def cloned(hub: Repo, path: Path) -> Repo:
    """A fresh clone, with the records."""
    made = clone(hub, path, "--bare", "--no-local")
    made.git("fetch", "--quiet", "origin", "refs/muster/heard/*:refs/muster/heard/*")
    return made


def test_what_happened_is_repeated_in_a_clone(days: tuple[Lived, Lived, str], tmp_path: Path) -> None:
    _, lived, start = days
    repo = cloned(lived.hub, tmp_path / "clone")
    repository = open_repository(repo.path, repo.environ)
    found = repeat(repository, start, repo.tip("main"))
    assert list(found.differences) == []
    assert found.repeated == found.runs == len(lived.runs) > 10
