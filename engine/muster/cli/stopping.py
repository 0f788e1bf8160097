"""Being told to stop: SIGTERM and Ctrl-C, of a verb that goes on until then.

What is under way gets a moment to come to its end; then it is given up wherever it is, in an exchange with a remote
that does not answer, or in the middle of a large fleet. What that leaves half done is undone on the way out.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event
from typing import Final

#: How long a moment is; and when it is asked again, because whatever ran just then kept the first time to itself.
_MOMENT_SECONDS: Final = 2.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class GivenUpError(BaseException):
    """What was under way is given up. No `Exception`: nothing that survives errors survives this."""


@contextmanager
def until_stopped(stop: Event, *, wake: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Set `stop`, and call `wake`, when a signal says so; end the block where it does not end by itself then."""

    def end(*_: object) -> None:
        stop.set()
        wake()
        signal.setitimer(signal.ITIMER_REAL, _MOMENT_SECONDS, _MOMENT_SECONDS)

    def give_up(*_: object) -> None:
        raise GivenUpError

    before = {number: signal.signal(number, end) for number in _SIGNALS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, give_up)
    try:
        with suppress(GivenUpError):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)
