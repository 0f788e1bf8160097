"""Instants and spans with nanoseconds, and with a rate at which they move with `now`.

CEL's timestamp is a `datetime` in UTC, its duration a `timedelta`. Two subclasses, `PreciseInstant` and `PreciseSpan`,
hold what those cannot: their value in nanoseconds, and a `rate`. They are *tracked* if the rate is not 0: then the
value is `value + rate * (now - clock's now)`. A comparison with a tracked value gives a plain bool and tells the clock
the first whole second at which its outcome differs. Only values that need it are of these classes, so plain ones cost
nothing.

Ranges are CEL's: years 1 to 9999; results of arithmetic on durations fit int64 nanoseconds (about 292 years).
"""

import operator
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Protocol

from muster.cel.errors import EvaluationError
from muster.cel.runtime.budget import FREE, PRECISE, Meter, spend
from muster.cel.runtime.describe import no_overload

SECOND = 1_000_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LOW = -62_135_596_800 * SECOND
_HIGH = 253_402_300_800 * SECOND
_INT64 = 2**63
_SAFE_DAYS = 106_751
_AHEAD_DAYS = 36_525
"""Days ahead in which the end of a range is recorded: a century. Later counts as never."""
_AHEAD = _AHEAD_DAYS * 86_400 * SECOND
_STEADY_DAYS = _SAFE_DAYS - _AHEAD_DAYS

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class FlipRecorder(Protocol):
    """The part of a clock that tracked values use."""

    now_ns: int

    def record_second(self, second: int) -> None:
        """Record that an outcome changes at this second since 1970."""

    def record_reached(self, instant: datetime) -> None:
        """Record that an outcome changes when `now` reaches this instant."""

    def record_passed(self, instant: datetime) -> None:
        """Record that an outcome changes when `now` is past this instant."""


class _Compared:
    """Comparisons of instants or of spans. They tell the clock when their outcome will change."""

    __slots__ = ()
    comparable: ClassVar[type]

    def __lt__(self, other: object) -> bool:
        return _compare(self, other, "<") if isinstance(other, self.comparable) else NotImplemented

    def __le__(self, other: object) -> bool:
        return _compare(self, other, "<=") if isinstance(other, self.comparable) else NotImplemented

    def __gt__(self, other: object) -> bool:
        return _compare(self, other, ">") if isinstance(other, self.comparable) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return _compare(self, other, ">=") if isinstance(other, self.comparable) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return _compare(self, other, "==") if isinstance(other, self.comparable) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return _compare(self, other, "!=") if isinstance(other, self.comparable) else NotImplemented


class PreciseInstant(_Compared, datetime):
    """A timestamp with nanoseconds or tracked. Only `instant()` makes it."""

    __slots__ = ("clock", "ns", "rate")
    ns: int
    rate: int
    clock: FlipRecorder | None

    comparable = datetime
    __hash__ = datetime.__hash__

    def __add__(self, other: timedelta) -> datetime:  # type: ignore[override]
        return add_span([FREE], 0, self, other) if isinstance(other, timedelta) else NotImplemented

    __radd__ = __add__  # type: ignore[assignment]

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, datetime):
            return difference([FREE], 0, self, other)
        return subtract_span([FREE], 0, self, other) if isinstance(other, timedelta) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return difference([FREE], 0, other, self) if isinstance(other, datetime) else NotImplemented


class Now(PreciseInstant):
    """The `now` of a clock, by far the most frequent tracked value. Comparing it with a plain datetime is fast.

    `plain` is the same instant, not tracked.
    """

    __slots__ = ("plain",)
    clock: FlipRecorder
    plain: datetime

    def __lt__(self, other: object) -> bool:
        if other.__class__ is not datetime:
            return PreciseInstant.__lt__(self, other)
        if self.plain < other:
            self.clock.record_reached(other)
            return True
        return False

    def __le__(self, other: object) -> bool:
        if other.__class__ is not datetime:
            return PreciseInstant.__le__(self, other)
        if self.plain <= other:
            self.clock.record_passed(other)
            return True
        return False

    def __gt__(self, other: object) -> bool:
        if other.__class__ is not datetime:
            return PreciseInstant.__gt__(self, other)
        if self.plain > other:
            return True
        self.clock.record_passed(other)
        return False

    def __ge__(self, other: object) -> bool:
        if other.__class__ is not datetime:
            return PreciseInstant.__ge__(self, other)
        if self.plain >= other:
            return True
        self.clock.record_reached(other)
        return False


