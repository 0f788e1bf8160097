"""Thirty days of sixty clusters on branches, a further repository and a relay, with signed agents, outages and edits.

All of it is repeated in a fresh clone, which says of the commit of every hundredth run what was said then: an hour
and a half. Five values of a setting give what five real reruns give: of thirty days with Leases of an hour, in an
hour on two cores, and of shorter times. Give `make soak` the minutes, or run one of them by its name.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from muster.features.replay.answers import repeat
from muster.features.replay.sweep import sweep
from muster.features.replay.tally import Counts
from muster.git.repository import open_repository
from tests.features.replay.test_days import GRACE, cloned
from tests.support.commandline import Run
from tests.support.days import DAY, HOUR, START, Days
from tests.support.lived import Lived
from tests.support.then import SaidThen

ALARM = timedelta(minutes=45)
DECLARED, OTHERS = 5, (2, 3, 4, 8)


def test_thirty_days_are_repeated(muster: Run, tmp_path: Path) -> None:
    begun = Lived.begun(tmp_path / "begun", Days.of(30, 60, 30))
    start = begun.hub.tip("main")
    then = SaidThen(muster, begun.hub, [agent.name for agent in begun.days.agents], 100)
    begun.landed = then.landed
    begun.live()
    repo = cloned(begun.hub, tmp_path / "clone")
    assert len(then.said) > 10
    assert "\n".join(then.differences(repo)) == ""
    found = repeat(open_repository(repo.path, repo.environ), start, repo.tip("main"))
    assert list(found.differences) == []
    assert found.repeated == found.runs == len(begun.runs) - 2 > 1000


def test_five_values_give_what_five_real_reruns_of_thirty_days_give(tmp_path: Path) -> None:
    """Of the same clusters as above, with Leases of an hour: a life takes minutes."""
    begun = Lived.begun(tmp_path / "begun", replace(Days.of(30, 60, 30, lease=HOUR), unreachable=()), signed=False)
    assert len(five_values(begun, tmp_path, begun.days.end).outages) > 100


@pytest.mark.parametrize("seed", [3, 4])
def test_five_values_give_what_five_real_reruns_give(tmp_path: Path, seed: int) -> None:
    begun = Lived.begun(tmp_path / "begun", replace(Days.of(seed, 12, 3, pace=3), unreachable=()))
    five_values(begun, tmp_path, START + 2 * DAY)


def five_values(begun: Lived, folder: Path, until: datetime) -> Counts:
    """Live as declared, and once more for each other value. Compare what each came to with what `--set` says of it.
    Return what it came to as declared. Every repository answers: nobody knows what a silent one would have sent."""
    lived = begun.copy(folder / "lived")
    start = lived.hub.tip("main")
    lived.live(until)
    last = lived.runs[-1][0]  # of what came later there is no record
    real = {value: aside(partial(outcome, begun, folder / f"again-{value}", value, last)) for value in OTHERS}
    values = ",".join(map(str, (DECLARED, *OTHERS)))
    swept = sweep(lived.repository, start, lived.hub.tip("main"), f"{GRACE}={values}", ALARM)
    assert swept.complete
    fact, declared, *others = swept.rows
    assert fact.counts == declared.counts == lived.tally.counts(ALARM)
    assert {row.value: row.counts for row in others} == {value: one.recv() for value, one in real.items()}
    return fact.counts


def aside(work: Callable[[], Counts]) -> "Connection[None, Counts]":
    """Work in a process that begins with all that this one has. What it comes to can be received."""
    receiving, sending = Pipe(duplex=False)
    get_context("fork").Process(target=lambda: sending.send(work())).start()
    sending.close()
    return receiving


def outcome(begun: Lived, folder: Path, value: int, until: datetime) -> Counts:
    """What a real life with a value comes to."""
    again = begun.copy(folder, managed_cluster_available={"graceFactor": value})
    again.live(until)
    return again.tally.counts(ALARM)
