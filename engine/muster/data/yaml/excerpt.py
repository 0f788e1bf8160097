"""The source line of a problem with a caret below it, as it looks in a terminal."""

import unicodedata

_WIDTH = 100  # columns of the source line that are shown
_TAB = 4


def excerpt(data: bytes, line: int, column: int) -> str:
    """Return line `line` of the file and, on a second line, a caret below its character `column` (both 1-based).

    Long lines are cut around the caret, control characters are escaped and wide characters counted. Empty where
    the file has no such line. Bytes that are not UTF-8 show as U+FFFD.
    """
    lines = data.removeprefix(b"\xef\xbb\xbf").split(b"\n", line)
    if not 0 < line <= len(lines):
        return ""
    return render(lines[line - 1].removesuffix(b"\r").decode("utf-8", "replace"), column)


def render(text: str, column: int) -> str:
    """Return one source line and its caret line. A column past the end points behind the last character."""
    at = min(max(column - 1, 0), len(text))
    start = 0
    if len(text) > _WIDTH:
        start = max(0, min(at - _WIDTH // 2, len(text) - _WIDTH))
    before = [_cell(character) for character in text[start:at]]
    after = [_cell(character) for character in text[at : start + _WIDTH]]
    left = "…" if start else ""
    right = "…" if start + _WIDTH < len(text) else ""
    indent = len(left) + sum(_width(cell) for cell in before)
    return f"{left}{''.join(before + after)}{right}\n{' ' * indent}^"


def _cell(character: str) -> str:
    """Return how one character is shown."""
    if character == "\t":
        return " " * _TAB
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        code = ord(character)
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return character


def _width(cell: str) -> int:
    """Return the terminal columns that a shown character takes."""
    if len(cell) != 1 or cell.isascii():
        return len(cell)
    if unicodedata.combining(cell):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in "WF" else 1
