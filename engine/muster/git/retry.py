"""Trying again after a lost race: bounded, and with jitter so that two who collided do not collide again."""

import random
import time
from collections.abc import Callable, Iterable, Iterator

#: How often at least, and for how long, somebody tries to move a branch that others keep moving. The pauses are short:
#: a second look costs what changed since the first, and who waits meets the next commit.
_FEWEST_ATTEMPTS, _LONGEST_SECONDS = 8, 120.0
_BASE_SECONDS, _MOST_SECONDS = 0.1, 1.0
_EVER = 1 << 20


def jittered(
    retries: int, *, base_seconds: float, most_seconds: float, random: Callable[[], float] = random.random
) -> Iterator[float]:
    """Yield `retries` delays, each at random between nothing and a bound that doubles from `base_seconds` on.

    `random` returns a number of [0, 1), as `random.random` does.
    """
    for retry in range(retries):
        yield random() * min(most_seconds, base_seconds * 2 ** min(retry, 64))


def attempts(delays: Iterable[float], sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:
    """Yield 1, 2, ...: one attempt more than there are `delays` (in seconds; see `jittered`), with one before each."""
    yield 1
    for number, delay in enumerate(delays, 2):
        sleep(delay)
        yield number


def patient(
    fewest: int = _FEWEST_ATTEMPTS, longest_seconds: float = _LONGEST_SECONDS, *,
    clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep,
) -> Iterator[int]:  # fmt: skip
    """Yield the attempts of somebody who evaluates a branch before moving it: until `longest_seconds` are over, and
    at least `fewest` however long each takes."""
    until = clock() + longest_seconds
    delays = jittered(_EVER, base_seconds=_BASE_SECONDS, most_seconds=_MOST_SECONDS)
    for number in attempts(delays, sleep):
        yield number
        if number >= fewest and clock() >= until:
            return
