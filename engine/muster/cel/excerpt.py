"""The line of an expression that an issue is about, with a caret below the place."""

from typing import Final

from muster.cel.errors import Issue

#: Longer lines are cut around the place.
WIDTH: Final = 100


def excerpt(text: str, issue: Issue) -> str:
    """Return two lines: the issue's line of the expression, and a caret under its column.

    A tab stays a tab in the second line, so that the caret stands right whatever its width.
    """
    lines = text.split("\n")
    line = lines[min(issue.line, len(lines)) - 1]
    column = min(issue.column - 1, len(line))
    start = 0 if len(line) <= WIDTH else min(max(column - WIDTH // 2, 0), len(line) - WIDTH)
    end = start + WIDTH
    before, after = "…" if start else "", "…" if end < len(line) else ""
    indent = "".join("\t" if character == "\t" else " " for character in before + line[start:column])
    return f"{before}{line[start:end]}{after}\n{indent}^"
