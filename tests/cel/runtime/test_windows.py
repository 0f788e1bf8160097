"""Windows of the week: each change is the first one, in zones with every kind of clock."""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from muster.cel.runtime.windows import WindowError, parse, state, state_then
from tests.support.examples import often

ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "America/Santiago",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Beirut",
    "UTC",
    "-03:30",
)
TIMES = ("00:00", "01:30", "02:15", "02:45", "03:00", "09:00", "17:45", "23:30")
HOLIDAYS = ("2026-03-29", "2026-03-20/2026-04-02", "2026-10-25T00:30:07Z/2026-10-25T01:10:00Z")
DAYS_AHEAD = 17


@pytest.mark.parametrize("seed", range(often(12)))
def test_the_next_change_is_the_first_minute_that_differs(seed: int) -> None:
    random = Random(seed)
    weekly = "; ".join(
        f"{random.choice(('', 'Mon-Thu', 'Sun', 'Sat-Mon', 'Mon, Wed'))} {'-'.join(random.sample(TIMES, 2))}"
        for _ in range(random.randint(1, 3))
    )
    text = f"{weekly} except {', '.join(random.sample(HOLIDAYS, 2))}" if random.random() < 0.5 else weekly
    windows = parse(text, random.choice(ZONES))
    begin = random.choice((datetime(2026, 3, 20, tzinfo=UTC), datetime(2026, 10, 16, tzinfo=UTC)))
    at = begin + timedelta(seconds=random.randrange(12 * 86_400))
    minutes = (at.replace(second=0) + timedelta(minutes=minute) for minute in range(DAYS_AHEAD * 1440))
    looked_at = sorted({*minutes, datetime(2026, 10, 25, 0, 30, 7, tzinfo=UTC)})
    first = next((t for t in looked_at if t > at and windows.is_open(t) != windows.is_open(at)), None)
    found = windows.next_change(at)
    assert found == first or (first is None and found is not None and found > looked_at[-1]), text


def test_a_long_holiday_ends() -> None:
    windows = parse("Mon 09:00-10:00 except 2027-01-01/2030-12-31, 2040-01-02")
    assert windows.next_change(datetime(2026, 12, 31, tzinfo=UTC)) == datetime(2031, 1, 6, 9, tzinfo=UTC)
    always = parse("always except 2040-01-02")
    assert always.next_change(datetime(2026, 12, 31, tzinfo=UTC)) == datetime(2040, 1, 2, tzinfo=UTC)


def test_past_the_year_9999_nothing_changes() -> None:
    assert parse("Mon 09:00-10:00").next_change(datetime(9999, 12, 31, tzinfo=UTC)) is None


def test_a_state_is_found_once_for_all_objects_of_a_run() -> None:
    windows, now = parse("Mon 09:00-10:00", "Europe/Berlin"), datetime(2026, 11, 23, 8, 30, tzinfo=UTC)
    assert state(windows, now) == (True, datetime(2026, 11, 23, 9, tzinfo=UTC))
    assert state(windows, now) is state(windows, now)


@pytest.mark.parametrize("at", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_in_the_first_and_last_hours_of_all_times_a_window_may_be_closed(at: datetime) -> None:
    found = [state_then(parse("always", place), at) for place in ("Pacific/Auckland", "America/Los_Angeles")]
    assert found.count((False, None)) == 1, "one of the two time zones has no such time"


def test_too_many_exceptions() -> None:
    days = ",".join(f"2026-01-{day:02d}" for day in range(1, 26))
    parse(f"always except {','.join([days] * 20)}")
    with pytest.raises(WindowError, match="501 exceptions; 500 are allowed"):
        parse(f"always except {','.join([days] * 20)},2026-01-01")
