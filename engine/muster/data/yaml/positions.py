"""Where in a file a field stands: for messages about values, found by reading the file again on demand."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from muster.data.yaml import jsontext
from muster.data.yaml.nodes import Composed, Path, Spot, compose


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
    """Return where the field at `path` stands in a document; never raises for content.

    A step that does not exist gives the deepest ancestor that does, a document that cannot be read the file's
    first character. `document_index` and `label` are as for `load_documents`.
    """
    return locate_all(data, document_index, (path,), label=label)[0]


def locate_all(data: bytes, document_index: int, paths: Iterable[Path], *, label: str = "") -> list[Mark]:
    """Return the marks of several paths, in their order, reading the file once."""
    composed = _composed(data, document_index, label)
    return [_locate(composed, path) for path in paths]


@lru_cache(maxsize=4)
def _composed(data: bytes, document_index: int, label: str) -> Composed:
    """The document, read once for all that is told of it: findings come file by file, and a file may have hundreds."""
    return compose(data, document_index, label)


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
