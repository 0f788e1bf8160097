"""The progress of a run, for listeners that show or measure it: a terminal, metrics, traces."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import TypeAlias


class RunStep(StrEnum):
    """The steps of a run in order: a name for programs, and words for people."""

    FETCHING = "asking the remote"
    LISTENING = "listening to agents"
    COMPARING = "looking for what changed"
    READING = "reading and checking the fleet"
    DECIDING = "deciding"
    DECIDING_SHARDS = "deciding neighbourhoods"
    FOLLOWING = "looking at what was committed meanwhile"
    COMMITTING = "committing"
    PUSHING = "pushing"
    PUBLISHING = "publishing pulses"
    KEEPING = "keeping what the next run need not look at"
    REPEATING = "repeating runs"
    REHEARSING = "rehearsing"


#: Receives the step, how much of it is done, and how much there is to do (0 if unknown).
Listener: TypeAlias = Callable[[RunStep, int, int], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def doing(step: RunStep, done: int = 0, total: int = 0) -> None:
    """Report the step that begins now, or its progress."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(step, done, total)


@contextmanager
def unheard() -> Iterator[None]:
    """Report no steps while the block runs: it is one step of many."""
    token = _LISTENER.set(None)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Add a listener while the block runs."""
    before = _LISTENER.get()

    def both(step: RunStep, done: int, total: int) -> None:
        if before is not None:
            before(step, done, total)
        listener(step, done, total)

    token = _LISTENER.set(both)
    try:
        yield
    finally:
        _LISTENER.reset(token)
