"""What clocks record is kept by object, whatever is reset or taken in between."""

from datetime import UTC, datetime, timedelta

from muster import cel
from muster.data.kinds import MANAGED_CLUSTER
from muster.rules.policies.wakes import Wakes

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
A, B = MANAGED_CLUSTER.id("a"), MANAGED_CLUSTER.id("b")


def test_the_earliest_instant_of_each_object() -> None:
    wakes, clock, other = Wakes(), cel.Clock(NOW), cel.Clock(NOW)
    for about, seconds in ((A, 60), (A, 30), (B, 90), (A, 45)):
        wakes.turn(clock, about)
        clock.record_reached(NOW + timedelta(seconds=seconds))
        clock.reset()
    wakes.turn(other, A)
    other.record_passed(NOW + timedelta(seconds=10))
    assert other.take()[1] == NOW + timedelta(seconds=10)
    assert dict(wakes.drain()) == {A: NOW + timedelta(seconds=11), B: NOW + timedelta(seconds=90)}
    assert dict(wakes.drain()) == {}


def test_an_object_that_asks_nothing_of_time_is_not_woken() -> None:
    wakes, clock = Wakes(), cel.Clock(NOW)
    wakes.turn(clock, A)
    assert dict(wakes.drain()) == {}
