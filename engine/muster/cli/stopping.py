"""Stopping by SIGTERM or Ctrl-C, for commands that run until then.

Work in progress gets a moment to end; then it is interrupted wherever it is, in an exchange with a remote that does not
answer or in the middle of a large fleet. Cleanup on the way out undoes what is half done.
"""

import gc
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event
from typing import Final

from muster.cli.exits import FINE, INTERRUPTED
from muster.dataclass import dataclass
from muster.git.errors import KilledError

#: The moment; the interrupt is repeated at this interval, because the code that it hits may swallow it.
_MOMENT_SECONDS: Final = 2.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class GivenUpError(BaseException):
    """Work in progress is interrupted. Not an `Exception`, so that code that survives errors does not survive this."""


@dataclass(slots=True)
class Stopped:
    """The signal that stopped a command first, once one did."""

    number: int | None = None

    @property
    def code(self) -> int:
        """The exit code of a command that runs until it is stopped: SIGTERM is how a service ends."""
        return INTERRUPTED if self.number == signal.SIGINT else FINE


@contextmanager
def until_stopped(stop: Event, *, wake: Callable[[], None] = lambda: None) -> Iterator[Stopped]:
    """Set `stop` and call `wake` at a signal; interrupt the block if it does not end soon after, or at a second signal.
    Garbage is collected from here on: the process may run for months."""
    stopped = Stopped()

    def end(number: int, _: object) -> None:
        if stopped.number is not None:
            raise GivenUpError  # somebody has no patience
        stopped.number = number
        stop.set()
        wake()
        signal.setitimer(signal.ITIMER_REAL, _MOMENT_SECONDS, _MOMENT_SECONDS)

    def give_up(*_: object) -> None:
        raise GivenUpError

    gc.enable()
    before = {number: signal.signal(number, end) for number in _SIGNALS}
    before[signal.SIGALRM] = signal.signal(signal.SIGALRM, give_up)
    try:
        with suppress(GivenUpError):
            yield stopped
    except KilledError:
        if stopped.number is None:
            raise  # else Ctrl-C on a terminal reached git, too
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)
