"""Thirty days of sixty clusters on branches, a further repository and a relay, with signed agents, outages and edits.

All of it is repeated in a fresh clone, which says of the commit of every hundredth run what was said then. Of shorter
times, five values of a setting give what five real reruns give.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from muster.features.replay.answers import repeat
from muster.features.replay.sweep import sweep
from muster.git.repository import open_repository
from tests.features.replay.test_days import GRACE, cloned
from tests.support.commandline import Run
from tests.support.days import DAY, START, Days
from tests.support.lived import Lived
from tests.support.then import SaidThen

ALARM = timedelta(minutes=45)


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


@pytest.mark.parametrize("seed", [3, 4])
def test_five_values_give_what_five_real_reruns_give(tmp_path: Path, seed: int) -> None:
    days = Days.of(seed, 12, 3, pace=3)
    days.unreachable = ()  # what a repository that does not answer would have sent is not known
    begun = Lived.begun(tmp_path / "begun", days)
    lived, until = begun.copy(tmp_path / "lived"), START + 2 * DAY
    start = lived.hub.tip("main")
    lived.live(until)
    swept = sweep(lived.repository, start, lived.hub.tip("main"), f"{GRACE}=2,3,4,5,8", ALARM)
    assert swept.rows[0].counts == lived.tally.counts(ALARM)
    for row in swept.rows[1:]:
        again = begun.copy(tmp_path / f"again-{row.value}", managed_cluster_available={"graceFactor": row.value})
        again.live(until)
        assert again.tally.counts(ALARM) == row.counts, row.value
