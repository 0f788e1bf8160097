"""Finished outages on disk, so that a drill that was stopped goes on.

The key of a file is everything that the rehearsals depend on: this program, the commit and its edits, agents' refs,
published pulses, and the start. A line is an outage, behind a digest of it. A damaged line is dropped.
"""

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from muster.data.times import format_time
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.features.drill.facts import Facts
from muster.features.drill.rehearsing import OutageStep
from muster.features.whatif.rehearsal import Rehearsal
from muster.run.memo.program import this_program
from muster.run.memo.records import digest
from muster.run.question import Question, tips_of, withheld_of

FOLDER: Final = "drills"
#: The files that are kept: the newest ones.
_MOST: Final = 20


@dataclass(frozen=True, slots=True)
class OutageMemo:
    """The outages of one fleet at one instant. `path` None: nothing is kept."""

    path: Path | None
    facts: Facts | None
    outages: dict[tuple[str, ...], tuple[str, tuple[OutageStep, ...]]]

    @classmethod
    def of(cls, cache: Path | None, trial: Rehearsal, start: datetime) -> "OutageMemo":
        """Read what is known about a fleet whose agents stop at `start`. Never raises for a damaged file."""
        if cache is None:
            return cls(None, None, {})
        question = Question(trial.repository, trial.commit, trial.heard, start)
        tree = trial.repository.git.output("rev-parse", f"{trial.commit}^{{tree}}").decode().strip()
        history = trial.repository.git.output("rev-parse", "refs/heads/main").decode().strip()
        pulses = sorted((str(key), str(sent)) for key, sent in trial.memory.items())
        key = (this_program(), history, tree, tips_of(question), withheld_of(question), pulses, format_time(start))
        path = cache / FOLDER / f"{digest(repr(key).encode('utf-8', 'surrogatepass'))}.jsonl"
        return cls(path, *_read(path))

    def known(self, lost: Collection[str], until: datetime) -> tuple[OutageStep, ...] | None:
        """Return the steps of an outage that was rehearsed at least until an instant."""
        end, steps = self.outages.get(tuple(sorted(lost)), ("", ()))
        return steps if end >= format_time(until) else None

    def keep_facts(self, facts: Facts) -> None:
        """Keep the facts of the run that the outages share."""
        self._append({"facts": facts})

    def keep(self, lost: Collection[str], until: datetime, steps: Sequence[OutageStep]) -> None:
        """Keep a finished outage."""
        end, names = format_time(until), sorted(lost)
        self.outages[tuple(names)] = (end, tuple(steps))
        rows = [[step.at, step.facts, step.held] for step in steps]
        self._append({"lost": names, "until": end, "steps": rows})

    def _append(self, line: Tree) -> None:
        if self.path is None:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self.path.exists():
                _forget_old(self.path.parent)
            text = json.dumps(line)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{digest(text.encode())} {text}\n")


def _forget_old(folder: Path) -> None:
    files = sorted(folder.glob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[_MOST - 1 :]:
        path.unlink(missing_ok=True)


def _read(path: Path) -> tuple[Facts | None, dict[tuple[str, ...], tuple[str, tuple[OutageStep, ...]]]]:
    facts: Facts | None = None
    outages: dict[tuple[str, ...], tuple[str, tuple[OutageStep, ...]]] = {}
    try:
        lines = path.read_bytes().split(b"\n") if path.is_file() else []
    except OSError:
        lines = []
    for line in lines:
        kept_digest, _, text = line.partition(b" ")
        if kept_digest.decode(errors="replace") != digest(text):
            continue
        row = json.loads(text)
        if "facts" in row:
            facts = row["facts"]
        else:
            steps = [OutageStep(at, step, tuple(tuple(effect) for effect in held)) for at, step, held in row["steps"]]
            outages[tuple(row["lost"])] = (row["until"], tuple(steps))
    return facts, outages
