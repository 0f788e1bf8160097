"""Trying again after a lost race: bounded, and with jitter so that two who collided do not collide again."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def retrying(
    attempt: Callable[[], T], again: Callable[[T], bool], *, delays: Iterable[float], sleep: Callable[[float], None]
) -> T:
    """Return the first result of `attempt` of which `again` is not true, or the last one when `delays` run out.

    There is one attempt more than there are `delays` (in seconds; see `jittered`).
    """
    result = attempt()
    for delay in delays:
        if not again(result):
            break
        sleep(delay)
        result = attempt()
    return result


def jittered(retries: int, *, base_seconds: float, most_seconds: float, random: Callable[[], float]) -> Iterator[float]:
    """Yield `retries` delays, each at random between nothing and a bound that doubles from `base_seconds` on.

    `random` returns a number of [0, 1), as `random.random` does.
    """
    for retry in range(retries):
        yield random() * min(most_seconds, base_seconds * 2**retry)
