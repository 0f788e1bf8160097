"""The places of fields in files: for messages about values, found by reading the file again on demand."""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from muster.data.printable import inert
from muster.data.yaml import jsontext
from muster.data.yaml.nodes import Composed, ComposedFile, Path, Spot, compose
from muster.dataclass import dataclass

_WIDTH = 100  # columns of the source line that are shown
_TAB = 4


def excerpt(data: bytes, line: int, column: int) -> str:
    """Return line `line` of the file and, on a second line, a caret below its character `column` (both 1-based).

    Long lines are cut around the caret, control characters are escaped and wide characters counted. Empty if
    the file has no such line, or if the line is UTF-16. Bytes that are not UTF-8 show as U+FFFD.
    """
    lines = _lines(data)
    if not 0 < line <= len(lines) or lines[line - 1].count(0) * 3 > len(lines[line - 1]):
        return ""
    return render(lines[line - 1].removesuffix(b"\r").decode("utf-8", "replace"), column)


@lru_cache(maxsize=4)
def _lines(data: bytes) -> list[bytes]:
    """The lines of a file, split once for all findings about it."""
    return data.removeprefix(b"\xef\xbb\xbf").split(b"\n")


@lru_cache(maxsize=4)
def text_lines(data: bytes) -> list[str]:
    """Return the lines of a file as texts, without their ends."""
    return data.decode("utf-8", "replace").splitlines()


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
    shown, head = "".join(before + after), "".join(before)
    line = inert(shown)
    indent = len(left) + sum(_width(cell) for cell in before) + _escaped(shown, line, len(head))
    return f"{left}{line}{right}\n{' ' * indent}^"


def _escaped(text: str, line: str, end: int) -> int:
    """How many characters `inert` added in the first `end` characters of a text: an escape for some of them."""
    if text == line:
        return 0
    at = 0
    for character in text[:end]:
        at += 1 if line[at] == character else len("\\x23")
    return at - end


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


@dataclass(frozen=True, slots=True)
class Mark:
    """The place of a field; all numbers are 1-based and count characters.

    `line` and `column` are the key's, or the value's for an item of a list and for a document. The value begins
    at `value_line`, `value_column` and ends before `end_line`, `end_column`. `style` is None for a mapping or
    list, empty for a plain scalar, else its quote or block indicator. `depth` is the number of the path's steps
    that exist: less than its length where the mark is an ancestor's.
    """

    line: int
    column: int
    value_line: int
    value_column: int
    end_line: int
    end_column: int
    style: str | None = None
    depth: int = 0


def locate(data: bytes, document_index: int, path: Path, *, label: str = "") -> Mark:
    """Return the place of the field at `path` in a document; never raises for content.

    A step that does not exist gives the deepest ancestor that does, a document that cannot be read the file's
    first character. `document_index` and `label` are as for `load_documents`.
    """
    return locate_all(data, document_index, (path,), label=label)[0]


def locate_all(data: bytes, document_index: int, paths: Iterable[Path], *, label: str = "") -> list[Mark]:
    """Return the marks of several paths, in their order, reading the file once."""
    composed = _composed(data, label).document(document_index)
    return [_locate(composed, path) for path in paths]


@lru_cache(maxsize=4)
def _composed(data: bytes, label: str) -> ComposedFile:
    """A file, read once for all findings about it: they come file by file, and a file may have thousands."""
    return compose(data, label)


def _locate(composed: Composed, path: Path) -> Mark:
    node = composed.root
    if node is None:
        return Mark(1, 1, 1, 1, 1, 1)
    key, depth = node, 0
    for step in path:
        index = node.child(step)
        if index is None or index >= len(node.items):  # a broken document may end behind a key
            break
        key = node.keys[index] if node.mapping else node.items[index]
        node, depth = node.items[index], depth + 1
    places = (_place(composed, spot) for spot in (key.start, node.start, node.end))
    (line, column), (value_line, value_column), (end_line, end_column) = places
    return Mark(line, column, value_line, value_column, end_line, end_column, node.style, depth)


def _place(composed: Composed, spot: Spot) -> tuple[int, int]:
    """Return a spot's 1-based line and column in the file."""
    column = jsontext.original_column(composed.shifts, spot.line + 1, spot.column + 1)
    return composed.line + spot.line + 1, column
