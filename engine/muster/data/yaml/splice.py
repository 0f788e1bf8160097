"""Where in the text an edit goes: offsets and replacements, computed from a document's nodes.

Nothing here is trusted: `muster.data.yaml.edit` proves each result. So this covers how people write YAML, and leaves
the rest (explicit `?` keys, comments inside of brackets that would be cut) to fail there.
"""

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from muster.data.tree import Tree
from muster.data.yaml.emitter import block_lines, flow, inline, quoted
from muster.data.yaml.nodes import Node, Path, Step, compose
from muster.data.yaml.source import BOM
from muster.regex import Regex

_BLOCK_HEADER = "0123456789+-"
_SINGLE_QUOTABLE = Regex("[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*")


class EditError(Exception):
    """An edit that cannot be made, or not safely; the message says why."""


class _Splice(NamedTuple):
    """Replace the characters from `start` to before `end`."""

    start: int
    end: int
    text: str


class _Slot(NamedTuple):
    """A place that holds a value: item `position` of `parent`, or the root where `parent` is None."""

    node: Node
    parent: Node | None = None
    position: int = 0


def named(path: Path) -> str:
    """Return how messages name a path: `spec.taints[0].key`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".") or "the document"


class Splicer:
    """A document's text and nodes, for one edit. With `one_line`, new values are written in flow style."""

    def __init__(self, text: str, index: int, *, one_line: bool = False) -> None:
        self.one_line = one_line
        composed = compose(text.encode("utf-8", "surrogatepass")).document(index)
        if composed.root is None:
            raise EditError(f"the file has no document {index}")
        self.root = composed.root
        head = len(BOM.decode()) if text.startswith(BOM.decode()) else 0
        for _ in range(composed.line):
            head = text.index("\n", head) + 1
        self.head, self.text = text[:head], text[head:]
        self.starts = [0, *accumulate(len(line) + 1 for line in self.text.split("\n")[:-1])]
        self.newline = "\r\n" if "\r\n" in text else "\n"

    # The edits

    def set(self, path: Path, value: Tree) -> str:
        """Return the text with `value` at `path`."""
        slot = _Slot(self.root)
        for depth, step in enumerate(path):
            index = slot.node.child(step)
            if index is None:
                for missing in reversed(path[depth + 1 :]):
                    value = {missing: value} if isinstance(missing, str) else [value]
                return self._add(slot, step, value)
            slot = _Slot(slot.node.items[index], slot.node, index)
        return self._apply(self._replace(slot, value))

    def remove(self, path: Path) -> str:
        """Return the text without the child at `path`, which has siblings."""
        node = self.root
        for step in path[:-1]:
            node = node.items[_existing(node, step)]
        index = _existing(node, path[-1])
        return self._apply(self._cut_flow(node, index) if node.flow else [self._cut_block(node, index)])

    def _apply(self, splices: list[_Splice]) -> str:
        """Return the text after all splices, made from the end backwards."""
        text = self.text
        for start, end, replacement in sorted(splices, reverse=True):
            text = text[:start] + replacement.replace("\n", self.newline) + text[end:]
        if not self.text.endswith("\n"):
            text = text.removesuffix(self.newline)
        return self.head + text

    # Adding a child

    def _add(self, slot: _Slot, step: Step, value: Tree) -> str:
        """Return the text with a new key, or a new item at the end."""
        node = slot.node
        tree = {step: value} if isinstance(step, str) else [value]
        if node.style is not None or not node.items:
            return self._apply(self._replace(slot, tree))
        if node.flow:
            return self._apply([self._add_flow(node, tree)])
        first, below = self._rendered(value, node)
        head = f"{inline(step)}:" if isinstance(step, str) else "-"
        line = " " * node.start.column + (f"{head} {first}" if first else head)
        return self._apply([self._insert_lines(self._last_line(node) + 1, [line, *below])])

    def _add_flow(self, node: Node, tree: Tree) -> _Splice:
        """Insert behind the last child, on a line of its own if that has one."""
        last = (node.keys or node.items)[-1].start
        before = self.text[self.starts[last.line] : last.offset]
        separator = f",\n{before}" if last.line > node.start.line and not before.strip() else ", "
        end = node.items[-1].end.offset
        return _Splice(end, end, separator + flow(tree, as_json=self._is_json(node))[1:-1])

    def _is_json(self, node: Node) -> bool:
        """Whether a flow collection quotes its keys, as JSON does."""
        keys = node.keys or [key for item in node.items for key in item.keys] or self.root.keys
        return all(key.style == '"' for key in keys) and self.root.flow

    # Replacing a value

    def _replace(self, slot: _Slot, value: Tree) -> list[_Splice]:
        """Return the splices that put `value` in the place of another."""
        node, parent = slot.node, slot.parent
        if parent is None:
            end = node.end.offset if node.flow else self._line_end(self._last_line(node))
            return [_Splice(node.start.offset, end, flow(value, as_json=node.flow))]
        if parent.flow:
            text = self._scalar_like(node, value) or flow(value, as_json=self._is_json(parent))
            return [_Splice(node.start.offset, node.end.offset, self._flow_gap(slot) + text)]
        head = self._head(slot)
        first, below = self._rendered(value, parent)
        if not self._is_block(node):
            first = self._scalar_like(node, value) or first
            if not below and not node.is_empty:
                return [_Splice(node.start.offset, node.end.offset, first)]
        splices, line = self._clear(node, head)
        if first:
            splices.append(_Splice(head, head, f" {first}"))
        if below:
            splices.append(self._insert_lines(line, below))
        return splices

    def _is_block(self, node: Node) -> bool:
        """Whether a node takes whole lines: a block scalar or a collection without brackets."""
        return node.style in ("|", ">") or (node.style is None and not node.flow)

    def _rendered(self, value: Tree, parent: Node) -> tuple[str, list[str]]:
        """Return what follows the ':' or '-' on its line, and the lines below."""
        column = parent.start.column
        if self.one_line:
            return flow(value), []
        if not parent.mapping:
            lines = block_lines([value], column)
            return lines[0][column + 2 :], lines[1:]
        if value and isinstance(value, dict | list):
            return "", block_lines(value, column + self._indentation(mapping=isinstance(value, dict)))
        lines = block_lines({"k": value}, column)
        return lines[0][column + 3 :], lines[1:]

    def _scalar_like(self, node: Node, value: Tree) -> str:
        """Return a string in the quotes that the old scalar has; empty if that is not possible."""
        if not isinstance(value, str) or "\n" in value:
            return ""
        if node.style == '"':
            return quoted(value)
        if node.style == "'" and _SINGLE_QUOTABLE.fullmatch(value):
            return "'" + value.replace("'", "''") + "'"
        return ""

    def _flow_gap(self, slot: _Slot) -> str:
        """Return the text needed between a key in braces without a value, and its new value."""
        if not slot.node.is_empty or slot.parent is None or not slot.parent.mapping:
            return ""
        between = self.text[slot.parent.keys[slot.position].end.offset : slot.node.start.offset]
        return ": " if ":" not in between else "" if between.endswith(" ") else " "

    def _clear(self, node: Node, head: int) -> tuple[list[_Splice], int]:
        """Return the splices that take an old value in block context away, but no comment beside or above it, and
        the line before which the lines of a new value go. `head` is the offset behind the ':' or '-'."""
        line, after = node.start.line, self._last_line(node) + 1
        if node.style in ("|", ">"):
            header = _Splice(head, node.start.offset + len(self._header(node)), "")
            return [header, _Splice(self._line_start(line + 1), self._line_start(after), "")], line + 1
        rest = self.text[node.end.offset : self._line_end(node.end.line)]
        if not self.text[self.starts[node.start.line] : node.start.offset].strip(" "):
            if rest.strip() and not self._is_block(node):
                return [_Splice(node.start.offset, node.end.offset, "")], after
            return [_Splice(self._line_start(line), self._line_start(after), "")], line
        end = self._line_end(after - 1) if self._is_block(node) else node.end.offset
        return [_Splice(head, end, "")], after

    def _header(self, node: Node) -> str:
        """Return the indicators with which a block scalar begins."""
        start = end = node.start.offset
        if self.text[start : start + 1] not in ("|", ">"):
            raise EditError("a block scalar with an anchor or a tag cannot be edited")
        while self.text[end + 1 : end + 2] and self.text[end + 1] in _BLOCK_HEADER:
            end += 1
        return self.text[start : end + 1]

    def _head(self, slot: _Slot) -> int:
        """Return the offset behind the ':' or '-' that a value in block context belongs to."""
        parent = slot.parent
        assert parent is not None
        if parent.mapping:
            return self.text.index(":", parent.keys[slot.position].end.offset) + 1
        return self._dash(parent, slot.position) + 1

    # Removing a child

    def _cut_flow(self, node: Node, index: int) -> list[_Splice]:
        """Return the splices that remove a child in brackets, with one comma and no comment."""
        starts = [child.start.offset for child in node.keys or node.items]
        start, end = starts[index], node.items[index].end.offset
        is_last = index + 1 == len(starts)
        gap = (node.items[index - 1].end.offset, start) if is_last else (end, starts[index + 1])
        between = self.text[slice(*gap)]
        if "#" not in between:
            return [_Splice(min(start, gap[0]), max(end, gap[1]), "")]
        comma = gap[0] + between.index(",")
        return [_Splice(start, end, ""), _Splice(comma, comma + 1, "")]

    def _cut_block(self, node: Node, index: int) -> _Splice:
        """Return the splice that removes a child's lines; for one beside a dash, what the dash keeps."""
        starts = [self._child_start(node, child) for child in range(len(node.items))]
        last = max(self._last_line(node.items[index]), self._line_of(starts[index]))
        line = self._line_of(starts[index])
        if not self.text[self.starts[line] : starts[index]].strip(" "):
            return _Splice(self.starts[line], self._line_start(last + 1), "")
        between = self.text[self._line_end(last) : starts[index + 1]]
        if "#" not in between:
            return _Splice(starts[index], starts[index + 1], "")
        head = len(self.text[: starts[index]].rstrip(" "))
        return _Splice(head, self._line_end(last), "")

    def _child_start(self, node: Node, index: int) -> int:
        """Return the offset of a key, or of an item's dash."""
        return node.keys[index].start.offset if node.mapping else self._dash(node, index)

    def _dash(self, node: Node, index: int) -> int:
        """Return the offset of an item's dash: in the list's column, on the item's line or above."""
        if index == 0:
            return node.start.offset
        line = node.items[index].start.line
        while True:
            at = self._line_start(line) + node.start.column
            if self.text[at : at + 1] == "-" and not self.text[self.starts[line] : at].strip(" "):
                return at
            line -= 1

    # Lines

    def _insert_lines(self, line: int, lines: list[str]) -> _Splice:
        """Return the splice that puts `lines` before line `line`, or at the text's end."""
        at = self._line_start(line)
        text = "\n".join(lines) + "\n"
        return _Splice(at, at, text if at == 0 or self.text[at - 1] == "\n" else f"\n{text}")

    def _last_line(self, node: Node) -> int:
        """Return the last line of a node's content."""
        while node.style is None and not node.flow and node.items:
            node = node.items[-1]
        if node.style not in ("|", ">"):
            return node.end.line
        if "+" in self._header(node):
            return max(self._line_of(max(node.end.offset - 1, 0)), node.start.line)
        return max(self._line_of(len(self.text[: node.end.offset].rstrip())), node.start.line)

    def _line_of(self, offset: int) -> int:
        return self.text.count("\n", 0, offset)

    def _line_start(self, line: int) -> int:
        """Return the offset of a line's first character; the text's length behind the last line."""
        return self.starts[line] if line < len(self.starts) else len(self.text)

    def _line_end(self, line: int) -> int:
        """Return the offset behind a line's last character, before its line end."""
        return len(self.text[: self._line_start(line + 1)].removesuffix("\n").removesuffix("\r"))

    def _indentation(self, *, mapping: bool) -> int:
        """Return how far the document indents a mapping, or a list, below its key: as the first one does."""
        for parent, child in _block_children(self.root):
            if parent.mapping and child.mapping == mapping:
                return child.start.column - parent.start.column
        return 2 if mapping else 0


def _block_children(node: Node) -> Iterator[tuple[Node, Node]]:
    """Yield every collection in block style that lies below `node`, with its parent."""
    for item in node.items:
        if item.style is None and not item.flow:
            yield node, item
            yield from _block_children(item)


def _existing(node: Node, step: Step) -> int:
    index = node.child(step)
    if index is None:
        raise EditError(f"there is no {named((step,))}")
    return index
