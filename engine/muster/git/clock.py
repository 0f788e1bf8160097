"""The wall clock: the only module that reads it. Whatever decides something takes `now` as a parameter (`--now`)."""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

#: How far the clocks of two machines may differ.
CLOCK_SKEW: Final = timedelta(minutes=5)


def wall_clock() -> datetime:
    """Return the present, UTC, to the microsecond."""
    return datetime.now(UTC)


def seconds_since(timestamp: float) -> float:
    """Return the seconds since a time of a file (`st_mtime`); negative if it lies ahead."""
    return time.time() - timestamp
