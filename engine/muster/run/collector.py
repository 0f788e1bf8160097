"""Deciding without the garbage collector: trees by the hundred thousand, and no cycles worth looking for.

The collector walks all live objects again and again while they only become more, which makes a large fleet cost more
than its size. What a run leaves behind is freed by reference counts; cycles wait until the run is over.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector for the block, if it was on."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
