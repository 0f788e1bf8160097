"""The horizon of a part of a moving value is the exact second of its change, in every time zone."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from muster import cel
from tests.support.examples import often

_PARTS = (
    "getFullYear",
    "getMonth",
    "getDayOfYear",
    "getDayOfMonth",
    "getDate",
    "getDayOfWeek",
    "getHours",
    "getMinutes",
    "getSeconds",
    "getMilliseconds",
)
#: Zones that change their offset by an hour, by half of one, by a day, at midnight; and one that never does.
_ZONES = (
    "Europe/Berlin",
    "America/St_Johns",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Gaza",
    "Africa/Casablanca",
    "+05:45",
)
_CENTURY = timedelta(days=36_525)
_STEPS = (*range(1, 200), *range(240, 8_000, 60), *range(10_800, 40 * 86_400, 3_600))


def changes_at(program: cel.Program, now: datetime, data: dict[str, Any]) -> None:
    """Compare the horizon with the values at many later instants, and on both sides of it."""
    result = program.run({**data, "now": now})
    horizon = result.horizon
    later = [now + timedelta(seconds=step) for step in _STEPS]
    if horizon is not None and horizon - now < _CENTURY:
        assert program.evaluate({**data, "now": horizon}) != result.value, (program.text, str(now), str(horizon))
        later = [then for then in later if then < horizon] + [horizon - timedelta(seconds=1)]
    assert all(program.evaluate({**data, "now": then}) == result.value for then in later), (program.text, str(now))


@pytest.mark.parametrize("part", _PARTS)
def test_a_part_of_a_time_changes_at_its_horizon(part: str) -> None:
    random = Random(part)
    for zone in ("", *_ZONES):
        where = f"'{zone}'" if zone else ""
        program = cel.compile(f"{random.choice(('now', '(now + d)', '(t - (now - t))'))}.{part}({where})")
        for _ in range(often(1)):
            now = datetime(2010, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(20 * 365 * 86_400))
            changes_at(program, now, {"t": now - timedelta(hours=5), "d": timedelta(seconds=random.randrange(10**6))})


@pytest.mark.parametrize("part", _PARTS[6:])
@pytest.mark.parametrize("text", ["(now - t)", "(t - now)", "((now - t) + (now - t))"])
def test_a_part_of_a_duration_changes_at_its_horizon(text: str, part: str) -> None:
    program = cel.compile(f"{text}.{part}()")
    for seconds in (-3_600.5, -59.5, -1, 0, 0.5, 100.25, 7_199):
        now = datetime(2026, 1, 1, tzinfo=UTC)
        changes_at(program, now, {"t": now - timedelta(seconds=seconds)})


#: (a zone, now, when the date changes next): clocks that go back over midnight give one date twice.
_BACK = [
    ("America/St_Johns", "2010-11-06T12:00:00Z", "2010-11-07T02:30:00Z"),
    ("America/St_Johns", "2010-11-07T02:30:59Z", "2010-11-07T02:31:00Z"),
    ("America/St_Johns", "2010-11-07T02:31:00Z", "2010-11-07T03:30:00Z"),
    ("Pacific/Apia", "2011-12-29T12:00:00Z", "2011-12-30T10:00:00Z"),
]


@pytest.mark.parametrize(("zone", "now", "expected"), _BACK)
def test_a_clock_that_goes_back_gives_a_date_again(zone: str, now: str, expected: str) -> None:
    result = cel.compile(f"now.getDate('{zone}')").run({"now": datetime.fromisoformat(now)})
    assert result.horizon == datetime.fromisoformat(expected)


def test_what_fails_now_and_not_later_has_a_horizon() -> None:
    """In a zone behind UTC the first hours of the year 1 have no date."""
    program = cel.compile("(timestamp('0001-01-01T00:00:00Z') + (now - t)).getHours('-02:00')")
    now = datetime(2026, 1, 1, tzinfo=UTC)
    result = program.run({"now": now, "t": now})
    assert result.error is not None
    assert result.horizon == now + timedelta(hours=2)
    assert program.evaluate({"now": result.horizon, "t": now}) == 0
