"""Literals: their types, and those that can only be mistakes.

Mistakes are an argument that makes its call fail, such as `duration('5 minutes')`, a key that a map has twice, and a
text that is compared with an enum that does not have it. Arguments are tried with the function itself. A parameter of a
policy, whose text is known, counts as a literal argument.
"""

from collections.abc import Sequence
from typing import Final

from muster.cel import ast
from muster.cel.checker import messages
from muster.cel.checker.messages import IssueMessage
from muster.cel.errors import EvaluationError
from muster.cel.library.registry import lookup
from muster.cel.runtime import windows
from muster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    INT,
    NAMED,
    NULL,
    STRING,
    UINT,
    OpaqueType,
    StringType,
    Type,
    TypeType,
    bare,
)
from muster.cel.values import TypeValue, UInt

#: Functions that parse a text.
_READERS: Final = frozenset(
    {"duration", "timestamp", "quantity", "semver", "ip", "cidr", "url", "int", "uint", "double", "bool"}
)
#: Functions whose second argument is a regular expression.
_PATTERNS: Final = frozenset({"matches", "find", "findAll", "regex.extract", "regex.extractAll", "regex.replace"})
_UNITS: Final = 1_000_000
#: Comparisons that mean the same with their operands exchanged.
_MIRRORED: Final = frozenset(("_==_", "_!=_"))


def literal_type(value: ast.LiteralValue) -> Type:
    """Return the type of a constant, or of the resolved name of a type.

    `bool` and `UInt` are subclasses of `int`, so they come first.
    """
    match value:
        case None:
            return NULL
        case bool():
            return BOOL
        case UInt():
            return UINT
        case int():
            return INT
        case float():
            return DOUBLE
        case str():
            return STRING
        case TypeValue(name=name):
            return TypeType(NAMED.get(name, OpaqueType(name)))
        case _:
            return BYTES


def failing_literal(
    function: str, operands: Sequence[ast.Node], types: Sequence[Type]
) -> tuple[ast.Node, IssueMessage] | None:
    """Return a literal operand that always makes the call fail, and the message; None if there is none."""
    texts = [_known_text(node, type_) for node, type_ in zip(operands, types, strict=True)]
    if function == "inWindow":
        return _failing_window(operands[1:], texts[1:])
    arguments: list[str | None]
    if function in _READERS and len(operands) == 1:
        culprit, arguments = operands[0], [texts[0]]
    elif function in _PATTERNS and len(operands) > 1:
        function, culprit, arguments = "matches", operands[1], ["", texts[1]]
    else:
        return None
    if None in arguments:
        return None
    reason = _failure(function, arguments)
    return None if reason is None else (culprit, messages.always_fails(reason))


def _failing_window(operands: Sequence[ast.Node], texts: Sequence[str | None]) -> tuple[ast.Node, IssueMessage] | None:
    """Return a literal with windows, or their time zone, that has a mistake."""
    for node, text, read in zip(operands, texts, (windows.parse, windows.zone), strict=False):
        try:
            if text is not None:
                read(text)
        except windows.WindowError as error:
            fact = messages.always_fails(error.message).text
            return node, IssueMessage(fact, messages.did_you_mean(error.word, error.candidates()))
    return None


def repeated_key(node: ast.MapNode) -> tuple[ast.Node, IssueMessage] | None:
    """Return the first literal key that a map repeats, and the message; None if there is none."""
    keys: set[str] = set()
    for entry in node.entries:
        key = _text(entry.key)
        if key is not None and key in keys:
            return entry.key, messages.repeated_key(key)
        keys |= {key} if key is not None else set()
    return None


def _known_text(node: ast.Node, type_: Type) -> str | None:
    return type_.text if isinstance(type_, StringType) and type_.text is not None else _text(node)


def _text(node: ast.Node) -> str | None:
    return node.value if isinstance(node, ast.Literal) and isinstance(node.value, str) else None


def _failure(function: str, arguments: list[str | None]) -> str | None:
    library_function = lookup(function, member=False)
    if library_function is None:
        return None
    try:
        library_function.call(*([[_UNITS], 0] if library_function.metered else []), *arguments)
    except EvaluationError as error:
        return error.message
    return None


def impossible_value(operator: str, operands: tuple[ast.Node, ...], types: tuple[Type, Type]) -> IssueMessage | None:
    """Return a message if an enum is compared with a literal that it does not have."""
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


def _texts(operator: str, node: ast.Node) -> list[str]:
    """Return the literal texts on the other side of a comparison."""
    if operator != "@in":
        candidates: tuple[ast.Node, ...] = (node,)
    elif isinstance(node, ast.ListNode):
        candidates = node.elements
    elif isinstance(node, ast.MapNode):
        candidates = tuple(entry.key for entry in node.entries)
    else:
        return []
    return [item.value for item in candidates if isinstance(item, ast.Literal) and isinstance(item.value, str)]
