"""Reading many files that look alike: the strict loader reads one of each shape, and the rest are filled in.

What agents and muster write differs from cluster to cluster in values, hardly ever in structure. So a file's text is
split into values, where those take the rest of a line behind `: ` and are plainly one scalar, and what is between them:
its shape. The strict loader reads a shape once, with a stand-in for each value, and what it gives becomes a function
from values to documents. Files of a known shape then cost a fifteenth of reading them, and equal values are one object.

Why that gives what the strict loader would: a shape counts only where each stand-in came out as a leaf of its own, so
the scalar ends with its line, continues nothing and is continued by nothing, and where nothing is in flow style, in
which a comma within a value would mean something. There, one scalar may stand for another. All that is refused is
refused of the shape; what a value means is asked of `muster.data.yaml.builder`, as the loader asks. On any doubt the
file goes to the strict loader. Places are found by reading a file again, as ever.
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
#: What plain values may be, or the line is more than a key and a scalar.
_PLAIN: Final = re.compile(r"[^ :]+(?::[^ :]+)*(?: [^ :]+(?::[^ :]+)*)*")
_HEADER: Final = re.compile(r"(?:#[^\n]*\n)*")
_PRINTABLE: Final = bytes([0x0A, *range(0x20, 0x7F)])
_MOST_BYTES: Final = 1 << 14  # larger files are rarely alike, and shapes are kept
_MOST_SHAPES: Final = 1024
_MOST_VALUES: Final = 1 << 16
_SIGHTS: Final = 3  # of a shape, before it is learnt, which takes as long as reading a few files
#: What stands in for values while a shape is learnt; a shape that has such a text in it is not one.
_STAND_IN: Final = "Value-%d-of-a-shape"
_MARK: Final = "-of-a-shape"


class _Shape(NamedTuple):
    """How values become documents, and whether muster writes such a file, but for how it writes each value."""

    fill: Callable[[list[Tree]], tuple[Document, ...]]
    emitted: bool


class _Meanings(dict[str, Tree]):
    """What the text of a value means. KeyError for what is not known to be one scalar, or is null; NumberError for what
    the strict loader refuses. `unusual` are those that muster writes in another way."""

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
    """The shapes that were met so far. None is one that the strict loader has to read each time."""

    def __init__(self) -> None:
        self._shapes: dict[str, _Shape | None] = {}
        self._seen: Counter[str] = Counter()
        self._meanings = _Meanings()

    def load(self, data: bytes, label: str) -> Loaded:
        """Return what `load_documents` returns for the file, which is mostly what it gave for one that looks alike."""
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
        """Learn a shape that is met often enough."""
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
    """The shape of files with this text between their values; None where one value may not stand for another."""
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
    """Whether a text is what is written of its one document, after the comment lines with which it begins."""
    header = _HEADER.match(text)
    assert header is not None
    return len(loaded.documents) == 1 and file_text(loaded.documents[0].body) == text[header.end() :]


def _leaves(tree: Tree) -> Iterator[str]:
    """Yield every text of a tree; those of keys are marked as such, and so are no leaves that stand for a value."""
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
    """A tree as Python: its texts and numbers as they are, a value's place in the list of values for its stand-in."""
    if isinstance(tree, dict):
        return f"{{{', '.join(f'{key!r}: {_expression(value, stand_ins)}' for key, value in tree.items())}}}"
    if isinstance(tree, list):
        return f"[{', '.join(_expression(item, stand_ins) for item in tree)}]"
    return stand_ins.get(tree) or repr(tree) if isinstance(tree, str) else repr(tree)


SHAPES: Final = Shapes()
"""Those of this process."""
