"""Trying again after a lost race: bounded, and with jitter so that two who collided do not collide again."""

import random
import time
from collections.abc import Callable, Iterable, Iterator

#: How often the head of a branch is evaluated that others keep moving; the pauses: evaluating takes seconds.
_MOST_ATTEMPTS, _BASE_SECONDS, _MOST_SECONDS = 8, 0.4, 25.6


def jittered(
    retries: int, *, base_seconds: float, most_seconds: float, random: Callable[[], float] = random.random
) -> Iterator[float]:
    """Yield `retries` delays, each at random between nothing and a bound that doubles from `base_seconds` on.

    `random` returns a number of [0, 1), as `random.random` does.
    """
    for retry in range(retries):
        yield random() * min(most_seconds, base_seconds * 2**retry)


def attempts(delays: Iterable[float], sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:
    """Yield 1, 2, ...: one attempt more than there are `delays` (in seconds; see `jittered`), with one before each."""
    yield 1
    for number, delay in enumerate(delays, 2):
        sleep(delay)
        yield number


def patient(most: int = _MOST_ATTEMPTS) -> Iterator[int]:
    """Yield the attempts of somebody who evaluates a branch before moving it."""
    return attempts(jittered(most - 1, base_seconds=_BASE_SECONDS, most_seconds=_MOST_SECONDS))
