"""Results of runs for machines: `muster reconcile -o json` and `muster watch -o json`."""

import json
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from typing import TYPE_CHECKING, TextIO

from muster.cli.documents import json_text
from muster.data.printable import printable_json
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.features.plan.plan import result_document
from muster.features.plan.planfile import PlanMovedError

if TYPE_CHECKING:
    from muster.cli.reconcile_result import ReconcileResult
    from muster.features.pulses.publish import Publication


def reconcile_document(done: "ReconcileResult", publication: "Publication") -> Tree:
    """Return what a reconcile did: its commit, null if nothing had to change, the evaluated commit as `source`, and
    what `muster plan -o json` says besides files. `waits`: until when the fleet's limit of commits holds this one."""
    document = result_document(done.settled)
    return {
        "now": document.pop("now"),
        "commit": done.commit,
        "source": document.pop("commit"),
        "pushed": done.pushed,
        "waits": None if done.waits is None else format_time(done.waits),
        "pulses": {"due": len(done.settled.last.pulses), "published": publication.published},
        **document,
    }


class ResultWriter:
    """An observer that writes each run's result: indented, or on one `line`."""

    def __init__(self, out: TextIO, *, line: bool = False) -> None:
        self._out, self._line = out, line

    def running(self) -> AbstractContextManager[None]:
        """Nothing is written about a run that finds nothing to do."""
        return nullcontext()

    def completed(self, done: "ReconcileResult", publication: "Publication") -> None:
        """Write the result."""
        self._write(reconcile_document(done, publication))

    def _write(self, document: Tree) -> None:
        compact = f"{printable_json(json.dumps(document, ensure_ascii=False))}\n"
        self._out.write(compact if self._line else json_text(document))
        self._out.flush()

    def failed(self, error: Exception) -> None:
        """Write why a plan no longer holds. Of other failures the log tells."""
        if isinstance(error, PlanMovedError):
            self._write({"commit": None, "pushed": False, "moved": error.lines})

    def sleeps(self, seconds: float) -> None:
        """Nothing is written about pauses."""


@contextmanager
def written_results(output: str, *, line: bool = False) -> Iterator[tuple[ResultWriter, ...]]:
    """Yield the observer that writes results to standard output if `output` is `json`. Then everything for people goes
    to standard error."""
    if output != "json":
        yield ()
        return
    writer = ResultWriter(sys.stdout, line=line)
    with redirect_stdout(sys.stderr):
        yield (writer,)
