"""Windows of the week: whether an instant is in them, and when that changes."""

from datetime import datetime, timedelta
from typing import Any

from muster.cel.declarations import TimeUse
from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library
from muster.cel.runtime import windows
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.temporal import EPOCH, SECOND, clock_of, instant_ns, rate_of
from muster.cel.runtime.watching import WATCHING, watch_each_second

LIBRARY = Library("windows of the week")

_MOST_CHARACTERS = 20_000
"""The most characters of a text with windows: a calendar with a thousand holidays has fewer."""


@LIBRARY.metered(
    "timestamp_in_window          inWindow  timestamp.(string) -> bool",
    "timestamp_in_window_of_zone  inWindow  timestamp.(string, string) -> bool",
    weight=60,
    moving=TimeUse.READ,
    grows=lambda args: args.between(0, 2 * WATCHING + _MOST_CHARACTERS // 8),
)
def in_window(meter: Meter, site: int, value: Any, text: Any, *zone: Any) -> bool:
    """`time.inWindow(windows)`, `time.inWindow(windows, zone)`: whether the time is in `Mon-Thu 09:00-17:00`.
    `window(...)` is `now.inWindow(...)`."""
    if not isinstance(value, datetime) or not all(argument.__class__ is str for argument in (text, *zone)):
        raise no_overload("inWindow", value, text, *zone)
    if len(text) > _MOST_CHARACTERS:
        raise EvaluationError(f"windows of {len(text):,} characters; {_MOST_CHARACTERS:,} are allowed")
    spend(meter, site, WATCHING + len(text) // 8)
    try:
        parsed = windows.parse(text, *zone)
        is_open, change = windows.state(parsed, EPOCH + timedelta(microseconds=instant_ns(value) // 1000))
    except windows.WindowError as error:
        raise EvaluationError(error.message) from None
    except OverflowError:
        raise EvaluationError("timestamp out of range in this time zone") from None
    if rate := rate_of(value):
        spend(meter, site, WATCHING)
        _record(value, rate, change)
    return is_open


def _record(value: datetime, rate: int, change: datetime | None) -> None:
    """Tell the clock the second at which a moving value reaches the change."""
    clock = clock_of(value)
    if clock is None:
        return
    if rate < 0:
        watch_each_second(value)  # it moves back in time, which no policy does
    elif change is not None:
        gap = instant_ns(change) - instant_ns(value)
        clock.record_second(-(-(clock.now_ns * rate + gap) // (rate * SECOND)))
