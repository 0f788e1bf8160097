"""A document as nodes with their places in the text: what positions and edits are computed from.

Built from events on demand, with the loader's limits, by a walk of its own: the loader's trees carry no marks, since
hardly any of them will ever be asked for, and one walk for both would make three of the loader's own work. Broken
documents give the part before the error.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import yaml
from yaml._yaml import CParser
from yaml.events import (
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from muster.data.yaml import jsontext, limits, source
from muster.dataclass import dataclass

Step = str | int
Path = Sequence[Step]


class Spot(NamedTuple):
    """A place in a text: 0-based line and column, and the offset of the character."""

    line: int
    column: int
    offset: int


@dataclass(slots=True)
class Node:
    """A scalar, mapping or list of a document.

    `start` and `end` are libyaml's, except that the end of a block collection is the end of its last node.
    `style` is None for a collection, empty for a plain scalar, else its quote or block indicator. A mapping has
    `keys`, each with the item of the same index.
    """

    start: Spot
    end: Spot
    style: str | None = None
    flow: bool = False
    text: str = ""
    mapping: bool = False
    keys: list["Node"] = field(default_factory=list)
    items: list["Node"] = field(default_factory=list)
    _indices: dict[str, int] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is written there: the null after `key:`."""
        return self.style == "" and self.start.offset == self.end.offset

    def child(self, step: Step) -> int | None:
        """Return the index of a step's item, the first if a key is repeated; None if there is none."""
        if isinstance(step, str):
            if self._indices is None:
                self._indices = {key.text: index for index, key in reversed(list(enumerate(self.keys)))}
            return self._indices.get(step)
        is_item = self.style is None and not self.mapping and 0 <= step < len(self.items)
        return step if is_item else None


class TooDeepError(Exception):
    """A document exceeds the limits; what lies before has been composed."""


class Composer:
    """Composes the documents of a stream, one by one."""

    def __init__(self, data: bytes) -> None:
        self._get: Callable[[], Any] = CParser(data).get_event
        self._count = 0
        self._top: list[Node] = []
        self._get()

    @property
    def root(self) -> Node | None:
        """The current document as far as it has been composed; None for an empty one."""
        return self._top[0] if self._top and not self._top[0].is_empty else None

    def next_document(self) -> bool:
        """Compose the next document; False at the end. Raises yaml.YAMLError or TooDeepError."""
        self._top = []
        if self._get().__class__ is StreamEndEvent:
            return False
        self._node(self._get(), 0, self._top)
        self._get()
        return True

    def _node(self, event: Any, depth: int, into: list[Node]) -> None:
        """Append the event's node, with all below it, to `into`."""
        self._count += 1
        if depth > limits.DEPTH or self._count > 2 * limits.NODES:
            raise TooDeepError
        node = Node(_spot(event.start_mark), _spot(event.end_mark))
        into.append(node)
        kind = event.__class__
        if kind is ScalarEvent:
            node.text, node.style = event.value, event.style or ""
        elif kind is MappingStartEvent or kind is SequenceStartEvent:
            node.flow, node.mapping = bool(event.flow_style), kind is MappingStartEvent
            self._fill(node, depth + 1)
        else:
            node.text = f"*{event.anchor}"

    def _fill(self, node: Node, depth: int) -> None:
        """Compose a collection's children."""
        while (event := self._get()).__class__ is not MappingEndEvent and event.__class__ is not SequenceEndEvent:
            if node.mapping:
                self._node(event, depth, node.keys)
                event = self._get()
            self._node(event, depth, node.items)
        if node.flow:
            node.end = _spot(event.end_mark)
        elif node.items:
            node.end = max(node.end, node.items[-1].end)


def _spot(mark: Any) -> Spot:
    return Spot(mark.line, mark.column, mark.index)


class Composed(NamedTuple):
    """A document's root with the number of lines before its text, and the shifts of JSON's columns."""

    root: Node | None
    line: int = 0
    shifts: jsontext.Shifts = jsontext.NO_SHIFTS


class ComposedFile(NamedTuple):
    """The documents of a file. `whole`: those before the first broken one; `apart`: if there is one, all of them, each
    read on its own as the loader does."""

    whole: Sequence[Composed] = ()
    apart: Sequence[Composed] = ()

    def document(self, index: int) -> Composed:
        """Return document `index`, counted as the loader counts, as far as it can be read; root None otherwise."""
        documents = self.whole if index < len(self.whole) else self.apart
        return documents[index] if index < len(documents) else Composed(None)


def compose(data: bytes, label: str = "") -> ComposedFile:
    """Compose the documents of a file."""
    data = source.without_bom(data)
    if len(data) > limits.SIZE:
        return ComposedFile()
    if source.is_json(label):
        joined, shifts = jsontext.join_surrogates(data) if source.check(data) is None else (data, jsontext.NO_SHIFTS)
        root, _ = next(_roots(source.Chunk(joined)), (None, False))
        return ComposedFile((Composed(root, 0, shifts),))
    roots = list(_roots(source.Chunk(data)))
    whole = [Composed(root) for root, broken in roots if not broken]
    chunks = source.split(data) if len(whole) < len(roots) else ()
    return ComposedFile(whole, [Composed(root, chunk.line) for chunk in chunks for root, _ in _roots(chunk)])


def _roots(chunk: source.Chunk) -> Iterator[tuple[Node | None, bool]]:
    """Yield each document of a chunk, and whether it is broken; nothing follows a broken one."""
    if source.check(chunk.data) is not None:
        yield None, True
        return
    composer = Composer(chunk.data)
    try:
        while composer.next_document():
            yield composer.root, False
    except (yaml.YAMLError, TooDeepError):
        yield composer.root, True
