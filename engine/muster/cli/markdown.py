"""Markdown with arbitrary texts in it, safe for GitHub and GitLab.

Names, reasons and messages may have any content. They are put into `<code>`, where neither forge links people, issues,
commits or URLs, and every character with a meaning in Markdown or HTML is written as its number. Characters that do not
print (line breaks, changes of the text direction) are shown as escapes.
"""

from collections.abc import Iterable, Sequence

from muster.data.codes import Severity
from muster.data.finding import Finding
from muster.data.printable import printable

#: Longer texts are cut: nobody reads a cell that fills a screen.
_LONGEST = 500


def code(text: str) -> str:
    """Return an arbitrary text as code; an empty text as nothing."""
    shown = printable(text)
    if len(shown) > _LONGEST:
        shown = f"{shown[: _LONGEST - 1]}…"
    return f"<code>{_escaped(shown)}</code>" if shown else ""


def words(text: str) -> str:
    """Return an arbitrary text as plain words for a heading, reduced to letters, digits and what names and sentences
    need. Dots are entities, so that nothing becomes a link."""
    shown = "".join(char for char in printable(text) if char.isalnum() or char in " ,;/.-…")
    return (shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…").replace(".", "&#46;")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are Markdown in one line each."""
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def folded(summary: str, text: str, *, opened: bool = False) -> str:
    """Return a block that a reader opens by a click on its summary."""
    return f"<details{' open' if opened else ''}><summary>{summary}</summary>\n\n{text}\n\n</details>"


def findings_markdown(findings: Sequence[Finding], most: int | None = None) -> str:
    """Return findings as a table, the worst first, at `most` this many, with the number of those left out and
    waived."""
    shown = [finding for finding in findings if not finding.silenced]
    ordered = sorted(shown, key=lambda finding: (finding.severity.rank, finding.sort_key()))
    rows = (
        [
            _severity(finding),
            code(str(finding.place) if finding.file else ""),
            _message(finding),
            code(str(finding.waiver) if finding.waiver is not None else finding.hint),
        ]
        for finding in ordered[:most]
    )
    left_out = 0 if most is None else len(shown) - most
    silenced = f"\n\n{len(findings) - len(shown)} waived" if len(findings) > len(shown) else ""
    text = table(["finding", "where", "what is wrong", "what to do"], rows)
    return text + more_markdown(left_out, "finding") + silenced


def more_markdown(number: int, noun: str) -> str:
    """Return a line about the number of items left out; empty for none."""
    return f"\n\n… and {number} more {noun}{'' if number == 1 else 's'}, left out here" if number > 0 else ""


def _message(finding: Finding) -> str:
    return "<br>".join(map(code, (finding.message, *finding.example.splitlines())))


def _severity(finding: Finding) -> str:
    name = f"**{finding.severity.value}**" if finding.severity is Severity.ERROR else finding.severity.value
    return f"{name} {finding.code}"


def _escaped(text: str) -> str:
    return "".join(
        char if (char.isalnum() or not char.isascii() or char in " -") else f"&#{ord(char)};" for char in text
    )
