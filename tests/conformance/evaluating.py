"""One evaluation of a repository's files, remembered: cases whose expectation alone differs share it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import lru_cache

from muster.data.decision import Published, PulseKey
from muster.features.test.memory import MemorySnapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run

#: What a case has evaluated so far: files and instant of each step, where somebody wants to know.
_STEPS: ContextVar[list[tuple[dict[str, str], datetime]] | None] = ContextVar("steps", default=None)


@contextmanager
def steps() -> Iterator[list[tuple[dict[str, str], datetime]]]:
    """Note what is evaluated while the block runs."""
    noted: list[tuple[dict[str, str], datetime]] = []
    token = _STEPS.set(noted)
    try:
        yield noted
    finally:
        _STEPS.reset(token)


def evaluated(files: Mapping[str, str], now: datetime, published: Mapping[PulseKey, Published] | None = None) -> Run:
    """Evaluate files by path at an instant; `published` are the pulses that went out before."""
    if (noted := _STEPS.get()) is not None:
        noted.append((dict(files), now))
    return _evaluated(tuple(sorted(files.items())), now, tuple((published or {}).items()))


@lru_cache(maxsize=128)
def _evaluated(
    files: tuple[tuple[str, str], ...], now: datetime, published: tuple[tuple[PulseKey, Published], ...]
) -> Run:
    return evaluate_snapshot(MemorySnapshot(dict(files)), now, dict(published))
