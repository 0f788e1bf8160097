"""Comparisons that cannot hold: texts that an enum does not have, and the numbers that compare across types."""

from typing import Final

from muster.cel import ast
from muster.cel.ast import Node
from muster.cel.checker import messages
from muster.cel.checker.messages import IssueMessage
from muster.cel.types import NUMERIC, ListType, MapType, StringType, Type, bare

_MIRRORED: Final = frozenset(("_==_", "_!=_"))


def numbers_compare(operator: str, left: Type, right: Type) -> bool:
    """Return whether both sides are numbers: they compare by value, whatever their types."""
    if operator == "@in":
        right = bare(right)
        inner = right.element if isinstance(right, ListType) else right.key if isinstance(right, MapType) else None
        return bare(left) in NUMERIC and inner is not None and bare(inner) in NUMERIC
    return bare(left) in NUMERIC and bare(right) in NUMERIC


def impossible_value(operator: str, operands: tuple[Node, ...], types: tuple[Type, Type]) -> IssueMessage | None:
    """Return what is wrong with comparing an enum to literals that it does not have; None where nothing is."""
    pairs = [(operands[0], types[0], operands[1])]
    if operator in _MIRRORED:
        pairs.append((operands[1], types[1], operands[0]))
    for owner, type_, other in pairs:
        values = bare(type_)
        if not isinstance(values, StringType) or values.values is None:
            continue
        for text in _texts(operator, other):
            if text not in values.values:
                return messages.not_a_value(messages.described(owner), text, values.values, operator)
    return None


def _texts(operator: str, node: Node) -> list[str]:
    """Return the literal texts that a value is compared with."""
    if operator != "@in":
        candidates: tuple[Node, ...] = (node,)
    elif isinstance(node, ast.ListNode):
        candidates = node.elements
    elif isinstance(node, ast.MapNode):
        candidates = tuple(entry.key for entry in node.entries)
    else:
        return []
    return [item.value for item in candidates if isinstance(item, ast.Literal) and isinstance(item.value, str)]
