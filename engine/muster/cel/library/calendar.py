"""Parts of timestamps and durations, such as `getHours()`, with time zones."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from muster.cel.declarations import TimeUse
from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.temporal import EPOCH, SECOND, instant_ns, rate_of, span_ns
from muster.cel.runtime.watching import WATCHING, watch
from muster.cel.runtime.windows import WindowError, zone

LIBRARY = Library("parts of times")

WITH_ZONE, UNKNOWN_ZONE = 30, 1_500
"""Units of converting to a time zone, and of searching for one that does not exist."""


def _local(value: datetime, zone_name: str | None) -> datetime:
    plain_value = EPOCH + timedelta(microseconds=instant_ns(value) // 1000)
    if zone_name is None:
        return plain_value
    try:
        return plain_value.astimezone(zone(zone_name))
    except WindowError as error:
        raise EvaluationError(error.message) from None
    except OverflowError:
        raise EvaluationError("timestamp out of range in this time zone") from None


def _part(
    name: str, suffix: str, doc: str, of_time: Callable[[datetime], int], of_span: Callable[[timedelta], int] | None
) -> None:
    """Add the accessor `x.name()` and `x.name(zone)` for timestamps, and for durations if `of_span` is given."""

    def accessor(meter: Meter, site: int, value: Any, zone_name: Any = None) -> int:
        def of_local_time(moment: Any) -> int:
            return of_time(_local(moment, zone_name))

        function: Callable[[Any], int] = of_local_time
        if isinstance(value, timedelta) and zone_name is None and of_span is not None:
            function = of_span
        elif not isinstance(value, datetime) or not (zone_name is None or zone_name.__class__ is str):
            raise no_overload(name, *((value,) if zone_name is None else (value, zone_name)))
        if zone_name is not None:
            _pay_for_zone(meter, site, zone_name)
        if rate_of(value):
            spend(meter, site, WATCHING if zone_name is None else 2 * WATCHING)
            watch(value, function, None if zone_name is None else lambda moment: _local(moment, zone_name).utcoffset())
        return function(value)

    zoned = 2 * WATCHING + max(WITH_ZONE, UNKNOWN_ZONE)
    lines = [
        *((f"duration_to_{suffix} {name} duration.() -> int",) if of_span is not None else ()),
        f"timestamp_to_{suffix} {name} timestamp.() -> int",
        f"timestamp_to_{suffix}_with_tz {name} timestamp.(string) -> int",
    ]
    LIBRARY.metered(
        *lines,
        weight=25,
        moving=TimeUse.READ,
        grows=lambda args: args.between(0, zoned if len(args) > 1 else WATCHING),
        doc=f"`x.{name}()`, `x.{name}(zone)`: {doc}.",
    )(accessor)


def _pay_for_zone(meter: Meter, site: int, name: str) -> None:
    """Pay for a time zone. One that does not exist costs more: each time, all directories are searched."""
    try:
        zone(name)
    except WindowError as error:
        spend(meter, site, UNKNOWN_ZONE)
        raise EvaluationError(error.message) from None
    spend(meter, site, WITH_ZONE)


def _truncated(unit_ns: int, modulus: int = 0) -> Callable[[timedelta], int]:
    """Return the accessor of whole units of a duration, truncated towards zero; with a modulus, of the rest."""

    def accessor(value: timedelta) -> int:
        ns = span_ns(value)
        whole = abs(ns) // unit_ns
        whole = whole % modulus if modulus else whole
        return -whole if ns < 0 else whole

    return accessor


_part("getFullYear", "year", "the year", lambda time: time.year, None)
_part("getMonth", "month", "the month, January is 0", lambda time: time.month - 1, None)
_part(
    "getDayOfYear",
    "day_of_year",
    "the day of the year, counted from 0",
    lambda time: time.timetuple().tm_yday - 1,
    None,
)
_part("getDayOfMonth", "day_of_month", "the day of the month, counted from 0", lambda time: time.day - 1, None)
_part("getDate", "day_of_month_1_based", "the day of the month, counted from 1", lambda time: time.day, None)
_part("getDayOfWeek", "day_of_week", "the day of the week, Sunday is 0", lambda time: time.isoweekday() % 7, None)
_part("getHours", "hours", "the hour; of a duration, all hours", lambda time: time.hour, _truncated(3600 * SECOND))
_part(
    "getMinutes",
    "minutes",
    "the minute; of a duration, all minutes",
    lambda time: time.minute,
    _truncated(60 * SECOND),
)
_part("getSeconds", "seconds", "the second; of a duration, all seconds", lambda time: time.second, _truncated(SECOND))
_part(
    "getMilliseconds",
    "milliseconds",
    "the milliseconds of the second",
    lambda time: time.microsecond // 1000,
    _truncated(10**6, 1000),
)
