"""The one instant of an evaluation, and the first instant at which time alone would change its outcome.

Callers put `Clock(now).now` into the variable `now`. Values computed from it stay tied to the clock, also in variables
that are evaluated once and read by many expressions. Each comparison with such a value records when it will flip.
"""

from datetime import UTC, datetime, timedelta

from muster.cel.runtime.temporal import EPOCH, instant, instant_ns

_NEVER = datetime.max.replace(tzinfo=UTC)
_SECOND = timedelta(seconds=1)


class Clock:
    """Holds `now`, and the earliest instants at which outcomes seen so far will differ.

    An outcome that differs once `now` has *reached* an instant does so at the first whole second not before it; one
    that differs once the instant has *passed*, at the first whole second after it. `horizon` rounds.
    """

    __slots__ = ("_passed", "_reached", "_wake_passed", "_wake_reached", "now", "now_ns")

    now: datetime
    """The instant of this run, tracked."""

    def __init__(self, now: datetime) -> None:
        """Start at an instant. Raises ValueError if it has no time zone."""
        if now.tzinfo is None:
            raise ValueError("now needs a time zone")
        self.now_ns = instant_ns(now if now.tzinfo is UTC else now.astimezone(UTC))
        self.now = instant(self.now_ns, 1, self)
        self._reached = self._passed = self._wake_reached = self._wake_passed = _NEVER

    @property
    def horizon(self) -> datetime | None:
        """The earliest whole second after now at which a recorded comparison flips; None if none does."""
        return _first_second(self._reached, self._passed)

    def take_wake(self) -> datetime | None:
        """Return the horizon of everything recorded since the last call, also of what was reset, and begin again."""
        reached, passed = min(self._reached, self._wake_reached), min(self._passed, self._wake_passed)
        self._reached = self._passed = self._wake_reached = self._wake_passed = _NEVER
        return _first_second(reached, passed)

    def record_second(self, second: int) -> None:
        """Record that an outcome changes at this second since 1970."""
        try:
            self.record_reached(EPOCH + timedelta(seconds=second))
        except OverflowError:
            return  # past the year 9999: never

    def record_reached(self, instant: datetime) -> None:
        """Record that an outcome changes when `now` reaches this instant."""
        if instant < self._reached:
            self._reached = instant

    def record_passed(self, instant: datetime) -> None:
        """Record that an outcome changes when `now` is past this instant."""
        if instant < self._passed:
            self._passed = instant

    def reset(self) -> None:
        """Begin another horizon. `take_wake` still has what was recorded."""
        if self._reached is not _NEVER or self._passed is not _NEVER:
            self._wake_reached = min(self._wake_reached, self._reached)
            self._wake_passed = min(self._wake_passed, self._passed)
            self._reached = self._passed = _NEVER

    def take(self) -> tuple[datetime, datetime]:
        """Return what was recorded and begin another horizon: separates that of one expression from those of others."""
        recorded = (self._reached, self._passed)
        self.reset()
        return recorded

    def restore(self, recorded: tuple[datetime, datetime]) -> None:
        """Record again what `take` returned."""
        self.record_reached(recorded[0])
        self.record_passed(recorded[1])


def _first_second(reached: datetime, passed: datetime) -> datetime | None:
    """The first whole second at which one is reached, or the other is over; None for never."""
    second = None if passed is _NEVER else second_after(passed)
    if reached is _NEVER:
        return second
    first = second_at(reached)
    return first if second is None or (first is not None and first < second) else second


def second_at(instant: datetime) -> datetime | None:
    """Return the first whole second that is not before an instant; None past the year 9999."""
    return second_after(instant) if instant.microsecond else instant


def second_after(instant: datetime) -> datetime | None:
    """Return the first whole second after an instant; None past the year 9999."""
    try:
        return (instant.replace(microsecond=0) if instant.microsecond else instant) + _SECOND
    except OverflowError:
        return None
