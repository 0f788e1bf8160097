"""Windows of a week: `Mon-Thu 09:00-17:00; Fri 09:00-12:00 in Europe/Berlin except 2026-12-24/2027-01-02`.

A window is open while clocks in its time zone show a time in it, as `now.getHours(zone)` reads them. So a time that
clocks skip in spring opens nothing, and one that they show twice in autumn is open twice. `22:00-06:00` begins on the
named days and ends on the next ones. Exceptions close whole days, also the rest of a window that began the day before.
"""

from collections.abc import Callable, Iterable, Iterator, Sized
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import TypeAlias, TypeVar
from zoneinfo import ZoneInfo, available_timezones

from muster.dataclass import dataclass

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_NAMES = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {name: number for number, full in enumerate(_DAY_NAMES) for name in (full, full[:3])}
_DAY = 24 * 60
_ALL_DAYS = frozenset(range(7))
#: Forms of texts, with every digit as 0.
_AS_ZEROS = str.maketrans("123456789", "000000000")
_TIME, _HOUR, _DATE = "00:00", "0:00", "0000-00-00"
_INSTANTS = frozenset(
    f"{_DATE}T{_TIME}{seconds}{place}" for seconds in ("", ":00") for place in ("Z", f"+{_TIME}", f"-{_TIME}")
)
_DIGITS = frozenset("0123456789")
_LONGEST_FORM = 40
_LOOK_AHEAD = timedelta(days=16)
"""Clocks skip a weekly time at most once: after so long without a change, only an exception makes one."""
_MARGIN = timedelta(days=2)

MAX_EXCEPTIONS = 500
"""The most days and periods that windows leave out, as in the schema of a Calendar."""

Minutes: TypeAlias = tuple[int, int]
_Exceptions = TypeVar("_Exceptions", bound=Sized)


class WindowError(ValueError):
    """A text that names no windows. `word` is misspelt if it is near one of the words that `candidates` returns."""

    def __init__(self, message: str, word: str = "", candidates: Callable[[], Iterable[str]] = tuple) -> None:
        super().__init__(message)
        self.message, self.word, self.candidates = message, word, candidates


