"""Runs without the cyclic garbage collector.

A run makes trees by the hundred thousand and hardly any cycles. The collector would walk all live objects again and
again, so that the cost grew faster than the fleet. Reference counts free nearly everything; cycles wait until the end.
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
