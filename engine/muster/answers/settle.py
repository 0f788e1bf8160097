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
from muster.fleet.faults import guarded
from muster.model.finding import Finding
from muster.model.published import NOTHING_PUBLISHED, Memory
from muster.model.snapshot import Snapshot

MOST_PASSES = 50


@dataclass(frozen=True, slots=True)
class Settled:
    """Where the passes came to rest.

    `files` are all derived files that differ from the snapshot's, `changes` all transitions in order; `first` is
    the run on the snapshot itself, `last` the final one. `rested` is False where the bound was hit first. `faults` are
    those of muster in writing files and telling transitions.
    """

    first: Run
    last: Run
    files: dict[str, str | None]
    changes: list[Change]
    rested: bool
    faults: frozenset[Finding] = frozenset()

    @property
    def findings(self) -> list[Finding]:
        """All that is wrong in the end, sorted by place."""
        return sorted({*self.last.findings, *self.faults}, key=Finding.sort_key)


def settle(snapshot: Snapshot, now: datetime, published: Memory = NOTHING_PUBLISHED) -> Settled:
    """Evaluate a snapshot until nothing more is due at `now`, at most `MOST_PASSES` times."""
    first = run = evaluate_snapshot(snapshot, now, published)
    files = dict(run.files)
    told: list[Change] = []
    faults = _tell(run, told)
    for _ in range(MOST_PASSES):
        if run.horizon is None or run.horizon > run.now or not run.files:
            return Settled(first, run, _real(first, files), told, rested=True, faults=frozenset(faults))
        run = evaluate_snapshot(Overlay(snapshot, files), now, published)
        files.update(run.files)
        faults.extend(_tell(run, told))
    return Settled(first, run, _real(first, files), told, rested=False, faults=frozenset(faults))


def _tell(run: Run, told: list[Change]) -> list[Finding]:
    """Add what a run changes to `told`; return the faults of ours in writing and telling."""
    found = guarded("telling what changes", lambda: changes(run.fleet), "it is committed untold")
    told.extend(one for one in found if isinstance(one, Change))
    return [*run.unwritten, *(one for one in found if isinstance(one, Finding))]


def _real(first: Run, files: dict[str, str | None]) -> dict[str, str | None]:
    """Without files that were written in one pass and removed in a later one, and so never existed."""
    return {path: text for path, text in files.items() if text is not None or path in first.fleet.derived_files}
