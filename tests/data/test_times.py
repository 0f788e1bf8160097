"""RFC 3339 instants and Go-style durations."""

from datetime import UTC, datetime, timedelta

import pytest

from muster.data.times import (
    LAST,
    age,
    earliest,
    format_duration,
    format_time,
    later,
    parse_duration,
    parse_time,
    second_after,
    second_at,
    try_duration,
    try_time,
)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T02:00:00+02:00", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01T00:00:00.5Z", datetime(2026, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)),
        ("2026-01-01T00:00:00.000000001Z", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-01-01t00:00:00z", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_parses_rfc3339(text: str, instant: datetime) -> None:
    assert parse_time(text) == instant


@pytest.mark.parametrize(
    "text", ["2026-01-01", "2026-01-01T00:00:00", "20260101T000000Z", "now", "2026-13-01T00:00:00Z", ""]
)
def test_refuses_what_is_not_rfc3339(text: str) -> None:
    with pytest.raises(ValueError, match=".+"):
        parse_time(text)


def test_formats_whole_seconds_without_a_fraction() -> None:
    assert format_time(datetime(2026, 1, 1, tzinfo=UTC)) == "2026-01-01T00:00:00Z"
    assert format_time(datetime(2026, 1, 1, 0, 0, 0, 120_000, tzinfo=UTC)) == "2026-01-01T00:00:00.12Z"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("-2m", timedelta(minutes=-2)),
        ("0", timedelta(0)),
        ("1.5s", timedelta(seconds=1.5)),
    ],
)
def test_parses_go_durations(text: str, span: timedelta) -> None:
    assert parse_duration(text) == span


@pytest.mark.parametrize("text", ["", "5", "1d", "m", "5 m", "s5", "--5s", "9" * 40 + "h", "999999999999999h"])
def test_refuses_what_is_not_a_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["0s", "1m30s", "1h", "1h0.5s", "-2m"])
def test_durations_round_trip(text: str) -> None:
    assert format_duration(parse_duration(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59-00:01",
        "0000-01-01T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T23:59:60Z",
        "2026-01-01T00:00:00+99:99",
    ],
)
def test_what_no_calendar_holds_is_no_instant(text: str) -> None:
    with pytest.raises(ValueError, match="instant that does not exist"):
        parse_time(text)
    assert try_time(text) is None


def test_the_edges_of_the_calendar_are_instants() -> None:
    assert format_time(parse_time("0001-01-01T00:00:00Z")) == "0001-01-01T00:00:00Z"
    assert format_time(parse_time("0001-01-01T23:59:00+23:59")) == "0001-01-01T00:00:00Z"
    assert parse_time("9999-12-31T23:59:59Z") == LAST


@pytest.mark.parametrize("text", ["2562048h", "99999999h", "999999999999999h", "9" * 15 + "s" + "9" * 15 + "h"])
def test_what_64_bits_of_nanoseconds_do_not_hold_is_no_duration(text: str) -> None:
    assert try_duration(text) is None
    assert try_duration("2562047h") is not None


def test_the_end_of_the_calendar_is_never() -> None:
    assert later(LAST, timedelta(seconds=1)) is None
    assert later(datetime.min.replace(tzinfo=UTC), timedelta(seconds=-1)) is None
    assert later(LAST, timedelta(0)) == LAST
    assert second_after(LAST) is None
    assert second_at(datetime.max.replace(tzinfo=UTC)) is None
    assert second_at(None) is None
    assert earliest(None, LAST, None) == LAST
    assert earliest(None) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (3599, "59m59s"),
        (3600, "1h"),
        (11520, "3h12m"),
        (86_400, "1d"),
        (187_200, "2d4h"),
        (90_000 * 1000, "1041d16h"),
        (-90, "in 1m30s"),
        (86_400 + 59, "1d"),
    ],
)
def test_an_age_has_its_two_largest_units(seconds: int, text: str) -> None:
    now = datetime(2026, 1, 3, tzinfo=UTC)
    assert age(now - timedelta(seconds=seconds), now) == text
