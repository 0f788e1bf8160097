"""Deadlines: the result of a comparison differs between its deadline and the second before."""

from datetime import UTC, datetime, timedelta

import pytest

from muster import cel

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SENT = NOON - timedelta(minutes=3)


def run(text: str, now: datetime) -> cel.EvaluationResult:
    variables = {"now": cel.Clock(now).now, "sent": SENT, "seconds": 60, "half": SENT + timedelta(milliseconds=500)}
    return cel.compile(text, cel.Env()).run(variables, trace=True)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("now - sent >= duration('5m')", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        ("now - sent > duration('5m')", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        ("now - sent < duration('5m')", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        ("now - sent <= duration('5m')", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        ("duration('5m') > now - sent", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        ("duration('5m') >= now - sent", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        ("sent + duration('5m') <= now", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        ("sent + duration('5m') < now", ["2026-01-01T11:57:00Z (sent)", "300s"]),
        (
            "now - sent >= duration(string(5 * seconds) + 's')",
            ["2026-01-01T11:57:00Z (sent)", "300s (the result of duration())"],
        ),
        ("now - duration('9m') > sent - duration('30s')", ["2026-01-01T11:57:00Z (sent)", "540s", "30s"]),
        ("now - half >= duration('5m')", ["2026-01-01T11:57:00.500000Z (half)", "300s"]),
        ("now >= timestamp('2026-01-02T00:00:00Z')", ["2026-01-02T00:00:00Z"]),
    ],
)
def test_a_comparison_flips_at_its_deadline(text: str, terms: list[str]) -> None:
    result = run(text, NOON)
    assert result.trace is not None
    (deadline,) = result.trace.deadlines
    assert [term.shown for term in deadline.terms] == terms
    assert deadline.flips is not None
    assert run(text, deadline.flips - timedelta(seconds=1)).value is result.value
    assert run(text, deadline.flips).value is not result.value
    assert result.horizon == deadline.flips


@pytest.mark.parametrize(
    "text",
    [
        "(now - sent).getSeconds() > 5",
        "now - now > duration('1s')",
        "now == sent",
        "sent + duration('1s') > sent",
        "now > sent + missing",
        "seconds > 5",
    ],
)
def test_no_deadline_without_a_sum(text: str) -> None:
    trace = run(text, NOON).trace
    assert trace is not None
    assert trace.deadlines == ()


def test_no_deadline_without_evaluation() -> None:
    trace = run("now > sent || now - sent > duration('5m')", NOON).trace
    assert trace is not None
    assert [deadline.at for deadline in trace.deadlines] == [SENT]
