"""Agents whose clocks are wrong by a day: what the hub makes of each, and that nobody else is concerned."""

from pathlib import Path

import pytest

from muster.cli import exits
from muster.data.times import format_time, parse_time
from tests.features.pulses.test_walkthrough import cluster, lease, observed
from tests.support.beating import condition_of
from tests.support.commandline import Run
from tests.support.git import Repo, new_repository

AHEAD, RIGHT, BEHIND = "ahead", "right", "behind"
AVAILABLE, SYNCED = "ManagedClusterConditionAvailable", "ManagedClusterConditionClockSynced"
YESTERDAY, NOW, TOMORROW = "2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z", "2026-01-03T12:00:00Z"


def beat(repo: Repo, name: str, at: str) -> None:
    """As the agent sees it: its commit is dated by the same clock."""
    files = {"lease.yaml": lease(name, at), "observed.yaml": observed(name)}
    repo.commit_to(f"refs/heads/agents/{name}", files, date=at)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = new_repository(tmp_path / "fleet")
    made.commit({f"clusters/{name}.yaml": cluster(name) for name in (AHEAD, RIGHT, BEHIND)})
    for name, at in ((AHEAD, TOMORROW), (RIGHT, NOW), (BEHIND, YESTERDAY)):
        beat(made, name, at)
    return made


def decided(repo: Repo, muster: Run, at: str) -> dict[str, tuple[str, str]]:
    """Of each cluster, whether it is available, and whether the clocks agree."""
    assert muster("reconcile", "--repo", repo.path, "--now", at)[0] == exits.FINE
    return {
        name: (condition_of(repo, "main", name, AVAILABLE), condition_of(repo, "main", name, SYNCED))
        for name in (AHEAD, RIGHT, BEHIND)
    }


def test_each_is_judged_by_itself(repo: Repo, muster: Run) -> None:
    assert decided(repo, muster, NOW) == {
        AHEAD: ("True", "False"),  # it is heard, and the hub says that the clocks differ
        RIGHT: ("True", "True"),
        BEHIND: ("Unknown", "False"),  # its newest word is a day old
    }
    # They go on beating by their clocks, a minute later: nothing changes.
    minute = "2026-01-02T12:01:00Z"
    for name, at in ((AHEAD, "2026-01-03T12:01:00Z"), (RIGHT, minute), (BEHIND, "2026-01-01T12:01:00Z")):
        beat(repo, name, at)
    before = repo.tip("main")
    assert set(decided(repo, muster, minute).values()) == {("True", "False"), ("True", "True"), ("Unknown", "False")}
    assert repo.tip("main") == before
    # Set right, both are as any other.
    for name in (AHEAD, RIGHT, BEHIND):
        beat(repo, name, "2026-01-02T12:02:00Z")
    assert set(decided(repo, muster, "2026-01-02T12:02:00Z").values()) == {("True", "True")}


def test_one_that_is_ahead_and_dies_is_missed_when_its_own_clock_says_so(repo: Repo, muster: Run) -> None:
    """As upstream has it: until then only the condition about the clocks tells. The others are silent in time."""
    assert decided(repo, muster, NOW)[AHEAD] == ("True", "False")
    found = decided(repo, muster, "2026-01-02T12:05:00Z")
    assert (found[AHEAD][0], found[RIGHT][0]) == ("True", "Unknown")
    late = format_time(parse_time(TOMORROW).replace(minute=5))
    assert decided(repo, muster, late)[AHEAD] == ("Unknown", "False")
