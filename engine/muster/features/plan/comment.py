"""A plan as a comment on a pull request: Markdown that is found again and replaced, and fits into a comment.

Totals stand at its top and in the headings, and are those of the whole plan however much of the rest is left out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muster.cli.markdown import code, findings_markdown, folded, more_markdown, table, words
from muster.cli.outcome import tally
from muster.data.finding import Finding
from muster.data.times import format_time
from muster.features.plan.effects import Row, Section, sections_of
from muster.run.changes import summary
from muster.run.comparison import Comparison, comparison_of
from muster.run.run import Run, Settled

#: The first line of each such comment: nothing that anybody writes in a fleet can be it.
MARKER: Final = "<!-- muster:plan -->"
#: Bytes. GitHub takes 65,536 characters and GitLab 1,000,000, but nobody reads more than the smaller.
MOST: Final = 60_000
#: The title of one that has nothing to tell.
NOTHING: Final = "nothing that is derived changes"
#: What is ours in a comment: texts of anybody's as code, tags, headings, instants, and the words for what does not fit.
_OURS: Final = re.compile(
    r"<code>(?:[A-Za-z0-9 -]|[^\x00-\x7f]|&#\d{1,7};)*</code>|</?(?:details|summary|b)>|<details open>|(?m:^### )|\*\*"
    r"|`muster plan`|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\b"
)
#: All else: letters, digits, and signs that stand between words; a dot or colon only where no word follows.
_INERT: Final = re.compile(r"(?:[A-Za-z0-9 |,…\n-]|[.:](?=\s|$))*")
#: How many names of a row, and rows of a section, are shown at most: what is tried until the comment fits.
_LIMITS: Final = ((1000, 500), (200, 200), (50, 100), (20, 50), (10, 20), (5, 5), (0, 0))
#: Names that stand in a table as they are; what is more is folded.
_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Comment:
    """What a comment says. `title` and `about` are Markdown of our own; `found` are findings that are new and `mended`
    those that are gone."""

    title: str
    about: str
    sections: Sequence[Section] = ()
    found: Sequence[Finding] = ()
    mended: Sequence[Finding] = ()


def branch_comment(found: Comparison, against: str, base: Run, head: Run) -> Comment:
    """Say what a branch changes in what would be derived."""
    commit = f"{code(head.commit[:12])} changes" if head.commit else "the work tree changes"
    about = f"What {commit} since it left {code(against)} at {code((base.commit or '')[:12])}, "
    about += f"both as of {format_time(head.now)}."
    title = words(summary(found.changes)) if found else NOTHING
    if not found and (found.found or found.mended):
        title += ", but findings do"
    return Comment(f"Plan: {title}", about, sections_of(found), found.found, found.mended)


def plan_comment(settled: Settled) -> Comment:
    """Say what a reconcile would change."""
    run, found = settled.last, comparison_of(settled)
    about = (
        f"What a reconcile of {code((run.commit or 'the work tree')[:13])} would commit as of {format_time(run.now)}."
    )
    title = words(summary(settled.changes)) if settled.files else "nothing to do"
    return Comment(f"Plan: {title}", about, sections_of(found), found.found)


def comment_text(comment: Comment, most: int = MOST) -> str:
    """Return the comment, as whole as fits into so many bytes."""
    text = ""
    for names, rows in _LIMITS:
        try:
            text = "\n\n".join(_parts(comment, names, rows, most)) + "\n"
        except _TooMuch:
            continue
        if len(text.encode()) <= most:
            break
    return text


class _TooMuch(Exception):  # noqa: N818 - not an error: less is tried
    """What is to be told is longer than the comment may be, before any of it is written."""


def _within(texts: Iterable[str], most: int) -> None:
    """Raise _TooMuch where texts are longer than a comment: to escape all of them would take minutes."""
    length = 0
    for text in texts:
        length += len(text)
        if length > most:
            raise _TooMuch


def is_comment(text: str) -> bool:
    """Tell whether a text is such a comment: no tag, sign or link in it that is none of ours."""
    lines = text.split("\n")
    if lines[0] != MARKER or len(text.encode()) > MOST or not all(map(str.isprintable, lines)):
        return False
    return _INERT.fullmatch(_OURS.sub("", "\n".join(lines[1:]))) is not None


def says_nothing(text: str) -> bool:
    """Tell whether a comment says that nothing changes."""
    return f"\n### Plan: {NOTHING}\n" in text


def _parts(comment: Comment, names: int, rows: int, most: int) -> Iterator[str]:
    yield f"{MARKER}\n### {comment.title}"
    yield comment.about
    totals = [f"- **{section.title}**: {section.total}" for section in comment.sections]
    if comment.found:
        totals.append(f"- **New findings**: {tally(comment.found)}")
    if comment.mended:
        totals.append(f"- **Mended**: {tally(comment.mended)}")
    if totals:
        yield "\n".join(totals)
    if not rows:
        yield "This is too much for a comment: `muster plan` with the same options tells all of it."
        return
    _within((found.message for found in (*comment.found[:rows], *comment.mended[:rows])), most)
    if comment.found:
        yield folded(
            f"<b>New findings</b>: {tally(comment.found)}", findings_markdown(comment.found, rows), opened=True
        )
    for section in comment.sections:
        shown = list(_rows(section.rows[:rows], names))
        _within((cell for row in shown for cell in row), most)
        body = table(["what", "how", "which"], shown)
        heading = f"<b>{section.title}</b>: {section.total}"
        yield folded(heading, body + more_markdown(len(section.rows) - rows, "row"), opened=section.first)
    if comment.mended:
        yield folded(f"<b>Mended</b>: {tally(comment.mended)}", findings_markdown(comment.mended, rows))


def _rows(rows: Sequence[Row], most: int) -> Iterator[Sequence[str]]:
    last = None
    for row in rows:
        yield ("" if row.what == last else code(row.what), code(row.how), _names(row.names, most))
        last = row.what


def _names(names: Sequence[str], most: int) -> str:
    """All names, folded where they are many; how many there are where not all are shown."""
    if len(names) <= min(_AT_ONCE, most):
        return ", ".join(map(code, names))
    at_once, more = names[: min(_AT_ONCE, most)], names[min(_AT_ONCE, most) : most]
    rest = f"and {len(names) - len(at_once)} more"
    shown = ", ".join(map(code, at_once))
    if not more:
        return f"{shown} {rest}"
    left_out = f", and {len(names) - most} that are left out here" if len(names) > most else ""
    return f"{shown} <details><summary>{rest}</summary>{', '.join(map(code, more))}{left_out}</details>"
