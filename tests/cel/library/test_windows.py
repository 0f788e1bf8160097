# ruff: noqa: E501 - one expression per line
"""`inWindow`, and what `window()` and `calendar()` stand for: values, horizons to the second, and mistakes."""

from datetime import UTC, datetime

import pytest

from muster import cel
from muster.cel.types import STRING, TIMESTAMP, MapType
from tests.cel.library.tables import has_no_value, holds

HOLDS = """
timestamp('2026-11-25T08:00:00Z').inWindow('Mon-Thu 09:00-17:00', 'Europe/Berlin') && !timestamp('2026-11-25T07:59:59Z').inWindow('Mon-Thu 09:00-17:00', 'Europe/Berlin')
!timestamp('2026-11-27T12:00:00Z').inWindow('Mon-Thu 09:00-17:00') && timestamp('2026-11-27T12:00:00Z').inWindow('Mon-Thu 09:00-17:00; Fri 09:00-13:00')
timestamp('2026-11-28T01:00:00Z').inWindow('Fri 22:00-06:00') && !timestamp('2026-11-29T01:00:00Z').inWindow('Fri 22:00-06:00')
timestamp('2026-11-25T23:30:00Z').inWindow('Thu in Asia/Tokyo') && timestamp('2026-11-28T00:00:00Z').inWindow('sat, SUNDAY')
!timestamp('2026-12-24T10:00:00Z').inWindow('always except 2026-12-24/2027-01-02') && timestamp('2027-01-03T00:00:00Z').inWindow('always except 2026-12-24/2027-01-02')
!timestamp('2026-12-24T10:00:00Z').inWindow('08:00-12:00 except 2026-12-24T09:00:00Z/2026-12-24T11:00:00+01:00') == false
timestamp('2026-03-29T01:30:00Z').inWindow('02:30-04:00', 'Europe/Berlin') && !timestamp('2026-03-29T00:59:59Z').inWindow('02:30-04:00', 'Europe/Berlin')
timestamp('2026-10-25T00:15:00Z').inWindow('02:15-02:45', 'Europe/Berlin') && timestamp('2026-10-25T01:15:00Z').inWindow('02:15-02:45', 'Europe/Berlin')
timestamp('2026-11-28T23:59:59Z').inWindow('Sat-Mon 23:00-24:00') && timestamp('2026-11-28T12:00:00Z').inWindow('Sat-Mon 00:00-24:00')
""".strip().splitlines()

FAILS = """
timestamp(0).inWindow('Mon 09:00-17:00', 'Mars/Olympus')
timestamp(0).inWindow('')
timestamp(0).inWindow('Mon 09:00-17:00 in UTC', 'Europe/Berlin')
timestamp(0).inWindow('always except 2026-02-30')
timestamp('9999-12-31T23:59:59Z').inWindow('Mon', '+10:00')
duration('1s').inWindow('Mon')
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)


def test_a_long_text_is_refused() -> None:
    assert has_no_value(f"timestamp(0).inWindow('always{' ' * 20_000}')")


ENV = cel.Env(
    variables={"now": TIMESTAMP, "t": TIMESTAMP, "calendars": MapType(STRING, STRING)},
    known_keys={"calendars": ("office-hours",)},
)


def asked(expression: str, now: str) -> tuple[object, str]:
    """Return the value of an expression at an instant, and its horizon."""
    clock = cel.Clock(datetime.fromisoformat(now))
    data = {"now": clock.now, "t": datetime(2026, 1, 1, tzinfo=UTC)}
    calendars = {"office-hours": "Mon-Thu 09:00-17:00 in Europe/Berlin except 2026-12-24/2027-01-02"}
    result = cel.compile(expression, ENV).run({**data, "calendars": calendars}, clock=clock)
    return result.value, "never" if result.horizon is None else f"{result.horizon:%Y-%m-%dT%H:%M:%SZ}"


HORIZONS = """
window('Mon-Thu 09:00-17:00', 'Europe/Berlin') | 2026-11-25T09:30:30Z | True | 2026-11-25T16:00:00Z
window('Mon-Thu 09:00-17:00', 'Europe/Berlin') | 2026-03-28T12:00:00Z | False | 2026-03-30T07:00:00Z
calendar('office-hours') | 2026-12-23T16:00:00Z | False | 2027-01-04T08:00:00Z
window('Sun 02:15-02:45', 'Europe/Berlin') | 2026-03-22T02:00:00Z | False | 2026-04-05T00:15:00Z
window('Sun 02:15-02:45', 'Europe/Berlin') | 2026-10-25T00:45:00Z | False | 2026-10-25T01:15:00Z
window('always') | 2026-11-25T00:00:00Z | True | never
(now + duration('1h')).inWindow('09:00-17:00') | 2026-11-25T07:30:00Z | False | 2026-11-25T08:00:00Z
(now + (now - t)).inWindow('Thu 00:00-24:00') | 2026-01-01T06:00:00Z | True | 2026-01-01T12:00:00Z
(t - (now - t)).inWindow('Thu 00:00-24:00') | 2026-01-01T06:00:00Z | False | 2026-01-01T06:00:01Z
""".strip().splitlines()


@pytest.mark.parametrize("row", HORIZONS)
def test_an_outcome_changes_at_its_horizon(row: str) -> None:
    expression, now, outcome, horizon = row.split(" | ")
    assert (str(asked(expression, now)[0]), asked(expression, now)[1]) == (outcome, horizon)
    if horizon != "never" and "t - " not in expression:
        assert asked(expression, horizon)[0] is not asked(expression, now)[0]


MISTAKES = """
window('Mon-Thuu 09:00-17:00') | 'Thuu' is not a day of the week | did you mean 'Thu'?
window('Mon 09:00-17:00', 'Europe/Berln') | 'Europe/Berln' is not a time zone | did you mean 'Europe/Berlin'?
window('Mon 9-17') | '9' is not a time of day |
window('Mon 09:00-25:00') | '25:00' is not a time of day |
window('Mon 09:00') | '09:00' is not a time of day such as 09:00-17:00 |
window('09:00-09:00') | a window that ends when it begins is never open |
window('always except 2027-01-02/2026-12-24') | ends before it begins |
window('always except 2026-01-01T00:00:00Z') | has no end |
calendar('ofice-hours') | no Calendar is called 'ofice-hours' | did you mean 'office-hours'?
""".strip().splitlines()


@pytest.mark.parametrize("row", MISTAKES)
def test_a_mistake_is_found_before_anything_is_evaluated(row: str) -> None:
    expression, message, hint = (part.strip() for part in row.split("|"))
    (issue,) = cel.inspect(expression, ENV).issues
    assert message in issue.message
    assert issue.hint == hint


def test_without_now_there_is_no_window() -> None:
    (issue,) = cel.inspect("window('Mon')", cel.Env(variables={"object": STRING})).issues
    assert "'now'" in issue.message
