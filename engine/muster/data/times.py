"""Instants and durations in files: RFC 3339 in, `Z` out; durations in Go's syntax.

Each run has one instant, in UTC and whole seconds. `datetime.fromisoformat` accepts more than RFC 3339, so the form is
checked first.

An instant is in the years 1 to 9999 in UTC, and a duration is at most about 292 years, as in Go and CEL: anything else
is no time, as the schemas say. Only this module does arithmetic that could leave the calendar: differences of instants
never do, and sums go through `later`, which returns None past its end.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import groupby
from typing import Final

#: RFC 3339's forms, with every digit as 0.
_AS_ZEROS = str.maketrans("123456789tz", "000000000TZ")
_DATE_AND_TIME, _ZONES = "0000-00-00T00:00:00", frozenset(("Z", "+00:00", "-00:00"))
_MOST_FRACTION, _LONGEST_TIME = 9, 35  # digits, characters
_MOST_WHOLE = 15  # digits before the point of a duration's number
_NUMERIC = frozenset("0123456789.")
_MOST_SHOWN = 80
#: The last whole second of the calendar.
LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@lru_cache(maxsize=1 << 14)  # each is parsed about five times in a run, and thousands of objects share many
def parse_time(text: str) -> datetime:
    """Return the instant of an RFC 3339 text, in UTC, to the microsecond. ValueError for other texts."""
    if not _is_rfc3339(text):
        raise ValueError(f"{_shown(text)} is not an RFC 3339 time such as 2026-01-01T00:00:00Z")
    if (dot := text.find(".")) > 0:
        # fromisoformat takes three or six digits before 3.11 and truncates further ones: spell them out.
        end = dot + 1
        while text[end].isdigit():
            end += 1
        text = f"{text[:dot]}.{text[dot + 1 : end][:6]:0<6}{text[end:]}"
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{text!r} is an instant that does not exist, or not in the years 1 to 9999 in UTC") from error


def _is_rfc3339(text: str) -> bool:
    if len(text) > _LONGEST_TIME:
        return False
    shape = text.translate(_AS_ZEROS)
    zone = shape[len(_DATE_AND_TIME) :]
    if zone.startswith("."):
        fraction, zone = zone[1:], zone[1:].lstrip("0")
        if not 0 < len(fraction) - len(zone) <= _MOST_FRACTION:
            return False
    return shape.startswith(_DATE_AND_TIME) and zone in _ZONES


def try_time(value: object) -> datetime | None:
    """Return the instant of an RFC 3339 text; None for any other value."""
    if not isinstance(value, str):
        return None
    try:
        return parse_time(value)
    except ValueError:
        return None


def format_time(instant: datetime) -> str:
    """Return `2026-01-01T00:00:00Z`, with fractions of a second only if there are any."""
    utc = instant.astimezone(UTC)
    text = utc.strftime("%Y-%m-%dT%H:%M:%S") if utc.year >= 1000 else utc.isoformat()[:19]
    return f"{text}.{utc.microsecond:06d}".rstrip("0") + "Z" if utc.microsecond else f"{text}Z"


def parse_duration(text: str) -> timedelta:
    """Return the duration of a text in Go's syntax (`90s`, `1h30m`, `-2m`, `0`). ValueError for other texts."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return timedelta(0)
    # numbers and units take turns
    parts = ["".join(part) for _, part in groupby(body, _NUMERIC.__contains__)]
    if not body or len(parts) % 2 or not all(map(_is_term, parts[::2], parts[1::2])):
        raise ValueError(f"{_shown(text)} is not a duration such as 90s, 5m or 1h30m")
    total = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in zip(parts[::2], parts[1::2], strict=True))
    if total > _LONGEST.total_seconds():
        raise ValueError(f"{_shown(text)} is longer than a duration can be, which is 2562047h, some 292 years")
    return timedelta(seconds=-total if text.startswith("-") else total)


