"""The rule of progress, as a table: what the last run knew, what is heard, and what follows at second 100."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.rules.progress.states import Progress, heard, unheard
from muster.rules.progress.step import ClusterStatus, judged
from muster.rules.progress.strategy import PROGRESSIVE, RolloutLimits, Strategy

START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = 100


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


@pytest.mark.parametrize(
    ("before", "silent", "said", "state", "since"),
    [
        ("ToApply", False, "ToApply", "ToApply", 10),
        ("ToApply", False, "Progressing", "Progressing", 10),
        ("ToApply", False, "Succeeded", "Succeeded", NOW),
        ("Progressing", False, "ToApply", "ToApply", 10),
        ("Progressing", False, "Failed", "Failed", NOW),
        ("Succeeded", False, "Succeeded", "Succeeded", 10),
        ("Succeeded", False, "Progressing", "Progressing", NOW),
        ("Succeeded", False, "Failed", "Failed", NOW),
        ("Failed", False, "Failed", "Failed", 10),
        ("Failed", False, "Progressing", "Failed", 10),
        ("Failed", False, "ToApply", "Failed", 10),
        ("Failed", False, "Succeeded", "Succeeded", NOW),
        ("TimeOut", False, "Progressing", "Progressing", 10),
        ("TimeOut", False, "Succeeded", "Succeeded", NOW),
        ("ToApply", True, "ToApply", "ToApply", NOW),
        ("Progressing", True, "Progressing", "Progressing", NOW),
        ("Succeeded", True, "Succeeded", "Succeeded", NOW),
        ("TimeOut", True, "Progressing", "Progressing", NOW),
        ("Failed", True, "Failed", "Failed", 10),
        ("Failed", True, "Progressing", "Failed", 10),
    ],
)
def test_a_cluster_that_speaks(before: str, silent: bool, said: str, state: str, since: int) -> None:
    known = Progress(before, at(10), at(50) if silent else None)
    assert heard(known, said, at(NOW)) == Progress(state, at(since))
    assert heard(Progress(state, at(since)), said, at(NOW)) == Progress(state, at(since)), "once"


@pytest.mark.parametrize("state", ["ToApply", "Progressing", "Succeeded", "Failed"])
def test_a_silent_cluster_keeps_its_state_and_its_first_last_sign(state: str) -> None:
    found = unheard(Progress(state, at(10)), at(50))
    assert found == Progress(state, at(10), at(50))
    assert unheard(found, at(60)) == found


@pytest.mark.parametrize(
    ("soak", "last_sign", "state", "until"),
    [
        (0, 5, "Succeeded", None),
        (40, 50, "Succeeded", None),
        (41, 50, "Progressing", 350),
        (41, 5, "Progressing", 310),
    ],
)
def test_silence_does_not_soak(soak: int, last_sign: int, state: str, until: int | None) -> None:
    limits = RolloutLimits(min_success=timedelta(seconds=soak), deadline=timedelta(seconds=300))
    known = ClusterStatus("a", "Succeeded", at(10), silent_after=at(last_sign))
    found = judged(known, Strategy(PROGRESSIVE, limits), at(NOW))
    assert (found.state, found.until) == (state, None if until is None else at(until))
    if until is not None:
        assert judged(known, Strategy(PROGRESSIVE, limits), at(until)).state == "TimeOut"
