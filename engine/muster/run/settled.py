"""What passes at one instant come to."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.run.run import Run

if TYPE_CHECKING:
    from muster.run.change import Change

#: Derived files by path, as they lie over a snapshot; None removes one.
Files = dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Settled:
    """Where the passes came to rest.

    `files` are all derived files that differ from the snapshot's, `changes` all transitions in order; `first` is
    the run on the snapshot itself, `last` the final one. `rested` is False where some objects did not come to rest:
    then nothing of theirs is in `files`, and a finding of `last` (MUS262) names each. `faults` are those of muster in
    writing files and telling transitions.
    """

    first: Run
    last: Run
    files: Files
    changes: "list[Change]"
    rested: bool
    faults: frozenset[Finding] = frozenset()

    @property
    def findings(self) -> list[Finding]:
        """All that is wrong in the end, sorted by place; also what only the first pass sees, and changes."""
        seen = (found for found in self.first.findings if found.code == Code.AGENT_REF_GONE)
        return sorted({*self.last.findings, *seen, *self.faults}, key=Finding.sort_key)