@dataclass(frozen=True, slots=True)
class Period:
    """From a day or an instant to another. Days are those of a time zone, and both are part of the period; an instant
    is its end."""

    start: date | datetime
    end: date | datetime

    def covers(self, at: datetime, local: date) -> bool:
        """Is an instant, on that local day, in it?"""
        begun = at >= self.start if isinstance(self.start, datetime) else local >= self.start
        return begun and (at < self.end if isinstance(self.end, datetime) else local <= self.end)

    def edges(self, zone: tzinfo) -> Iterator[datetime]:
        """Yield the instants at which it may begin or end, in a time zone."""
        for edge, shift in ((self.start, 0), (self.end, 1)):
            if isinstance(edge, datetime):
                yield edge
            elif edge < date.max:  # that day has no end
                yield from _instants(edge + timedelta(days=shift), 0, zone)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of each day of the week, in minutes since midnight, without those of exceptions."""

    zone: tzinfo
    days: tuple[tuple[Minutes, ...], ...]
    closed: tuple[Period, ...] = ()

    def is_open(self, at: datetime) -> bool:
        """Is any window open at an instant?"""
        local = at.astimezone(self.zone)
        minute = local.hour * 60 + local.minute
        if not any(start <= minute < end for start, end in self.days[local.weekday()]):
            return False
        return not any(period.covers(at, local.date()) for period in self.closed)

    def next_change(self, at: datetime) -> datetime | None:
        """Return the first instant after `at` at which `is_open` differs; None if that never happens."""
        try:
            return self._next_change(at)
        except OverflowError:
            return None  # past the year 9999

    def _next_change(self, at: datetime) -> datetime | None:
        present, begin = self.is_open(at), at
        edges = sorted(edge for period in self.closed for edge in period.edges(self.zone) if edge > at)
        while True:
            end = begin + _LOOK_AHEAD
            changes = {*self._turns(begin, end), *(edge for edge in edges if edge <= end)}
            for instant in sorted(instant for instant in changes if instant > at):
                if self.is_open(instant) != present:
                    return instant
            later = next((edge for edge in edges if edge > end), None)
            if later is None:
                return None
            begin = max(begin + _MARGIN, later - _MARGIN)

    def _turns(self, begin: datetime, end: datetime) -> Iterator[datetime]:
        """Yield the instants at which a window may open or close, and at which clocks change."""
        day, last = begin.astimezone(self.zone).date() - timedelta(days=1), end.astimezone(self.zone).date()
        noon = datetime.combine(day, time(12), UTC)
        while day <= last:
            for minute in {minute for span in self.days[day.weekday()] for minute in span}:
                yield from _instants(day, minute, self.zone)
            after = noon + timedelta(days=1)
            if noon.astimezone(self.zone).utcoffset() != after.astimezone(self.zone).utcoffset():
                yield _clock_change(noon, after, self.zone)
            day, noon = day + timedelta(days=1), after


def _instants(day: date, minute: int, zone: tzinfo) -> Iterator[datetime]:
    """Yield the instants at which clocks show a time: two in autumn. For a time that they skip, instants near it."""
    local = datetime.combine(day, time(), zone) + timedelta(minutes=minute)
    for fold in (0, 1):
        yield local.replace(fold=fold).astimezone(UTC)


def _clock_change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """Return the second at which the offset of a time zone changes."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > timedelta(seconds=1):
        middle = before + timedelta(seconds=(after - before) // timedelta(seconds=2))
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


@lru_cache(maxsize=4_096)
def state(windows: Windows, at: datetime) -> tuple[bool, datetime | None]:
    """Return whether windows are open at an instant, and when that changes: once for all objects of a run.

    OverflowError in the first or last hours of all times, if their time zone has none for them.
    """
    return windows.is_open(at), windows.next_change(at)


def state_then(windows: Windows, at: datetime) -> tuple[bool, datetime | None]:
    """Return the same; closed for ever in those hours."""
    try:
        return state(windows, at)
    except OverflowError:
        return False, None


# -- texts


@lru_cache(maxsize=2_048)
def zone(name: str) -> tzinfo:
    """Return the time zone of an IANA name, or of an offset such as `-08:00`. Raises WindowError."""
    unsigned = name[1:] if name[:1] in ("+", "-") else name
    if _form(unsigned) in (_TIME, _HOUR):
        hours, minutes = map(int, unsigned.split(":"))
        if hours < 24 and minutes < 60:
            offset = timedelta(hours=hours, minutes=minutes)
            return timezone(-offset if name.startswith("-") else offset)
    try:
        return ZoneInfo(name or "UTC")
    except (ValueError, OSError, LookupError):
        message = f"{_quoted(name)} is not a time zone such as Europe/Berlin or +02:00"
        raise WindowError(message, name, available_timezones) from None


@lru_cache(maxsize=1_024)
def parse(text: str, default_zone: str = "UTC") -> Windows:
    """Return the windows of a text: `[DAYS] FROM-TO; ... [in ZONE] [except PERIOD, ...]`, or `always`.

    Raises WindowError.
    """
    head, _, exceptions = _partition(text, "except")
    weekly, named, place = _partition(head, "in")
    if named and default_zone != "UTC":
        raise WindowError(f"two time zones: {place} and {default_zone}")
    days = [list[Minutes]() for _ in DAYS]
    if weekly.lower() == "always":
        days = [[(0, _DAY)] for _ in DAYS]
    else:
        for window in weekly.split(";"):
            _add(days, *_window(window))
    closed = tuple(period(part) for part in _require_few(exceptions.split(","))) if exceptions else ()
    return Windows(zone(place if named else default_zone), tuple(tuple(sorted(set(spans))) for spans in days), closed)


def _partition(text: str, separator: str) -> tuple[str, bool, str]:
    """Split a text at a word."""
    head, separated, tail = f" {' '.join(text.split())} ".partition(f" {separator} ")
    return head.strip(), bool(separated), tail.strip()


def _window(text: str) -> tuple[frozenset[int], int, int]:
    """Return the days and minutes of `Mon-Thu 09:00-17:00`, `Sat` or `09:00-17:00`."""
    text = text.strip()
    begins = next((position for position, character in enumerate(text) if character in _DIGITS), len(text))
    days = days_of(text[:begins]) if text[:begins].strip() else _ALL_DAYS
    if begins == len(text):
        return days_of(text), 0, _DAY
    start, dash, end = text[begins:].partition("-")
    if not dash:
        raise WindowError(f"{_quoted(start)} is not a time of day such as 09:00-17:00")
    return days, minute_of(start), minute_of(end)


def _add(days: list[list[Minutes]], chosen: Iterable[int], start: int, end: int) -> None:
    """Add a window; one past midnight ends on the next day."""
    if start == end:
        raise WindowError("a window that ends when it begins is never open: write 00:00-24:00 for a whole day")
    for day in chosen:
        if start < end:
            days[day].append((start, end))
        else:
            days[day].append((start, _DAY))
            if end:
                days[(day + 1) % 7].append((0, end))


def weekly(spans: Iterable[tuple[frozenset[int], int, int]], place: tzinfo, closed: tuple[Period, ...]) -> Windows:
    """Return windows of days, first and last minute; without any they are always open. Raises WindowError."""
    _require_few(closed)
    days = [list[Minutes]() for _ in DAYS]
    for chosen, start, end in tuple(spans) or ((_ALL_DAYS, 0, _DAY),):
        _add(days, chosen, start, end)
    return Windows(place, tuple(tuple(sorted(set(spans_of_day))) for spans_of_day in days), closed)


def _require_few(exceptions: _Exceptions) -> _Exceptions:
    """Return exceptions if there are not too many: to find the next change, all are looked at again and again."""
    if len(exceptions) > MAX_EXCEPTIONS:
        raise WindowError(f"{len(exceptions):,} exceptions; {MAX_EXCEPTIONS} are allowed")
    return exceptions


def days_of(text: str) -> frozenset[int]:
    """Return the days of `Mon-Thu` or `Mon, Wed, Sat-Sun`; Monday is 0. Raises WindowError."""
    days = set[int]()
    for item in text.replace(" ", "").split(","):
        first, dash, last = item.partition("-")
        start = _day(first)
        end = _day(last) if dash else start
        days.update((start + step) % 7 for step in range((end - start) % 7 + 1))
    return frozenset(days)


def _day(text: str) -> int:
    number = _NUMBERS.get(text.lower())
    if number is None:
        raise WindowError(
            f"{_quoted(text)} is not a day of the week: {', '.join(DAYS)}",
            text,
            lambda: (*DAYS, *map(str.title, _DAY_NAMES)),
        )
    return number


def minute_of(text: str) -> int:
    """Return the minute since midnight of `09:00`; `24:00` ends a day. Raises WindowError."""
    hour, _, minute = text.strip().partition(":")
    minutes = int(hour) * 60 + int(minute) if _form(text.strip()) == _TIME and int(minute) < 60 else _DAY + 1
    if minutes > _DAY:
        raise WindowError(f"{_quoted(text)} is not a time of day such as 09:00, 17:30 or 24:00")
    return minutes


@lru_cache(maxsize=4_096)
def period(text: str) -> Period:
    """Return the period of `2026-12-24`, `2026-12-24/2027-01-02` or two instants. Raises WindowError."""
    first, slash, last = text.strip().partition("/")
    start, end = _edge(first), _edge(last if slash else first)
    if isinstance(start, datetime) and not slash:
        raise WindowError(f"{_quoted(text)} has no end: write START/END")
    days = [edge.date() if isinstance(edge, datetime) else edge for edge in (start, end)]
    if days[0] > days[1] or (isinstance(start, datetime) and isinstance(end, datetime) and start >= end):
        raise WindowError(f"{_quoted(text)} ends before it begins")
    return Period(start, end)


def _edge(text: str) -> date | datetime:
    text = text.strip()
    try:
        if _form(text) in _INSTANTS:
            return datetime.fromisoformat(text).astimezone(UTC)
        if _form(text) == _DATE:
            return date.fromisoformat(text)
    except (ValueError, OverflowError):
        pass
    raise WindowError(
        f"{_quoted(text)} is neither a day such as 2026-12-24 nor an instant such as 2026-12-24T18:00:00Z"
    )


def _form(text: str) -> str:
    """Return a text with every digit as 0; the beginning of a long one."""
    return text[:_LONGEST_FORM].translate(_AS_ZEROS)


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
