"""Following pulses: each once, as it becomes due, whatever woke the follower."""

from datetime import datetime, timedelta
from pathlib import Path
from threading import Event

import pytest

from muster.data.tree import Tree
from muster.features.pulses.follow import follow
from muster.git.errors import RepositoryError
from muster.git.repository import open_repository
from tests.features.pulses.test_publish import CLUSTER, FLEET, NOON
from tests.support.git import Repo, clone, new_repository

INTERVAL = timedelta(minutes=5)


class Sleeper(Event):
    """A clock that moves while the follower sleeps. What happens meanwhile is done, then it is told to stop."""

    def __init__(self, *meanwhile: tuple[Repo, str]) -> None:
        super().__init__()
        self.now, self.slept, self.meanwhile = NOON, list[float](), list(meanwhile)

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.slept.append(timeout)
        self.now += timedelta(seconds=timeout)
        if not self.meanwhile:
            self.set()
            return True
        repo, name = self.meanwhile.pop(0)
        if name:
            repo.commit({f"{name}.yaml": CLUSTER % name})
        return False


@pytest.fixture
def fleet(tmp_path: Path) -> Repo:
    repo = new_repository(tmp_path / "fleet")
    repo.commit({"fleet.yaml": FLEET % "", "one.yaml": CLUSTER % "one"})
    return repo


def told(repo: Repo, sleeper: Sleeper, remote: str | None = None) -> list[tuple[str, datetime]]:
    heard: list[tuple[str, datetime]] = []

    def say(event: Tree) -> None:
        heard.append((event["subject"], sleeper.now))

    follow(open_repository(repo.path, repo.environ), remote, INTERVAL, sleeper, lambda: sleeper.now, say)
    return heard


def test_a_pulse_is_told_when_it_becomes_due_and_once(fleet: Repo) -> None:
    sleeper = Sleeper((fleet, ""), (fleet, "two"))
    heard = told(fleet, sleeper)
    assert heard[0] == ("ManagedCluster/one", NOON)
    assert [subject for subject, _ in heard].count("ManagedCluster/two") == 1
    again = [when for subject, when in heard if subject == "ManagedCluster/one"]
    assert again == sorted(set(again)), "nothing is told twice at one instant"
    assert all(0 <= seconds <= INTERVAL.total_seconds() for seconds in sleeper.slept)
    assert len(sleeper.slept) == 3


def test_with_a_remote_its_branch_counts(fleet: Repo, tmp_path: Path) -> None:
    here = clone(fleet, tmp_path / "here")
    heard = told(here, Sleeper((fleet, "two")), "origin")
    assert "ManagedCluster/two" in [subject for subject, _ in heard]
    assert here.tip() != fleet.tip(), "its own branch stays where it is"


def test_a_remote_that_does_not_answer_ends_it(fleet: Repo, tmp_path: Path) -> None:
    fleet.git("remote", "add", "origin", str(tmp_path / "nowhere"))
    with pytest.raises(RepositoryError):
        told(fleet, Sleeper(), "origin")
