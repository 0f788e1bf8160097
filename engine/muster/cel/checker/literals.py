"""Literals that can only fail: a duration that is none, a pattern that no regular expression is.

They are tried out with the functions that would get them at run time.
"""

from typing import Final

from muster.cel import ast
from muster.cel.checker import messages
from muster.cel.checker.messages import IssueMessage
from muster.cel.errors import EvaluationError

#: Functions that read a text, and fail on one that says nothing to them.
_READERS: Final = frozenset(
    {"duration", "timestamp", "quantity", "semver", "ip", "cidr", "url", "int", "uint", "double", "bool"}
)
#: Functions whose second argument is a regular expression.
_PATTERNS: Final = frozenset({"matches", "find", "findAll", "regex.extract", "regex.extractAll", "regex.replace"})
_UNITS: Final = 1_000_000


def failing_literal(function: str, operands: tuple[ast.Node, ...]) -> tuple[ast.Node, IssueMessage] | None:
    """Return the literal operand that makes every such call fail, and what to say of it; None where there is none."""
    if function in _READERS and len(operands) == 1:
        culprit, arguments = operands[0], [_text(operands[0])]
    elif function in _PATTERNS and len(operands) > 1:
        function, culprit, arguments = "matches", operands[1], ["", _text(operands[1])]
    else:
        return None
    if None in arguments:
        return None
    reason = _failure(function, arguments)
    return None if reason is None else (culprit, messages.always_fails(reason))


def repeated_key(node: ast.MapNode) -> tuple[ast.Node, IssueMessage] | None:
    """Return the first literal key of a map that an earlier one repeats; None where there is none."""
    seen: set[str] = set()
    for entry in node.entries:
        key = _text(entry.key)
        if key is not None and key in seen:
            return entry.key, messages.repeated_key(key)
        seen |= {key} if key is not None else set()
    return None


def _text(node: ast.Node) -> str | None:
    return node.value if isinstance(node, ast.Literal) and isinstance(node.value, str) else None


def _failure(function: str, arguments: list[str | None]) -> str | None:
    from muster.cel.library.registry import lookup  # late: most expressions have nothing to try out

    found = lookup(function, member=False)
    if found is None:
        return None
    try:
        found.call(*([[_UNITS], 0] if found.metered else []), *arguments)
    except EvaluationError as error:
        return error.message
    return None
