"""Find when a function of a value that moves with `now`, such as `getHours()`, changes its result.

Comparisons compute their flip (`runtime.temporal`). A function that reads a part of a value searches for it here.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.runtime.temporal import SECOND, FlipRecorder, clock_of, instant, instant_ns, rate_of, span, span_ns

WATCHING = 2_500
"""Units of one search for the next change of a function."""


def watch_each_second(value: datetime | timedelta) -> None:
    """Record that the result changes at the next second: for functions that keep the whole value."""
    clock = clock_of(value)
    if clock is not None:
        clock.record_second(clock.now_ns // SECOND + 1)


def watch(
    value: datetime | timedelta, function: Callable[[Any], object], offset: Callable[[Any], object] | None = None
) -> None:
    """Record the next second at which the result of `function(value)` changes.

    For functions of calendar and clock, which are constant for a while and then change: the search doubles its step
    until it sees a change, then halves the distance. It ignores changes after more than ten thousand years. A time zone
    may move the clock back over a change, so with `offset`, also a function of the value, the search restarts at each
    change of the offset.
    """
    clock = clock_of(value)
    if clock is not None:
        second = _Search(value, clock, function, offset).first_change()
        if second is not None:
            clock.record_second(second)


_WEEK, _YEAR = 7 * 86_400, 367 * 86_400
"""A time zone changes its offset at most once a week; each part of a date changes at least once a year."""


class _Search:
    """Searches the first second, since 1970, at which the result of a function of a tracked value changes."""

    def __init__(
        self, value: Any, clock: FlipRecorder, function: Callable[[Any], object], offset: Callable[[Any], object] | None
    ) -> None:
        self.clock, self.rate = clock, rate_of(value)
        self.base = instant_ns(value) if isinstance(value, datetime) else span_ns(value)
        self.make: Callable[[int], Any] = instant if isinstance(value, datetime) else span
        self.function, self.offset = function, offset
        self.present = self.outcome(function, self.base)

    def outcome(self, function: Callable[[Any], object], ns: int) -> object:
        """Return the result of a function; None if it fails, which is a result as well."""
        try:
            return function(self.make(ns))
        except (EvaluationError, OverflowError):
            return None

    def at(self, function: Callable[[Any], object], second: int) -> object:
        """Return the result of a function at a second."""
        return self.outcome(function, self.base + self.rate * (second * SECOND - self.clock.now_ns))

    def first_change(self) -> int | None:
        """Return the second of the change; None if there is none in ten thousand years."""
        same = start = self.clock.now_ns // SECOND
        step, farthest = 1, _YEAR if self.offset else 0
        while step <= 2**39:
            ahead = same + step
            if same - start < farthest:
                spell = self.last_of_spell(same, ahead)
                ahead, step = (ahead, step) if spell is None else (max(spell, same + 1), 1)
            if self.at(self.function, ahead) != self.present:
                return self.first(same, ahead, self.function, self.present)
            same = ahead
            step = min(step * 2, _WEEK) if same - start < farthest else step * 2
        return None

    def last_of_spell(self, same: int, ahead: int) -> int | None:
        """Return the last second before the offset changes; None if it does not change until `ahead`."""
        assert self.offset is not None
        present = self.at(self.offset, same)
        if self.at(self.offset, ahead) == present:
            return None
        return self.first(same, ahead, self.offset, present) - 1

    def first(self, same: int, changed: int, function: Callable[[Any], object], present: object) -> int:
        """Return the first second after a change between two seconds, by halving the distance."""
        while changed - same > 1:
            middle = (same + changed) // 2
            if self.at(function, middle) != present:
                changed = middle
            else:
                same = middle
        return changed
