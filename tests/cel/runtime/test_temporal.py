"""Times with nanoseconds, and times that move with `now`, calculate and compare as exact numbers do."""

import operator
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster import cel
from muster.cel.runtime.conversion import format_span, format_time, parse_span, parse_time
from muster.cel.runtime.temporal import PreciseInstant, PreciseSpan, instant, instant_ns, span, span_ns

NOW = datetime(2026, 1, 1, tzinfo=UTC)
NANOSECONDS = st.integers(-(10**18), 10**18)
OPERATORS: list[Callable[[Any, Any], bool]] = [
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    operator.eq,
    operator.ne,
]


@given(NANOSECONDS, NANOSECONDS, st.sampled_from(OPERATORS))
def test_order_is_that_of_the_nanoseconds(a: int, b: int, compare: Callable[[Any, Any], bool]) -> None:
    assert compare(instant(a), instant(b)) == compare(a, b)
    assert compare(span(a), span(b)) == compare(a, b)


@given(NANOSECONDS, NANOSECONDS)
def test_arithmetic_is_that_of_the_nanoseconds(a: int, b: int) -> None:
    variables = {"t": instant(a), "u": instant(b), "d": span(b)}
    for text, expected in (("t + d", a + b), ("d + t", a + b), ("t - d", a - b)):
        assert instant_ns(cel.compile(text).evaluate(variables)) == expected
    assert span_ns(cel.compile("t - u").evaluate(variables)) == a - b
    assert span_ns(cel.compile("d + d").evaluate(variables)) == 2 * b


@given(NANOSECONDS)
def test_texts_are_read_back(ns: int) -> None:
    assert instant_ns(parse_time(format_time(instant(ns)))) == ns
    assert span_ns(parse_span(format_span(span(ns)))) == ns


@given(st.integers(-(10**9), 10**9))
def test_plain_classes_wherever_they_do(microseconds: int) -> None:
    assert type(instant(microseconds * 1000)) is datetime
    assert type(span(microseconds * 1000)) is timedelta
    assert type(instant(microseconds * 1000 + 1)) is PreciseInstant
    assert type(span(microseconds * 1000 + 1)) is PreciseSpan


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00",
        "2026-13-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:00+99:00",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-00:01",
        "",
        "now",
        "２026-01-01T00:00:00Z",
    ],
)
def test_not_a_time(text: str) -> None:
    with pytest.raises(cel.EvaluationError):
        parse_time(text)


@pytest.mark.parametrize("text", ["", "1", "s", "1d", " 1s", "1s ", "1h-1m", "--1s", "1ss!", "ms" * 50, "9" * 30 + "s"])
def test_not_a_duration(text: str) -> None:
    with pytest.raises(cel.EvaluationError):
        parse_span(text)


def test_tracked_values_stay_tracked_on_either_side() -> None:
    now = cel.Clock(NOW).now
    hour = timedelta(hours=1)
    tracked: list[Any] = [
        now + hour,
        now - hour,
        now - NOW,
        NOW - now,
        hour + (now - NOW),
        (now - NOW) - hour,
        -(now - NOW),
    ]
    assert [value.rate for value in tracked] == [1, 1, 1, -1, 1, 1, -1]
    assert type(now - now) is timedelta
