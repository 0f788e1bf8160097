"""A plan as text: transitions by object and a summary; for a branch, sections of changes."""

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from muster.cli.cells import short_label
from muster.cli.outcome import finding_text
from muster.cli.table import BOLD, PLAIN, has_colours, paint, paragraph, wrapped
from muster.data.decision import Held
from muster.data.kinds import is_cluster
from muster.data.names import few
from muster.data.printable import counted, printable
from muster.data.times import format_time
from muster.features.plan.effects import Row, Section
from muster.run.transition import Transition
from muster.run.transitions.compare_revisions import Comparison
from muster.run.transitions.subjects import subject_line
from muster.run.transitions.transitions import MOST_NAMED, together

#: Sign and colour of a transition: added, removed, changed.
_ADDED, _REMOVED, _CHANGED = ("+", 32), ("-", 31), ("~", 33)


def print_transitions(changes: Sequence[Transition]) -> None:
    """Print each object with a line per transition, and many objects with the same transitions together.

    Newly held effects are left out: `print_held` prints them.
    """
    shown = [change for change in changes if change.fact.sort != "held" or change.now is None]
    texts = {
        id_: "".join(line for change in of_object for line in _transition_lines(change))
        for id_, of_object in groupby(shown, key=lambda change: change.object)
    }
    for names, id_ in zip(together([*texts], [*texts.values()]), texts, strict=True):
        if names is not None:
            title = "\n".join(paragraph(printable(names or str(id_)), "", "    "))
            sys.stdout.write(f"{paint(title, BOLD if has_colours() else PLAIN)}\n{texts[id_]}")


def _transition_lines(change: Transition) -> Iterator[str]:
    before, after = change.before, change.after
    sign, colour = _CHANGED if before and after else _REMOVED if before or change.now is None else _ADDED
    status = f"{before} -> {after}" if before and after else before or after
    if status == "derived":
        status = "gone" if before else "new"
    what = ": ".join(filter(None, (short_label(change.field), status))) or "derived part"
    note = change.note or change.source.partition("#")[0]
    text = printable(f"{what} ({note})" if note and note not in what else what)
    first, *others = paragraph(text, "    ", "      ")
    yield f"  {paint(sign, colour if has_colours() else PLAIN)} {first[4:]}\n"
    yield from (f"{line}\n" for line in others)


def print_held(held: Sequence[Held]) -> None:
    """Print held effects: for each reason the effects, and their objects."""
    for reason, ours in _grouped(held, lambda effect_held: effect_held.reason):
        count = f"{len(ours)} effect{' is' if len(ours) == 1 else 's are'}"
        sys.stdout.writelines(f"{line}\n" for line in paragraph(printable(f"{count} held: {reason}"), "", "      "))
        for effect, same in _grouped(ours, lambda effect_held: effect_held.effect):
            names = few(
                [
                    effect_held.object.name if is_cluster(effect_held.object) else str(effect_held.object)
                    for effect_held in same
                ],
                MOST_NAMED,
            )
            text = printable(f"{short_label(effect)}: {names}")
            sys.stdout.writelines(f"{line}\n" for line in paragraph(text, "  ", "      "))


def _grouped(held: Sequence[Held], by: Callable[[Held], str]) -> Iterator[tuple[str, list[Held]]]:
    for name, same in groupby(sorted(held, key=lambda effect_held: (by(effect_held), effect_held.object)), key=by):
        yield name, list(same)


def print_summary(subject: str, files: int, horizon: datetime | None) -> None:
    """Print the summary, and the next change without new input."""
    noun = "file" if files == 1 else "files"
    text = f"{subject}: {files} derived {noun} to write or remove." if files else "Nothing to do."
    sys.stdout.writelines(f"{line}\n" for line in paragraph(text))
    if horizon is not None:
        sys.stdout.write(f"Next change without new input: {format_time(horizon)}.\n")


def print_sections(sections: Sequence[Section]) -> None:
    """Print the sections of a branch with all names, wrapped to the terminal."""
    for section in sections:
        sys.stdout.write(f"{section.title}: {section.total}\n")
        sys.stdout.writelines(f"{line}\n" for line in _lines(section.rows))


def print_branch(comparison: Comparison, against: str, base: str, now: datetime) -> None:
    """Print the summary of a branch: mended findings, and what was compared."""
    for finding in comparison.mended:
        sys.stdout.write(f"mended: {finding_text(finding).splitlines()[0]}\n")
    since = f"since it left {printable(against)} at {base[:12]}, both as of {format_time(now)}."
    if comparison:
        sys.stdout.write(f"{subject_line(comparison.changes)}.\n")
        count = counted(comparison.differing, "object")
        subject = f"This branch changes what is derived of {count}, {since}"
    else:
        subject = f"This branch changes nothing that is derived, {since}"
    sys.stdout.writelines(f"{line}\n" for line in wrapped(subject))


def _lines(rows: Sequence[Row]) -> Iterator[str]:
    """The lines of rows; rows with the same `what` share its line."""
    last = None
    for row in rows:
        what = printable(row.what)
        if what != last:
            yield from wrapped(what, "  ", "      ")
        last = what
        yield from wrapped(f"{printable(row.how)}: {', '.join(map(printable, row.names))}", "    ", "      ")
