"""How often to try again when somebody else was faster: a few times, each after a longer, jittered pause."""

import random
import time
from collections.abc import Callable, Iterator

MOST_ATTEMPTS = 8
FIRST_PAUSE_SECONDS = 0.1


def patient(
    most: int = MOST_ATTEMPTS,
    sleep: Callable[[float], None] = time.sleep,
    jitter: Callable[[], float] = random.random,
) -> Callable[[], Iterator[int]]:
    """Return a source of attempts 1, 2, ... `most`, with a pause before each but the first.

    The n-th pause is up to `FIRST_PAUSE_SECONDS` * 2^n long, at least half of that.
    """

    def attempts() -> Iterator[int]:
        for attempt in range(1, most + 1):
            if attempt > 1:
                longest = FIRST_PAUSE_SECONDS * 2.0**attempt
                sleep(longest * (0.5 + jitter() / 2))
            yield attempt

    return attempts
