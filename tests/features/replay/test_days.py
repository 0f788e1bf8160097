"""A day of a fleet: its runs are repeated byte for byte, and a setting that is tried gives what a real rerun gives."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from muster.data.times import parse_time
from muster.features.replay.answers import repeat, swept_text
from muster.features.replay.sweep import Swept, sweep
from muster.git.repository import open_repository
from tests.support.commandline import Run
from tests.support.days import HOUR, START, Days, Span
from tests.support.git import Repo, clone
from tests.support.lived import Lived
from tests.support.then import SaidThen

UNTIL = START + 9 * HOUR
ALARM = timedelta(minutes=45)
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


def test_the_past_is_what_commands_said_then(muster: Run, days: tuple[Lived, Lived, str], tmp_path: Path) -> None:
    begun, _, _ = days
    lived = begun.copy(tmp_path / "again")
    lived.days = replace(lived.days, unreachable=(Span(START + 3 * HOUR, START + 5 * HOUR),))
    then = SaidThen(muster, lived.hub, [agent.name for agent in lived.days.agents], 11)
    lived.landed = then.landed
    lived.live(UNTIL)
    assert len(then.said) > 2
    assert any(lived.days.is_unreachable(parse_time(at)) for at, _ in then.said)
    assert "\n".join(then.differences(cloned(lived.hub, tmp_path / "clone"))) == ""


def tried(repo: Repo, start: str, values: str) -> Swept:
    repository = open_repository(repo.path, repo.environ)
    return sweep(repository, start, repo.tip("main"), f"{GRACE}={values}", ALARM)


def test_what_happened_is_repeated_in_a_clone(days: tuple[Lived, Lived, str], tmp_path: Path) -> None:
    _, lived, start = days
    repo = cloned(lived.hub, tmp_path / "clone")
    repository = open_repository(repo.path, repo.environ)
    found = repeat(repository, start, repo.tip("main"))
    assert list(found.differences) == []
    assert found.repeated == found.runs == len(lived.runs) > 10


def test_a_tried_setting_gives_what_a_real_rerun_gives(days: tuple[Lived, Lived, str], tmp_path: Path) -> None:
    begun, lived, start = days
    swept = tried(lived.hub, start, "5,2")
    fact, same, other = (row.counts for row in swept.rows)
    assert fact == same == lived.tally.counts(ALARM)
    again = begun.copy(tmp_path / "again", managed_cluster_available={"graceFactor": 2})
    again.live(UNTIL)
    real = again.tally.counts(ALARM)
    assert list(other.outages) == list(real.outages)
    assert other == real
    assert len(other.outages) > len(fact.outages)
    assert swept.unwatched == 0
    assert swept_text(swept).splitlines()[0].split() == [
        "VALUE",
        "OUTAGES",
        "EARLIER",
        "FALSE",
        "ALARMS",
        "MOVES",
        "HELD",
    ]
