"""The one instant of an evaluation, and the first instant at which time alone would change its outcome.

`Clock(now).now` is what callers put into the variable `now`. What is computed from it stays tied to the clock, also
inside variables that are evaluated once and read by many expressions, and each comparison notes when it will flip.
"""

from datetime import UTC, datetime, timedelta

from muster.cel.runtime.temporal import EPOCH, Instant, instant, instant_ns


class Clock:
    """Holds `now`, and the earliest second after it at which an outcome seen so far differs."""

    __slots__ = ("_earliest", "now", "now_ns")

    now: datetime
    """The instant of this run, tracked."""

    def __init__(self, now: datetime) -> None:
        """Start at an instant with a time zone; ValueError where it has none."""
        if now.tzinfo is None:
            raise ValueError("now needs a time zone")
        self.now_ns = instant_ns(now if isinstance(now, Instant) else now.astimezone(UTC))
        self.now = instant(self.now_ns, 1, self)
        self._earliest: int | None = None

    @property
    def horizon(self) -> datetime | None:
        """The earliest whole second after now at which a comparison seen so far flips; None if none does."""
        if self._earliest is None:
            return None
        try:
            return EPOCH + timedelta(seconds=self._earliest)
        except OverflowError:
            return None

    def record_second(self, second: int) -> None:
        """Note that some outcome changes at this second since 1970."""
        if self._earliest is None or second < self._earliest:
            self._earliest = second

    def reset(self) -> None:
        """Forget all that was noted."""
        self._earliest = None

    def take(self) -> int | None:
        """Return what was noted and forget it: used to tell the horizon of one expression from the others'."""
        earliest, self._earliest = self._earliest, None
        return earliest

    def restore(self, earliest: int | None) -> None:
        """Note again what `take` gave."""
        if earliest is not None:
            self.record_second(earliest)
