"""Instants and durations as they stand in files: RFC 3339 in, `Z` out; Go-style durations.

One instant per run, UTC, whole seconds. `datetime.fromisoformat` accepts more than RFC 3339 does, so the shape
is checked first.

Files may say anything. An instant is one of the years 1 to 9999 in UTC and a duration at most some 292 years, as in Go
and CEL: what lies beyond is no time, and schemas say so. Arithmetic that could leave the calendar is done here alone:
differences of instants never do, sums go through `later`, for which the end of the calendar is never.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)",
    re.ASCII,
)
_DURATION_TERM = re.compile(r"(\d{1,15}(?:\.\d{1,9})?|\.\d{1,9})(h|ms|m|s|us|µs|ns)", re.ASCII)
#: The last whole second of the calendar.
LAST = datetime.max.replace(microsecond=0, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
_LONGEST = timedelta(microseconds=(2**63 - 1) // 1000)
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@lru_cache(maxsize=1 << 14)  # each is asked for five times or so in a run, and thousands of objects share many
def parse_time(text: str) -> datetime:
    """Return the instant that an RFC 3339 text names, in UTC, to the microsecond. ValueError if it is none."""
    if not _RFC3339.fullmatch(text):
        raise ValueError(f"{text!r} is not an RFC 3339 time such as 2026-01-01T00:00:00Z")
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


def try_time(value: object) -> datetime | None:
    """Return the instant that `value` names, or None where it is no RFC 3339 text."""
    if not isinstance(value, str):
        return None
    try:
        return parse_time(value)
    except ValueError:
        return None


def format_time(instant: datetime) -> str:
    """Return `2026-01-01T00:00:00Z`; fractions of a second appear only where there are any."""
    utc = instant.astimezone(UTC)
    text = utc.strftime("%Y-%m-%dT%H:%M:%S") if utc.year >= 1000 else utc.isoformat()[:19]
    return f"{text}.{utc.microsecond:06d}".rstrip("0") + "Z" if utc.microsecond else f"{text}Z"


def parse_duration(text: str) -> timedelta:
    """Return the duration that Go's syntax names (`90s`, `1h30m`, `-2m`, `0`). ValueError if it is none."""
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return timedelta(0)
    total, position = 0.0, 0
    while position < len(body):
        term = _DURATION_TERM.match(body, position)
        if term is None:
            break
        total += float(term[1]) * _UNIT_SECONDS[term[2]]
        position = term.end()
    if not body or position != len(body):
        raise ValueError(f"{text!r} is not a duration such as 90s, 5m or 1h30m")
    if total > _LONGEST.total_seconds():
        raise ValueError(f"{text!r} is longer than a duration can be, which is 2562047h, some 292 years")
    return timedelta(seconds=-total if text.startswith("-") else total)


def try_duration(value: object) -> timedelta | None:
    """Return the duration that `value` names, or None where it is no Go-style duration."""
    if not isinstance(value, str):
        return None
    try:
        return parse_duration(value)
    except ValueError:
        return None


def later(instant: datetime, span: timedelta) -> datetime | None:
    """Return the instant that lies so much later (earlier, for a negative span); None past an end of the calendar."""
    try:
        return instant + span
    except OverflowError:
        return None


def span_of(seconds: float) -> timedelta:
    """Return so many seconds as a duration, at most the longest one there is."""
    most = _LONGEST.total_seconds()
    return timedelta(seconds=max(-most, min(seconds, most)))


def second_at(instant: datetime | None) -> datetime | None:
    """Return the first whole second that is not before an instant; None where there is none."""
    if instant is None or not instant.microsecond:
        return instant
    return second_after(instant)


def second_after(instant: datetime | None) -> datetime | None:
    """Return the first whole second after an instant; None where there is none."""
    return None if instant is None else later(instant.replace(microsecond=0), _SECOND)


def earliest(*instants: datetime | None) -> datetime | None:
    """Return the first of the instants that are there."""
    return min((instant for instant in instants if instant is not None), default=None)


def format_duration(span: timedelta) -> str:
    """Return `1h30m`, `90s` as `1m30s`, `0s`: Go's form without needless zero terms."""
    seconds = span.total_seconds()
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    terms = [f"{int(hours)}h" if hours else "", f"{int(minutes)}m" if minutes else ""]
    if rest or not any(terms):
        terms.append(f"{rest:.6f}".rstrip("0").rstrip(".") + "s")
    return sign + "".join(terms)


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was, in its two largest units: `3h12m`, `5m`, `2d4h`."""
    seconds = int((now - moment).total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    days, rest = divmod(seconds, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, rest = divmod(rest, 60)
    units = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    first = next((index for index, (number, _) in enumerate(units) if number), len(units) - 1)
    shown = [f"{number}{unit}" for number, unit in units[first : first + 2] if number]
    return sign + ("".join(shown) or "0s")
