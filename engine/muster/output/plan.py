"""A plan for people: the summary, and one line per transition."""

import sys
from collections.abc import Sequence
from datetime import datetime

from muster.model.times import format_time
from muster.output.table import print_table

#: One row per transition: object, field, before, after, why.
Row = tuple[str, str, str, str, str]


def print_transitions(rows: Sequence[Row]) -> None:
    """Print a table of transitions."""
    print_table(["OBJECT", "WHAT", "FROM", "TO", "WHY"], [[cell or "-" for cell in row] for row in rows])


def print_held(rows: Sequence[tuple[str, str, str]]) -> None:
    """Print what budgets hold back: object, effect, why."""
    if rows:
        print_table(["HELD", "EFFECT", "WHY"], [list(row) for row in rows])


def print_summary(subject: str, files: int, horizon: datetime | None) -> None:
    """Print the line under a plan: how much there is, and when time alone changes the next thing."""
    noun = "file" if files == 1 else "files"
    sys.stdout.write(f"{subject}: {files} derived {noun} to write or remove.\n" if files else "Nothing to do.\n")
    if horizon is not None:
        sys.stdout.write(f"Time alone changes something next at {format_time(horizon)}.\n")
