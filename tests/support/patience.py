"""Waiting for other processes: by looking again and again, with a patience that is no measurement."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0
_BETWEEN_SECONDS = 0.02


def wait_until(holds: Callable[[], bool], what: Callable[[], str] = str) -> None:
    """Return once `holds()`; fail with what `what()` says when patience ends."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(_BETWEEN_SECONDS)
