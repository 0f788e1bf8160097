"""The least size of what an expression builds, before there is any data (see `muster.cel.runtime.size`)."""

from collections.abc import Mapping
from typing import Final

from muster.cel import ast
from muster.cel.errors import Issue, issue_at
from muster.cel.runtime.size import MOST_PARTS

#: Larger sizes are cut to this one, so that adding them up stays fast.
_CEILING: Final = 2**63
#: Macros that give a part of their range, or no collection.
_NOT_BUILDING = frozenset({"all", "exists", "exists_one", "existsOne", "filter"})
#: Calls that give more than one of their operands.
_GROWING = frozenset({"_+_", "format", "join", "replace"})


def builds(node: ast.Node) -> bool:
    """May the expression make a list or a map that holds something several times?"""
    return any(
        isinstance(part, ast.ListNode | ast.MapNode | ast.Struct)
        or (isinstance(part, ast.Macro) and part.name not in _NOT_BUILDING)
        or (isinstance(part, ast.Call) and part.function in _GROWING)
        for part in ast.walk(node)
    )


def unfolding_issue(node: ast.Node, text: str) -> Issue | None:
    """Return an issue if the value of an expression is certain to be too large when it is written out, at the smallest
    part that is; else None."""
    sizes: dict[int, tuple[int, int]] = {}
    if _least(node, {}, sizes) <= MOST_PARTS:
        return None
    size, offset = min(size_and_offset for size_and_offset in sizes.values() if size_and_offset[0] > MOST_PARTS)
    message = f"the value has {size:,} values and characters when it is written out, {MOST_PARTS:,} are allowed"
    return issue_at(text, offset, message, "name each part once: what a list holds twice is written twice")


def _least(node: ast.Node, bound: Mapping[str, int], sizes: dict[int, tuple[int, int]]) -> int:
    """The least size of a part's value. `bound` has the sizes of the values that names are bound to; `sizes` gets size
    and offset of each part, by its id."""

    def least(part: ast.Node) -> int:
        return _least(part, bound, sizes)

    match node:
        case ast.Literal(value=str() | bytes() as value):
            size = 1 + len(value)
        case ast.Ident():
            size = bound.get(node.name, 1)
        case ast.ListNode():
            size = 1 + sum(least(part) for at, part in enumerate(node.elements) if at not in node.optional)
        case ast.MapNode():
            size = 1 + sum(least(entry.key) + least(entry.value) for entry in node.entries if not entry.optional)
        case ast.Bind():
            size = _least(node.body, {**bound, node.name: least(node.value)}, sizes)
        case ast.Macro():
            size = _of_macro(node, bound, sizes)
        case ast.Call(function="_?_:_", args=(_, left, right)):
            size = min(least(left), least(right))
        case ast.Call(function="_+_", args=(left, right)):
            size = least(left) + least(right) - 1
        case _:
            size = 1
    size = min(size, _CEILING)
    sizes[node.id] = size, node.offset
    return size


def _of_macro(node: ast.Macro, bound: Mapping[str, int], sizes: dict[int, tuple[int, int]]) -> int:
    """A `map` over a list that is written out holds its body as often as that has items."""
    if node.name not in ("map", "transformList") or len(node.args) != 1 or not isinstance(node.range, ast.ListNode):
        return 1
    hidden = {name: size for name, size in bound.items() if name not in node.variables}
    rounds = len(node.range.elements) - len(node.range.optional)
    return 1 + rounds * _least(node.args[0], hidden, sizes)
