"""A plan for people: by object, one line per transition, and the summary; of a branch, what follows from it by name."""

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from muster.cli.cells import short_label
from muster.cli.outcome import finding_text
from muster.cli.table import BOLD, PLAIN, has_colours, paint, paragraph, wrapped
from muster.data.decision import Held
from muster.data.kinds import is_cluster
from muster.data.printable import printable
from muster.data.times import format_time
from muster.features.plan.effects import Row, Section
from muster.run.change import Change
from muster.run.changes import summary
from muster.run.comparison import Comparison

#: How a transition begins, and in which colour: what comes, what goes, what becomes another.
_COMES, _GOES, _TURNS = ("+", 32), ("-", 31), ("~", 33)


def print_transitions(changes: Sequence[Change]) -> None:
    """Print an object after the other, each with a line for each of its transitions. What becomes held is left to
    `print_held`."""
    shown = [change for change in changes if change.fact.sort != "held" or change.now is None]
    for object_, own in groupby(shown, key=lambda change: change.object):
        sys.stdout.write(f"{paint(printable(str(object_)), BOLD if has_colours() else PLAIN)}\n")
        for change in own:
            _print_transition(change)


def _print_transition(change: Change) -> None:
    before, after = change.before, change.after
    sign, colour = _TURNS if before and after else _GOES if before or change.now is None else _COMES
    status = f"{before} -> {after}" if before and after else before or after
    what = ": ".join(filter(None, (short_label(change.field), status))) or "derived part"
    note = change.note or change.source.partition("#")[0]
    text = printable(f"{what} ({note})" if note and note not in what else what)
    first, *others = paragraph(text, "    ", "      ")
    sys.stdout.write(f"  {paint(sign, colour if has_colours() else PLAIN)} {first[4:]}\n")
    sys.stdout.writelines(f"{line}\n" for line in others)


def print_held(held: Sequence[Held]) -> None:
    """Print what budgets hold back: for each reason, which effects, and on what."""
    for reason, ours in _grouped(held, lambda one: one.reason):
        count = f"{len(ours)} effect{' is' if len(ours) == 1 else 's are'}"
        sys.stdout.writelines(f"{line}\n" for line in paragraph(printable(f"{count} held: {reason}"), "", "      "))
        for effect, same in _grouped(ours, lambda one: one.effect):
            names = ", ".join(one.object.name if is_cluster(one.object) else str(one.object) for one in same)
            text = printable(f"{short_label(effect)}: {names}")
            sys.stdout.writelines(f"{line}\n" for line in paragraph(text, "  ", "      "))


def _grouped(held: Sequence[Held], by: Callable[[Held], str]) -> Iterator[tuple[str, list[Held]]]:
    for name, same in groupby(sorted(held, key=lambda one: (by(one), one.object)), key=by):
        yield name, list(same)


def print_summary(subject: str, files: int, horizon: datetime | None) -> None:
    """Print the line under a plan: how much there is, and when time alone changes the next thing."""
    noun = "file" if files == 1 else "files"
    text = f"{subject}: {files} derived {noun} to write or remove." if files else "Nothing to do."
    sys.stdout.writelines(f"{line}\n" for line in paragraph(text))
    if horizon is not None:
        sys.stdout.write(f"Next change without new input: {format_time(horizon)}.\n")


def print_sections(sections: Sequence[Section]) -> None:
    """Print what a branch changes, as wide as the terminal is; every name is there."""
    for section in sections:
        sys.stdout.write(f"{section.title}: {section.total}\n")
        sys.stdout.writelines(f"{line}\n" for line in _lines(section.rows))


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
    sys.stdout.writelines(f"{line}\n" for line in wrapped(subject))


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    """What it is on a line of its own where several things happen to it."""
    last = None
    for row in rows:
        what = printable(row.what)
        if what != last:
            yield from wrapped(what, "  ", "      ")
        last = what
        yield from wrapped(f"{printable(row.how)}: {', '.join(map(printable, row.names))}", "    ", "      ")
