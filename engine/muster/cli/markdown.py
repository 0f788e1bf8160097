"""Markdown that says what it is given and does nothing else, as GitHub and GitLab render it.

Names, reasons and messages come from anybody. They stand in `<code>`, where neither forge looks for people to mention,
issues, commits and links, and every character that Markdown or HTML could read as more than itself is written as its
number. What does not print (line breaks, characters that turn the direction of a line) is shown as its escape.
"""

from collections.abc import Iterable, Sequence

from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.printable import printable

#: Longer texts are cut: a cell that fills a screen is not read.
_LONGEST = 500


def code(text: str) -> str:
    """Return a text of anybody's, as code; an empty one as nothing."""
    shown = printable(text)
    if len(shown) > _LONGEST:
        shown = f"{shown[: _LONGEST - 1]}…"
    return f"<code>{_inert(shown)}</code>" if shown else ""


def words(text: str) -> str:
    """Return a text as plain words, for a heading: what is no letter, digit, comma or dash is left out."""
    shown = "".join(char for char in printable(text) if char.isalnum() or char in " ,-…")
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are Markdown of our own, each on one line."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def folded(summary: str, text: str, *, opened: bool = False) -> str:
    """Return Markdown below a line on which a reader clicks to see it."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>\n\n{text}\n\n</details>"


def findings_markdown(findings: Sequence[Finding], most: int | None = None) -> str:
    """Return findings as a table, the worst first, and how many are left out of it where there are too many. Of what
    waivers silence it is said how much there is."""
    shown = [one for one in findings if not one.silenced]
    ordered = sorted(shown, key=lambda one: (one.severity.rank, one.sort_key()))
    rows = ([_severity(one), code(str(one.place) if one.file else ""), _said(one), code(_to_do(one))]
            for one in ordered[:most])  # fmt: skip
    left_out = 0 if most is None else len(shown) - most
    silenced = f"\n\n{len(findings) - len(shown)} waived" if len(findings) > len(shown) else ""
    text = table(["finding", "where", "what is wrong", "what to do"], rows)
    return text + more_markdown(left_out, "finding") + silenced


def more_markdown(number: int, noun: str) -> str:
    """Say how many are left out; nothing where none is."""
    return f"\n\n… and {number} more {noun}{'' if number == 1 else 's'}, left out here" if number > 0 else ""


def _said(one: Finding) -> str:
    return "<br>".join(map(code, (one.message, *one.example.splitlines())))


def _to_do(one: Finding) -> str:
    return str(one.waiver) if one.waiver is not None else one.hint


def _severity(one: Finding) -> str:
    name = f"**{one.severity.value}**" if one.severity is Severity.ERROR else one.severity.value
    return f"{name} {one.code}"


def _inert(text: str) -> str:
    return "".join(char if _is_inert(char) else f"&#{ord(char)};" for char in text)


def _is_inert(char: str) -> bool:
    """Letters, digits and what is no ASCII; and spaces and dashes, which mean something only where a line begins."""
    return char.isalnum() or not char.isascii() or char in " -"
