"""What a run is doing, told to whoever wants to show it: a terminal, or mostly nobody."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

#: Is told what is done, how much of it is done, and how much there is to do: 0 where nobody knows.
Listener: TypeAlias = Callable[[str, int, int], None]

_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


def doing(what: str, done: int = 0, total: int = 0) -> None:
    """Tell what is being done from now on."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Have it told to a listener while the block runs."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)
