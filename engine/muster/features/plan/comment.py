"""A plan as a comment on a pull request: Markdown that is marked, so that it can be replaced, and limited in size.

Totals are at its top and in the headings; they count the whole plan even if details are left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from muster.cli.markdown import code, findings_markdown, folded, more_markdown, table, words
from muster.cli.outcome import tally
from muster.data.finding import Finding
from muster.data.times import format_time
from muster.dataclass import dataclass
from muster.features.plan.effects import Row, Section, sections_of
from muster.regex import Regex
from muster.run.run import Run, Settled
from muster.run.transitions.compare_revisions import Comparison, comparison_of
from muster.run.transitions.subjects import subject_line

#: The first line of each comment; no text from a fleet can be equal to it.
MARKER: Final = "<!-- muster:plan -->"
#: Bytes. GitHub accepts 65,536 characters and GitLab 1,000,000; the smaller is already more than people read.
MAX_BYTES: Final = 60_000
#: The title of a plan without changes.
NOTHING: Final = "nothing that is derived changes"
#: Our own markup in a comment: quoted texts as code, tags, headings, instants, and the name of the command.
_OURS: Final = Regex(
    r"<code>(?:[A-Za-z0-9 -]|[^\x00-\x7f]|&#\d{1,7};)*</code>|</?(?:details|summary|b)>|<details open>|(?m:^### )|\*\*"
    r"|`muster plan`|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\b"
)
#: All other text: letters, digits, and separators; a dot, colon or semicolon only if no word follows.
_INERT: Final = Regex(r"(?:[A-Za-z0-9 |,…\n-]|[.:;](?:[ \n]|$))*")
#: Limits of names per row and rows per section, tried in turn until the comment fits.
_LIMITS: Final = ((1000, 500), (200, 200), (50, 100), (20, 50), (10, 20), (5, 5), (0, 0))
#: How many names a row shows; more are folded.
_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment's content. `title` and `about`: Markdown of our own; `found`: new findings; `mended`:
    findings that are gone."""

    title: str
    about: str
    sections: Sequence[Section] = ()
    found: Sequence[Finding] = ()
    mended: Sequence[Finding] = ()


def branch_comment(comparison: Comparison, against: str, base: Run, head: Run) -> Comment:
    """The comment about what a branch changes."""
    commit = f"{code(head.commit[:12])} changes" if head.commit else "the work tree changes"
    about = f"What {commit} since it left {code(against)} at {code((base.commit or '')[:12])}, "
    about += f"both as of {format_time(head.now)}."
    title = words(subject_line(comparison.changes)) if comparison else NOTHING
    if not comparison and (comparison.found or comparison.mended):
        title += ", but findings do"
    return Comment(f"Plan: {title}", about, sections_of(comparison), comparison.found, comparison.mended)


def plan_comment(settled: Settled) -> Comment:
    """The comment about what a reconcile would change."""
    run, comparison = settled.last, comparison_of(settled)
    about = (
        f"What a reconcile of {code((run.commit or 'the work tree')[:13])} would commit as of {format_time(run.now)}."
    )
    title = words(subject_line(settled.changes)) if settled.files else "nothing to do"
    return Comment(f"Plan: {title}", about, sections_of(comparison), comparison.found)


def comment_text(comment: Comment, most: int = MAX_BYTES) -> str:
    """Return the comment in Markdown, with as much detail as fits into `most` bytes."""
    text = ""
    for names, rows in _LIMITS:
        try:
            text = "\n\n".join(_parts(comment, names, rows, most)) + "\n"
        except _TooLong:
            continue
        if len(text.encode()) <= most:
            break
    return text


class _TooLong(Exception):  # noqa: N818 - not an error: less is tried
    """The texts alone are longer than the comment may be."""


def _within(texts: Iterable[str], most: int) -> None:
    """Raise _TooLong if texts are too long, before they are escaped, which could take minutes."""
    length = 0
    for text in texts:
        length += len(text)
        if length > most:
            raise _TooLong


def is_comment(text: str) -> bool:
    """Is a text such a comment, without any tag, sign or link but ours?"""
    lines = text.split("\n")
    if lines[0] != MARKER or len(text.encode()) > MAX_BYTES or not all(map(str.isprintable, lines)):
        return False
    return _INERT.fullmatch(_OURS.replace("\n".join(lines[1:]), "")) is not None


def says_nothing(text: str) -> bool:
    """Does a comment say that nothing changes?"""
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
        yield "This is too much for a comment: `muster plan` with the same options shows all of it."
        return
    _within((finding.message for finding in (*comment.found[:rows], *comment.mended[:rows])), most)
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
    """The names, folded if they are many, and the number of those that are left out."""
    if len(names) <= min(_AT_ONCE, most):
        return ", ".join(map(code, names))
    at_once, more = names[: min(_AT_ONCE, most)], names[min(_AT_ONCE, most) : most]
    rest = f"and {len(names) - len(at_once)} more"
    shown = ", ".join(map(code, at_once))
    if not more:
        return f"{shown} {rest}"
    left_out = f", and {len(names) - most} that are left out here" if len(names) > most else ""
    return f"{shown} <details><summary>{rest}</summary>{', '.join(map(code, more))}{left_out}</details>"
