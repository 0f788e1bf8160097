"""The values of an expression's parts, printed under its text."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any

from muster.cel import ast
from muster.cel.closures import path
from muster.cel.deadlines import ComparisonDeadline, deadlines_of
from muster.cel.folds import Failure
from muster.cel.runtime.describe import shown
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TracePart:
    """One sub-expression: its place, a short label, and its value.

    `state` is `value`, `error` or `skipped`; `value` is the value, the error's message, or None. An error that comes
    from a part inside has no message: that part has it.
    """

    id: int
    offset: int
    label: str
    state: str
    value: Any

    @property
    def shown(self) -> str:
        """The value as short text; `not evaluated` if the part was skipped."""
        if self.state == "skipped":
            return "not evaluated"
        if self.state == "error":
            return f"error: {self.value}" if self.value else "error"
        return shown(self.value)


@dataclass(frozen=True, slots=True)
class Trace:
    """The parts of an evaluated expression that are not constants, in the order of the text, and its deadlines.

    `values` has the value of every node by id; inside a macro, the last one. `outcomes` has the booleans that a node
    gave in any round of a macro.
    """

    text: str
    parts: tuple[TracePart, ...]
    deadlines: tuple[ComparisonDeadline, ...] = ()
    values: Mapping[int, Any] = field(default_factory=dict, repr=False, compare=False)
    outcomes: frozenset[tuple[int, bool]] = field(default=frozenset(), repr=False, compare=False)

    def __str__(self) -> str:
        """Return the text with the value of each part under its place."""
        return "\n".join(_layout(self.text, self.parts))


def trace_of(text: str, node: ast.Node, values: Mapping[int, Any], outcomes: Iterable[tuple[int, bool]] = ()) -> Trace:
    """Return the trace of a tree from the recorded values, by node id.

    It leaves out constants, the beginning of a path that was evaluated to its end, and the inside of a part that was
    not evaluated.
    """
    parts: list[TracePart] = []
    pending: list[tuple[ast.Node, bool]] = [(node, True)]
    while pending:
        current, is_shown = pending.pop()
        reached = current.id in values
        if (
            is_shown
            and not isinstance(current, ast.Literal | ast.ListNode | ast.MapNode)
            and not (isinstance(current, ast.Ident) and current.name.startswith("@"))
        ):
            parts.append(_part(current, values))
        if reached:
            failed = isinstance(values[current.id], Failure)
            pending += [(child, failed or not _continues_path(current, child)) for child in ast.children(current)]
    in_order = tuple(sorted(parts, key=lambda part: (part.offset, part.id)))
    return Trace(text, in_order, deadlines_of(node, values), values, frozenset(outcomes))


def _continues_path(node: ast.Node, child: ast.Node) -> bool:
    """Return whether a child is the beginning of its parent's path."""
    return (
        isinstance(node, ast.Select | ast.Has | ast.IndexNode)
        and child is node.operand
        and isinstance(child, ast.Ident | ast.Select | ast.IndexNode)
    )


def _part(node: ast.Node, values: Mapping[int, Any]) -> TracePart:
    label = path(node)
    if node.id not in values:
        return TracePart(node.id, node.offset, label, "skipped", None)
    value = values[node.id]
    if isinstance(value, Failure):
        child_values = (values.get(child.id) for child in ast.children(node))
        comes_from_inside = any(isinstance(inner, Failure) and inner.error is value.error for inner in child_values)
        return TracePart(node.id, node.offset, label, "error", "" if comes_from_inside else value.error.message)
    return TracePart(node.id, node.offset, label, "value", value)


def _layout(text: str, parts: tuple[TracePart, ...]) -> list[str]:
    """Return the text, line by line, each followed by the values of its parts, the rightmost first."""
    lines: list[str] = []
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        on_line = [part for part in parts if start <= part.offset <= end]
        lines.append(line)
        lines += _values_under([(part.offset - start, part.shown) for part in on_line])
        start = end + 1
    return lines


def _values_under(marks: list[tuple[int, str]]) -> list[str]:
    if not marks:
        return []
    columns = sorted({column for column, _ in marks})
    bars = "".join("|" if column in columns else " " for column in range(columns[-1] + 1))
    lines = [bars]
    for index in range(len(columns) - 1, -1, -1):
        column = columns[index]
        left = "".join("|" if other in columns[:index] else " " for other in range(column))
        lines += [left + value for at, value in marks if at == column]
    return lines
