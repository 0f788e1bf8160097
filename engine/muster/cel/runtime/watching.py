"""When a function of a value that moves with `now` gives something else: what `getHours()` and its like tell the clock.

Comparisons know their flip by a sum (`runtime.temporal`). A function that reads a part of a value looks for it here.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.runtime.temporal import SECOND, FlipRecorder, clock_of, instant, instant_ns, rate_of, span, span_ns

WATCHING = 2_500
"""Units of finding out when a function of a value that moves with `now` gives something else."""


def watch_each_second(value: datetime | timedelta) -> None:
    """Tell the clock of a tracked value that it differs at the next second: for functions that keep all of it."""
    clock = clock_of(value)
    if clock is not None:
        clock.record_second(clock.now_ns // SECOND + 1)


def watch(
    value: datetime | timedelta, function: Callable[[Any], object], offset: Callable[[Any], object] | None = None
) -> None:
    """Tell the clock of a tracked value the next second at which `function(value)` gives something else.

    For functions of calendar and clock, which are constant for a while and then change: the search doubles its step
    until it sees a change, then halves the distance. A change farther off than ten thousand years is none. A time zone
    may go back over a change: with its `offset`, which is a function of the value too, the search stops at each change
    of the offset and begins anew.
    """
    clock = clock_of(value)
    if clock is not None:
        second = _Search(value, clock, function, offset).first_change()
        if second is not None:
            clock.record_second(second)


_WEEK, _YEAR = 7 * 86_400, 367 * 86_400
"""A time zone changes its offset once in a week at the most; each part of a date changes once in a year at least."""


class _Search:
    """Looks for the first second at which a function of a tracked value gives something else. Seconds since 1970."""

    def __init__(
        self, value: Any, clock: FlipRecorder, function: Callable[[Any], object], offset: Callable[[Any], object] | None
    ) -> None:
        self.clock, self.rate = clock, rate_of(value)
        self.base = instant_ns(value) if isinstance(value, datetime) else span_ns(value)
        self.make: Callable[[int], Any] = instant if isinstance(value, datetime) else span
        self.function, self.offset = function, offset
        self.present = self.outcome(function, self.base)

    def outcome(self, function: Callable[[Any], object], ns: int) -> object:
        """Return what a function gives: None where it fails, which is an outcome as well."""
        try:
            return function(self.make(ns))
        except (EvaluationError, OverflowError):
            return None

    def at(self, function: Callable[[Any], object], second: int) -> object:
        """Return what a function gives at a second."""
        return self.outcome(function, self.base + self.rate * (second * SECOND - self.clock.now_ns))

    def first_change(self) -> int | None:
        """Return the second; None where there is none in the next ten thousand years."""
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
        """Return the last second before the offset changes; None where it does not change on the way."""
        assert self.offset is not None
        present = self.at(self.offset, same)
        if self.at(self.offset, ahead) == present:
            return None
        return self.first(same, ahead, self.offset, present) - 1

    def first(self, same: int, changed: int, function: Callable[[Any], object], present: object) -> int:
        """Return the first second of a change that lies between two: halve the distance until they are neighbours."""
        while changed - same > 1:
            middle = (same + changed) // 2
            if self.at(function, middle) != present:
                changed = middle
            else:
                same = middle
        return changed
