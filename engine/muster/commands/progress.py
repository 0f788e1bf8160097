"""Progress on a terminal: what is being done, once it takes longer than a moment. Nothing at all in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner with `what` on standard error while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
