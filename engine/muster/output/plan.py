"""A plan for people: the summary, and one line per transition; of a branch, what follows from it by name."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime

from muster.engine.changes import summary
from muster.engine.comparison import Comparison
from muster.model.printable import printable
from muster.model.times import format_time
from muster.output.effects import Row as Effect
from muster.output.effects import Section
from muster.output.findings import finding_text
from muster.output.table import print_table

#: One row per transition: object, field, before, after, why.
Row = tuple[str, str, str, str, str]

#: Lines no longer than that are read with ease, however wide the terminal is.
_WIDEST = 100


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


def print_sections(sections: Sequence[Section]) -> None:
    """Print what a branch changes, as wide as the terminal is; every name is there."""
    for section in sections:
        sys.stdout.write(f"{section.title}: {section.total}\n")
        sys.stdout.writelines(f"{line}\n" for line in _lines(section.rows, _width()))


def print_branch(found: Comparison, against: str, base: str, now: datetime) -> None:
    """Print the lines under what a branch changes: what it mends, and what was compared with what."""
    for one in found.mended:
        sys.stdout.write(f"mended: {finding_text(one).splitlines()[0]}\n")
    since = f"since it left {printable(against)} at {base[:12]}, both as of {format_time(now)}."
    if found:
        sys.stdout.write(f"{summary(found.changes)}.\n")
        count = f"{found.differing} object{'' if found.differing == 1 else 's'}"
        subject = f"This branch changes what is derived of {count}, {since}"
    else:
        subject = f"This branch changes nothing that is derived, {since}"
    sys.stdout.writelines(f"{line}\n" for line in _wrapped(subject, "", "", _width()))


def _width() -> int:
    return max(20, min(shutil.get_terminal_size((80, 24)).columns, _WIDEST))


def _lines(rows: Sequence[Effect], width: int) -> Iterator[str]:
    """What it is on a line of its own where several things happen to it."""
    last = None
    for row in rows:
        what = printable(row.what)
        if what != last:
            yield from _wrapped(what, "  ", "      ", width)
        last = what
        yield from _wrapped(f"{printable(row.how)}: {', '.join(map(printable, row.names))}", "    ", "      ", width)


def _wrapped(text: str, first: str, others: str, width: int) -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
