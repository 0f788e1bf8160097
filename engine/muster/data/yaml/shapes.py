"""Reading many similar files: the strict loader reads one of each shape, and the values of the others are filled in.

The files of agents and of muster differ from cluster to cluster in values, rarely in structure. So a file's text is
split into values, which take the rest of a line after `: ` and are certainly one scalar, and the text between them, its
shape. The strict loader reads a shape once, with a stand-in for each value, and the result becomes a function from
values to documents. Files of a known shape then cost a fifteenth of reading them, and equal values are one object.

The result is that of the strict loader: a shape is used only if each stand-in is a leaf of its own, so that the scalar
ends with its line and continues nothing, and if nothing is in flow style, where a comma in a value has a meaning.
There, one scalar can replace another. The loader's checks apply to the shape, and `muster.data.yaml.builder` gives the
meaning of each value. In any doubt the strict loader reads the file. Places are found by reading a file again.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from muster.data.tree import Tree
from muster.data.yaml import source
from muster.data.yaml.builder import NUMERIC, WORDS, NumberError, number
from muster.data.yaml.emitter import emit, file_text, inline
from muster.data.yaml.loader import load_documents
from muster.data.yaml.problem import Document, Loaded

#: A value that takes the rest of its line: plain, as far as one set of characters can say, or in quotes and without
#: escapes. Nested repetitions would take three times as long.
_VALUES: Final = re.compile(r""": ([A-Za-z0-9_/][A-Za-z0-9_./,;()%+=@': -]*|"[^"\\\n]*"|'[^'\n]*')$""", re.MULTILINE)
#: The form of plain values; with any other, the line is more than a key and a scalar.
_PLAIN: Final = re.compile(r"[^ :]+(?::[^ :]+)*(?: [^ :]+(?::[^ :]+)*)*")
_HEADER: Final = re.compile(r"(?:#[^\n]*\n)*")
_PRINTABLE: Final = bytes([0x0A, *range(0x20, 0x7F)])
_MOST_BYTES: Final = 1 << 14  # larger files are rarely similar, and shapes are cached
_MOST_SHAPES: Final = 1024
_MOST_VALUES: Final = 1 << 16
_SIGHTS: Final = 3  # how often a shape must occur: learning it takes as long as reading a few files
#: The stand-ins for values while a shape is learnt; a text that contains one is no shape.
_STAND_IN: Final = "Value-%d-of-a-shape"
_MARK: Final = "-of-a-shape"


class _Shape(NamedTuple):
    """How values become documents, and whether the file has the form that muster writes, apart from its values."""

    fill: Callable[[list[Tree]], tuple[Document, ...]]
    emitted: bool


class _Meanings(dict[str, Tree]):
    """The meanings of values' texts. KeyError for a text that may not be one scalar, or is null; NumberError for one
    that the strict loader rejects. `unusual` are the texts that muster writes in another way."""

    def __init__(self) -> None:
        super().__init__()
        self.unusual: set[str] = set()

    def __missing__(self, text: str) -> Tree:
        if text[0] in "\"'":
            meaning: Tree = text[1:-1]
        elif not _PLAIN.fullmatch(text):
            raise KeyError(text)
        elif text[0] in NUMERIC:
            meaning = number(text)
        else:
            meaning = WORDS.get(text, text)
        if meaning is None:
            raise KeyError(text)  # a document knows whether it has nulls in it: that is part of its shape
        if len(self) >= _MOST_VALUES:
            self.clear()
            self.unusual.clear()
        self[text] = meaning
        if (inline(meaning) if meaning.__class__ is str else emit(meaning)[:-1]) != text:
            self.unusual.add(text)
        return meaning


class Shapes:
    """The shapes so far. The strict loader reads files whose shape is None."""

    def __init__(self) -> None:
        self._shapes: dict[str, _Shape | None] = {}
        self._seen: Counter[str] = Counter()
        self._meanings = _Meanings()

    def load(self, data: bytes, label: str) -> Loaded:
        """Return what `load_documents` returns for the file, from its shape if possible."""
        if len(data) > _MOST_BYTES or source.is_json(label) or data.translate(None, _PRINTABLE):
            return load_documents(data, label)
        pieces = _VALUES.split(data.decode("ascii"))
        values, between = pieces[1::2], "\0".join(pieces[::2])
        shape = self._shapes.get(between) or self._met(between)
        if shape is None:
            return load_documents(data, label)
        try:
            documents = shape.fill(list(map(self._meanings.__getitem__, values)))
        except (KeyError, NumberError):
            return load_documents(data, label)
        return Loaded(documents, emitted=shape.emitted and self._meanings.unusual.isdisjoint(values))

    def _met(self, between: str) -> _Shape | None:
        """Learn a shape that occurs often enough."""
        if between in self._shapes:
            return None
        if len(self._seen) >= _MOST_SHAPES:
            self._seen.clear()
            self._shapes.clear()
        self._seen[between] += 1
        if self._seen[between] < _SIGHTS:
            return None
        self._shapes[between] = shape = _learnt(between)
        return shape


def _learnt(between: str) -> _Shape | None:
    """The shape of files with this text between their values; None if values cannot be replaced."""
    pieces = between.split("\0")
    text = pieces[0] + "".join(f": {_STAND_IN % number}{piece}" for number, piece in enumerate(pieces[1:]))
    bare = text.replace("[]", "").replace("{}", "")
    if "[" in bare or "{" in bare:
        return None
    loaded = load_documents(text.encode(), "")
    stand_ins = {_STAND_IN % number: f"values[{number}]" for number in range(len(pieces) - 1)}
    leaves = [leaf for document in loaded.documents for leaf in _leaves(document.body) if _MARK in leaf]
    if loaded.problems or sorted(leaves) != sorted(stand_ins):
        return None
    documents = (
        f"Document({one.index}, {one.line}, {_expression(one.body, stand_ins)}, {one.nulls})"
        for one in loaded.documents
    )
    code = f"lambda values: ({''.join(f'{document}, ' for document in documents)})"
    return _Shape(eval(code, {"Document": Document}), _is_emitted(text, loaded))  # noqa: S307 - of reprs alone


def _is_emitted(text: str, loaded: Loaded) -> bool:
    """Has the text, after its first comment lines, the form that muster writes for its one document?"""
    header = _HEADER.match(text)
    assert header is not None
    return len(loaded.documents) == 1 and file_text(loaded.documents[0].body) == text[header.end() :]


def _leaves(tree: Tree) -> Iterator[str]:
    """Yield every text of a tree. Keys get a colon, so that they never equal a stand-in."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield f"{key}:"
            yield from _leaves(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from _leaves(item)
    elif isinstance(tree, str):
        yield tree


def _expression(tree: Tree, stand_ins: dict[str, str]) -> str:
    """Return a tree as a Python expression, in which stand-ins are items of the list of values."""
    if isinstance(tree, dict):
        return f"{{{', '.join(f'{key!r}: {_expression(value, stand_ins)}' for key, value in tree.items())}}}"
    if isinstance(tree, list):
        return f"[{', '.join(_expression(item, stand_ins) for item in tree)}]"
    return stand_ins.get(tree) or repr(tree) if isinstance(tree, str) else repr(tree)


SHAPES: Final = Shapes()
"""Those of this process."""
