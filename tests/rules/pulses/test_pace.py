"""How soon the next pulse may go: a policy's interval, longer while nobody answers, and never for what is news."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from muster.data.decision import Published
from muster.data.times import LAST
from muster.features.test.memory import MemorySnapshot
from muster.rules.pulses.policy import Backoff, PulsePolicy
from muster.rules.pulses.stage import not_before, pause, unanswered
from muster.run.checking import check_snapshot
from tests.support.example import NOON

MINUTE = timedelta(minutes=1)


def policy(interval: timedelta, factor: float = 0, longest: timedelta = 8 * MINUTE) -> PulsePolicy:
    """The built-in policy with another pace."""
    (known,) = check_snapshot(MemorySnapshot({})).compiled.of(PulsePolicy)
    return replace(known, interval=interval, backoff=Backoff(factor, longest) if factor else None)


@pytest.mark.parametrize(
    ("asked", "waiting", "wait"),
    [
        pytest.param(policy(MINUTE), 5, MINUTE, id="without a back-off always the same"),
        pytest.param(policy(MINUTE, 2), 0, MINUTE, id="answered"),
        pytest.param(policy(MINUTE, 2), 1, MINUTE, id="the first without an answer"),
        pytest.param(policy(MINUTE, 2), 3, 4 * MINUTE, id="longer with each"),
        pytest.param(policy(MINUTE, 2), 99, 8 * MINUTE, id="and no longer than it may"),
        pytest.param(policy(MINUTE, 1e300), 9, 8 * MINUTE, id="however steep"),
        pytest.param(policy(9 * MINUTE, 2), 9, 9 * MINUTE, id="an interval beyond that stays"),
        pytest.param(policy(MINUTE, 1), 9, MINUTE, id="by one it does not grow"),
        pytest.param(policy(timedelta(0), 2), 9, timedelta(0), id="nor from nothing"),
        pytest.param(policy(timedelta(seconds=1.5)), 1, timedelta(seconds=2), id="whole seconds, rounded up"),
    ],
)
def test_the_wait_after_a_pulse(asked: PulsePolicy, waiting: int, wait: timedelta) -> None:
    assert pause(asked, waiting) == wait


@pytest.mark.parametrize(
    ("last", "generation", "due"),
    [
        (None, 1, None),
        (Published(1, NOON), 2, None),
        (Published(2, NOON), 2, NOON + MINUTE),
        (Published(2, LAST - timedelta(seconds=1)), 2, LAST),
    ],
    ids=["the first", "a new generation is news", "else it waits", "at the end of the calendar for ever"],
)
def test_when_the_next_may_go(last: Published | None, generation: int, due: datetime | None) -> None:
    assert not_before(policy(MINUTE), last, generation, 1) == due


def test_a_report_since_then_is_an_answer() -> None:
    last = Published(1, NOON, count=3)
    assert unanswered(None, []) == 0
    assert unanswered(last, [{"observed_time": "2026-01-01T11:59:59Z"}]) == 3
    assert unanswered(last, [{"observed_time": "2026-01-01T11:59:59Z"}, {"observed_time": "2026-01-01T12:00:00Z"}]) == 0
