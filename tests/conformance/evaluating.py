"""One evaluation of a repository's files, remembered: cases whose expectation alone differs share it."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from muster.answers.memory import MemorySnapshot
from muster.engine.evaluate import evaluate_snapshot
from muster.engine.run import Run
from muster.model.published import Published, PulseKey


def evaluated(files: Mapping[str, str], now: datetime, published: Mapping[PulseKey, Published] | None = None) -> Run:
    """Evaluate files by path at an instant; `published` are the pulses that went out before."""
    return _evaluated(tuple(sorted(files.items())), now, tuple((published or {}).items()))


@lru_cache(maxsize=128)
def _evaluated(
    files: tuple[tuple[str, str], ...], now: datetime, published: tuple[tuple[PulseKey, Published], ...]
) -> Run:
    return evaluate_snapshot(MemorySnapshot(dict(files)), now, dict(published))