class PreciseSpan(_Compared, timedelta):
    """A duration with nanoseconds or tracked. Only `span()` makes it."""

    __slots__ = ("clock", "ns", "rate")
    ns: int
    rate: int
    clock: FlipRecorder | None

    comparable = timedelta
    __hash__ = timedelta.__hash__

    def __add__(self, other: Any) -> Any:
        if isinstance(other, datetime):
            return add_span([FREE], 0, other, self)
        return add_spans([FREE], 0, self, other) if isinstance(other, timedelta) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: timedelta) -> timedelta:
        return subtract_spans([FREE], 0, self, other) if isinstance(other, timedelta) else NotImplemented

    def __rsub__(self, other: timedelta) -> timedelta:
        return subtract_spans([FREE], 0, other, self) if isinstance(other, timedelta) else NotImplemented

    def __neg__(self) -> timedelta:
        return negate(self)


def instant(ns: int, rate: int = 0, clock: FlipRecorder | None = None) -> datetime:
    """Return the timestamp at `ns` nanoseconds since 1970: a plain datetime unless it needs more than that."""
    if rate:
        _watch_range(ns, rate, clock, _LOW, _HIGH)
    if not _LOW <= ns < _HIGH:
        raise EvaluationError("timestamp out of range: years 1 to 9999 are possible")
    plain = EPOCH + timedelta(microseconds=ns // 1000)
    if not rate and not ns % 1000:
        return plain
    is_now = clock is not None and rate == 1 and ns == clock.now_ns and not ns % 1000
    value = (Now if is_now else PreciseInstant)(
        plain.year, plain.month, plain.day, plain.hour, plain.minute, plain.second, plain.microsecond, tzinfo=UTC
    )
    value.ns, value.rate, value.clock = ns, rate, clock if rate else None
    if isinstance(value, Now):
        value.plain = plain
    return value


def span(ns: int, rate: int = 0, clock: FlipRecorder | None = None) -> timedelta:
    """Return the duration of `ns` nanoseconds: a plain timedelta unless it needs more than that."""
    if not rate and not ns % 1000:
        return timedelta(microseconds=ns // 1000)
    value = PreciseSpan(microseconds=ns // 1000)
    value.ns, value.rate, value.clock = ns, rate, clock if rate else None
    return value


def instant_ns(value: datetime) -> int:
    """Return nanoseconds since 1970."""
    if isinstance(value, PreciseInstant):
        return value.ns
    return (value - EPOCH) // _MICROSECOND * 1000


def span_ns(value: timedelta) -> int:
    """Return the duration in nanoseconds."""
    if isinstance(value, PreciseSpan):
        return value.ns
    return ((value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds) * 1000


def rate_of(value: object) -> int:
    """Return the seconds that a value moves per second of `now`; 0 if it is not tracked."""
    return value.rate if isinstance(value, (PreciseInstant, PreciseSpan)) else 0


def clock_of(*values: object) -> FlipRecorder | None:
    """Return the clock of the first tracked value, if there is one."""
    for value in values:
        if isinstance(value, (PreciseInstant, PreciseSpan)) and value.clock is not None:
            return value.clock
    return None


def _result(ns: int, rate: int, clock: FlipRecorder | None) -> timedelta:
    """Return the duration of an arithmetic result. Raises EvaluationError if it is out of range."""
    if rate:
        _watch_range(ns, rate, clock, -_INT64, _INT64)
    if not -_INT64 <= ns < _INT64:
        raise EvaluationError("duration out of range: results of arithmetic may span 292 years")
    return span(ns, rate, clock)


def _watch_range(ns: int, rate: int, clock: FlipRecorder | None, low: int, high: int) -> None:
    """Tell the clock when a value enters or leaves its range, unless that is more than a century ahead."""
    reach = _AHEAD * abs(rate)
    if low + reach <= ns < high - reach:
        return
    for bound in (low, high):
        gap = ns - bound
        if abs(gap) <= reach:
            _record_flip(gap, rate, "<", clock, outcome=gap < 0)


def add_span(meter: Meter, site: int, time: datetime, by: timedelta) -> datetime:
    """Return `time + by`."""
    if time.__class__ is datetime and by.__class__ is timedelta:
        try:
            return time + by
        except OverflowError:
            pass
    spend(meter, site, PRECISE)
    rate = rate_of(time) + rate_of(by)
    return instant(instant_ns(time) + span_ns(by), rate, clock_of(time, by))


def subtract_span(meter: Meter, site: int, time: datetime, by: timedelta) -> datetime:
    """Return `time - by`."""
    if time.__class__ is datetime and by.__class__ is timedelta:
        try:
            return time - by
        except OverflowError:
            pass
    spend(meter, site, PRECISE)
    rate = rate_of(time) - rate_of(by)
    return instant(instant_ns(time) - span_ns(by), rate, clock_of(time, by))


def difference(meter: Meter, site: int, later: datetime, earlier: datetime) -> timedelta:
    """Return `later - earlier`."""
    if later.__class__ is datetime and earlier.__class__ is datetime:
        gap = later - earlier
        if -_SAFE_DAYS <= gap.days < _SAFE_DAYS:
            return gap
    if not isinstance(later, datetime) or not isinstance(earlier, datetime):
        raise no_overload("_-_", later, earlier)
    spend(meter, site, PRECISE)
    rate = rate_of(later) - rate_of(earlier)
    return _result(instant_ns(later) - instant_ns(earlier), rate, clock_of(later, earlier))


def elapsed_more(meter: Meter, site: int, later: Any, earlier: Any, limit: timedelta) -> bool:
    """Return `later - earlier > limit`, without computing the difference if `later` is `now`."""
    if later.__class__ is Now and earlier.__class__ is datetime and limit.__class__ is timedelta:
        gap = later.plain - earlier
        if -_SAFE_DAYS <= gap.days < _STEADY_DAYS:
            if gap > limit:
                return True
            try:
                later.clock.record_passed(earlier + limit)
            except OverflowError:
                return False  # past the year 9999: never
            return False
    spend(meter, site, PRECISE)
    return bool(difference(meter, site, later, earlier) > limit)


def elapsed_at_least(meter: Meter, site: int, later: Any, earlier: Any, limit: timedelta) -> bool:
    """Return `later - earlier >= limit`."""
    if later.__class__ is Now and earlier.__class__ is datetime and limit.__class__ is timedelta:
        gap = later.plain - earlier
        if -_SAFE_DAYS <= gap.days < _STEADY_DAYS:
            if gap >= limit:
                return True
            try:
                later.clock.record_reached(earlier + limit)
            except OverflowError:
                return False  # past the year 9999: never
            return False
    spend(meter, site, PRECISE)
    return bool(difference(meter, site, later, earlier) >= limit)


def elapsed_less(meter: Meter, site: int, later: Any, earlier: Any, limit: timedelta) -> bool:
    """Return `later - earlier < limit`."""
    return not elapsed_at_least(meter, site, later, earlier, limit)


def elapsed_at_most(meter: Meter, site: int, later: Any, earlier: Any, limit: timedelta) -> bool:
    """Return `later - earlier <= limit`."""
    return not elapsed_more(meter, site, later, earlier, limit)


def add_spans(meter: Meter, site: int, left: timedelta, right: timedelta) -> timedelta:
    """Return `left + right`."""
    spend(meter, site, PRECISE)
    rate = rate_of(left) + rate_of(right)
    return _result(span_ns(left) + span_ns(right), rate, clock_of(left, right))


def subtract_spans(meter: Meter, site: int, left: timedelta, right: timedelta) -> timedelta:
    """Return `left - right`."""
    spend(meter, site, PRECISE)
    rate = rate_of(left) - rate_of(right)
    return _result(span_ns(left) - span_ns(right), rate, clock_of(left, right))


def negate(value: timedelta) -> timedelta:
    """Return `-value`."""
    return _result(-span_ns(value), -rate_of(value), clock_of(value))


def _compare(left: Any, right: Any, symbol: str) -> bool:
    """Compare two instants or two spans; tell the clock when the outcome will change."""
    ns = instant_ns if isinstance(left, datetime) else span_ns
    gap = ns(left) - ns(right)
    outcome = COMPARISONS[symbol](gap, 0)
    if rate := rate_of(left) - rate_of(right):
        _record_flip(gap, rate, symbol, clock_of(left, right), outcome=outcome)
    return outcome


def _record_flip(gap: int, rate: int, symbol: str, clock: FlipRecorder | None, *, outcome: bool) -> None:
    """Record the first second after now at which the comparison of `gap + rate * elapsed` with 0 changes."""
    if clock is None:
        return
    compare = COMPARISONS[symbol]
    # The sign of the gap changes once, `zero / rate` nanoseconds after 1970; only the seconds around it can differ.
    zero = clock.now_ns * rate - gap
    denominator = rate * SECOND
    for second in (-(-zero // denominator), zero // denominator + 1):
        elapsed = second * SECOND - clock.now_ns
        if elapsed > 0 and compare(gap + rate * elapsed, 0) != outcome:
            clock.record_second(second)
            return