def _is_term(number: str, unit: str) -> bool:
    whole, point, fraction = number.partition(".")
    sound = fraction.isdecimal() and len(fraction) <= _MOST_FRACTION if point else whole != ""
    return sound and len(whole) <= _MOST_WHOLE and number[0] in _NUMERIC and unit in _UNIT_SECONDS


def _shown(text: str) -> str:
    """Return a text as messages quote it: its beginning if it is long."""
    return repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")


#: How people write units, with the unit that Go's syntax has for it. A day has 24 hours.
_UNITS_MEANT: Final = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), timedelta(seconds=1)),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), timedelta(minutes=1)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), timedelta(hours=1)),
    **dict.fromkeys(("d", "day", "days"), timedelta(days=1)),
    **dict.fromkeys(("w", "week", "weeks"), timedelta(weeks=1)),
}
_MOST_DIGITS: Final = 7


def duration_meant(text: str) -> timedelta | None:
    """Return the duration that a person means by a text such as `5 min` or `2d`; None if that is not clear."""
    text = text.strip().lower()
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    unit = _UNITS_MEANT.get(text[len(digits) :].strip())
    return int(digits) * unit if unit is not None and 0 < len(digits) <= _MOST_DIGITS else try_duration(text)


def try_duration(value: object) -> timedelta | None:
    """Return the duration of a text in Go's syntax; None for any other value."""
    if not isinstance(value, str):
        return None
    try:
        return parse_duration(value)
    except ValueError:
        return None


def try_span(text: str) -> timedelta | None:
    """Return the duration of a text in Go's syntax, or with days before it as muster prints them (`90d`, `1d12h`); None
    for any other text."""
    days, d, rest = text.partition("d")
    if not (d and days.isdecimal()):
        return try_duration(text)
    more = try_duration(rest) if rest else timedelta(0)
    return None if more is None else timedelta(days=min(int(days[:7]), 100_000)) + more


def later(instant: datetime, span: timedelta) -> datetime | None:
    """Return `instant + span`; None past an end of the calendar."""
    try:
        return instant + span
    except OverflowError:
        return None


def span_of(seconds: float) -> timedelta:
    """Return a number of seconds as a duration, limited to the longest one."""
    most = _LONGEST.total_seconds()
    return timedelta(seconds=max(-most, min(seconds, most)))


def second_at(instant: datetime | None) -> datetime | None:
    """Return the first whole second that is not before an instant; None if there is none."""
    if instant is None or not instant.microsecond:
        return instant
    return second_after(instant)


def second_after(instant: datetime | None) -> datetime | None:
    """Return the first whole second after an instant; None if there is none."""
    return None if instant is None else later(instant.replace(microsecond=0), _SECOND)


def earliest(*instants: datetime | None) -> datetime | None:
    """Return the first instant; None if all are None."""
    return min((instant for instant in instants if instant is not None), default=None)


def format_duration(span: timedelta) -> str:
    """Return `1h30m`, `1m30s` or `0s`: Go's form without zero terms."""
    seconds = span.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    terms = [f"{int(hours)}h" if hours else "", f"{int(minutes)}m" if minutes else ""]
    if rest or not any(terms):
        terms.append(f"{rest:.6f}".rstrip("0").rstrip(".") + "s")
    return sign + "".join(terms)


def brief(span: timedelta) -> str:
    """Return the length of a duration in its two largest units, for people: `3h12m`, `5m`, `2d4h`, `0s`."""
    days, rest = divmod(int(abs(span.total_seconds())), 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    units = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    first = next((index for index, (number, _) in enumerate(units) if number), len(units) - 1)
    return "".join(f"{number}{unit}" for number, unit in units[first : first + 2] if number) or "0s"


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was, as `brief` does; `in 5m` if it is still to come."""
    return brief(now - moment) if moment <= now else f"in {brief(moment - now)}"


def ago(moment: datetime, now: datetime) -> str:
    """Return `5m ago`, or `in 5m`."""
    return f"{age(moment, now)} ago" if moment <= now else age(moment, now)
