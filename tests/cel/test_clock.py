"""The horizon: the first whole second at which time alone changes the outcome; never late, and exact if possible."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster import cel

NOW = datetime(2026, 1, 1, tzinfo=UTC)
T = NOW - timedelta(seconds=100.5)

TABLE = [
    ("now - t > duration('5m')", "2026-01-01T00:03:20"),
    ("now - t >= duration('5m')", "2026-01-01T00:03:20"),
    ("now - t < duration('5m')", "2026-01-01T00:03:20"),
    ("duration('5m') <= now - t", "2026-01-01T00:03:20"),
    ("now - whole > duration('5m')", "2026-01-01T00:05:01"),
    ("now - whole >= duration('5m')", "2026-01-01T00:05:00"),
    ("now - whole < duration('5m')", "2026-01-01T00:05:00"),
    ("now - whole <= duration('5m')", "2026-01-01T00:05:01"),
    ("t + duration('300s') <= now", "2026-01-01T00:03:20"),
    ("t + duration('300s') == now", None),
    ("whole + duration('300s') == now", "2026-01-01T00:05:00"),
    ("whole == now", "2026-01-01T00:00:01"),
    ("now - t > duration('1s')", None),
    ("whole - now < duration('-10m')", "2026-01-01T00:10:01"),
    ("(now - t) + (now - t) > duration('10m')", "2026-01-01T00:03:20"),
    ("now > now", None),
    ("timestamp('9999-12-31T23:59:59Z') > now", "9999-12-31T23:59:59"),
    ("timestamp('9999-12-31T23:59:59Z') >= now", None),
    ("now.getHours() == 3", "2026-01-01T01:00:00"),
    ("now.getHours('Asia/Kathmandu') == 3", "2026-01-01T00:15:00"),
    ("now.getMinutes() == 3", "2026-01-01T00:01:00"),
    ("now.getFullYear() > 2000", "2027-01-01T00:00:00"),
    ("now.getDayOfWeek() == 4", "2026-01-02T00:00:00"),
    ("(now - t).getMinutes() > 2", "2026-01-01T00:00:20"),
    ("string(now) == 'x'", "2026-01-01T00:00:01"),
    ("int(now) > 5", "2026-01-01T00:00:01"),
    ("int(now - t) > 100000000000", "2026-01-01T00:00:01"),
    ("'%s'.format([[now]]) == 'x'", "2026-01-01T00:00:01"),
    ("optional.ofNonZeroValue(whole + duration('5s') - now).hasValue()", "2026-01-01T00:00:05"),
    ("optional.ofNonZeroValue(now - t).hasValue()", None),
    ("[now, whole + duration('9s')].sort()[0] == now", "2026-01-01T00:00:09"),
    ("{'a': 1}[now] == 1 || true", None),
    ("now.getDate('America/St_Johns') == 31", "2026-01-01T03:30:00"),
    ("[t, whole].exists(x, now - x > duration('5m'))", "2026-01-01T00:03:20"),
    ("[t, now].max() > whole", "2026-01-01T00:00:01"),
    ("[now, t].min() == t", None),
    ("now - t > duration('5m') || now < timestamp('2026-01-01T00:02:00Z')", "2026-01-01T00:02:00"),
    ("false && now - t > duration('5m')", None),
    ("math.greatest(1, 2) == 2", None),
]


@pytest.mark.parametrize(("expression", "expected"), TABLE)
def test_horizon(expression: str, expected: str | None) -> None:
    result = cel.compile(expression).run({"now": NOW, "t": T, "whole": NOW})
    assert result.error is None
    assert result.horizon == (None if expected is None else datetime.fromisoformat(f"{expected}+00:00"))


def test_a_variable_shared_by_expressions_stays_tied_to_the_clock() -> None:
    clock = cel.Clock(NOW)
    variables: dict[str, Any] = {"now": clock.now, "t": T}
    variables["age"] = cel.compile("now - t").evaluate(variables)
    first = cel.compile("age > duration('5m')").run(variables, clock=clock)
    second = cel.compile("age > duration('10m')").run(variables, clock=clock)
    assert first.horizon == NOW + timedelta(seconds=200)
    assert second.horizon == NOW + timedelta(seconds=500)
    assert clock.horizon == first.horizon
    clock.reset()
    assert clock.horizon is None


def test_now_needs_a_time_zone() -> None:
    with pytest.raises(ValueError, match="time zone"):
        cel.Clock(datetime(2026, 1, 1))  # noqa: DTZ001


SHAPES = [
    "now - t {op} d",
    "d {op} now - t",
    "t + d {op} now",
    "now {op} t - d",
    "now + d {op} t",
    "t - now {op} d",
    "(now - t) + d {op} d + d",
    "[now - t, d].{best}() {op} d",
    "[t, now].exists(x, x - d {op} t)",
    "[t, t + d].all(x, now {op} x) || now - d {op} t",
    "now - t {op} d ? now {op} t : t + d {op} now",
]


@given(
    shape=st.sampled_from(SHAPES),
    op=st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    best=st.sampled_from(["min", "max"]),
    offset=st.integers(-40, 40),
    length=st.integers(-40, 40),
)
def test_the_outcome_holds_until_the_horizon_and_differs_there(
    shape: str, op: str, best: str, offset: int, length: int
) -> None:
    """Times are half seconds apart, so that flips fall between whole seconds as well."""
    program = cel.compile(shape.format(op=op, best=best))
    fixed = {"t": NOW + timedelta(seconds=offset / 2), "d": timedelta(seconds=length / 2)}
    result = program.run({"now": NOW, **fixed})
    assert result.error is None
    outcomes = [program.evaluate({"now": NOW + timedelta(seconds=second), **fixed}) for second in range(1, 64)]
    changes = (second for second, outcome in enumerate(outcomes, 1) if outcome != result.value)
    first = next(changes, None)
    if first is not None:
        assert result.horizon is not None
        assert result.horizon <= NOW + timedelta(seconds=first)
    if shape.count("now") == 1 and "all" not in shape and "exists" not in shape and "{best}" not in shape:
        assert result.horizon == (None if first is None else NOW + timedelta(seconds=first))
