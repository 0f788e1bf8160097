"""Passes until rest: an evaluation may leave a further step that is due at the same instant.

A pool that deletes a cluster can create its successor only in the next pass. `settle` evaluates, lays what was
derived over the snapshot and evaluates again, until a pass changes nothing.
"""

from dataclasses import dataclass
from datetime import datetime

from muster.answers.change import Change
from muster.answers.changes import changes
from muster.answers.evaluate import Run, evaluate_snapshot
from muster.answers.overlay import Overlay
from muster.model.published import NOTHING_PUBLISHED, Memory
from muster.model.snapshot import Snapshot

MOST_PASSES = 50


@dataclass(frozen=True, slots=True)
class Settled:
    """Where the passes came to rest.

    `files` are all derived files that differ from the snapshot's, `changes` all transitions in order; `first` is
    the run on the snapshot itself, `last` the final one. `rested` is False where the bound was hit first.
    """

    first: Run
    last: Run
    files: dict[str, str | None]
    changes: list[Change]
    rested: bool


def settle(snapshot: Snapshot, now: datetime, published: Memory = NOTHING_PUBLISHED) -> Settled:
    """Evaluate a snapshot until nothing more is due at `now`, at most `MOST_PASSES` times."""
    first = run = evaluate_snapshot(snapshot, now, published)
    files, told = dict(run.files), changes(run.fleet)
    for _ in range(MOST_PASSES):
        if run.horizon is None or run.horizon > run.now or not run.files:
            return Settled(first, run, _real(first, files), told, rested=True)
        run = evaluate_snapshot(Overlay(snapshot, files), now, published)
        files.update(run.files)
        told.extend(changes(run.fleet))
    return Settled(first, run, _real(first, files), told, rested=False)


def _real(first: Run, files: dict[str, str | None]) -> dict[str, str | None]:
    """Without files that were written in one pass and removed in a later one, and so never existed."""
    return {path: text for path, text in files.items() if text is not None or path in first.fleet.derived_files}
