"""The deadlines in an evaluated expression: the instant at which each comparison with `now` flips, and its terms.

`now - lease.spec.renewTime >= duration('5m')` flips five minutes after the renewal: its terms are that instant and that
span. Only comparisons that move with `now` at a steady rate have a deadline; no sum gives the instants of the others.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from muster.cel import ast
from muster.cel.clock import second_after, second_at
from muster.cel.closures import path
from muster.cel.runtime.describe import shown
from muster.cel.runtime.temporal import Now
from muster.dataclass import dataclass

#: Whether a comparison with `now` on the left flips when `now` *passes* the deadline, or already when `now` reaches it.
#: With `now` on the right it is the opposite.
_PASSES: Final = {"_<_": False, "_<=_": True, "_>_": True, "_>=_": False}
#: The sign of the second operand of a sum.
_SIGNS: Final = {"_+_": 1, "_-_": -1}


@dataclass(frozen=True, slots=True)
class Term:
    """An instant or a span in the sum of a deadline, and its name in the expression. `sign` is 1 or -1."""

    label: str
    value: datetime | timedelta
    sign: int

    @property
    def value_text(self) -> str:
        """The value as short text."""
        return shown(self.value)

    @property
    def shown(self) -> str:
        """The value, followed by its name if it has one."""
        return f"{self.value_text} ({self.label})" if self.label else self.value_text


@dataclass(frozen=True, slots=True)
class ComparisonDeadline:
    """The instant at which a comparison flips.

    `terms` add up to it, instants first. `passed` is true if it flips after the instant, not at it. `offset` is the
    place of the comparison in the text.
    """

    offset: int
    at: datetime
    terms: tuple[Term, ...]
    passed: bool = False

    @property
    def flips(self) -> datetime | None:
        """The first whole second with the other outcome; None past the year 9999."""
        return second_after(self.at) if self.passed else second_at(self.at)


def deadlines_of(node: ast.Node, values: Mapping[int, Any]) -> tuple[ComparisonDeadline, ...]:
    """Return the deadlines of all evaluated comparisons in a tree, in the order of the text."""
    deadlines = (_deadline(inner, values) for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return tuple(
        sorted((deadline for deadline in deadlines if deadline is not None), key=lambda deadline: deadline.offset)
    )


def _deadline(node: ast.Call, values: Mapping[int, Any]) -> ComparisonDeadline | None:
    if node.function not in _PASSES or not isinstance(values.get(node.id), bool):
        return None
    terms = [*_terms(node.args[0], values, 1), *_terms(node.args[1], values, -1)]
    moving = [term for term in terms if isinstance(term.value, Now)]
    still = [term for term in terms if not isinstance(term.value, Now)]
    rate = sum(term.sign for term in moving)
    if abs(rate) != 1 or any(getattr(term.value, "rate", 0) for term in still):
        return None
    solved = [Term(term.label, term.value, -term.sign * rate) for term in still]
    solved.sort(key=lambda term: (not isinstance(term.value, datetime), -term.sign))
    at = _sum(solved)
    passed = _PASSES[node.function] is (rate == 1)
    return None if at is None else ComparisonDeadline(node.offset, at, tuple(solved), passed)


def _terms(node: ast.Node, values: Mapping[int, Any], sign: int) -> Iterator[Term]:
    """Yield the terms of a sum of instants and spans."""
    if isinstance(node, ast.Call) and node.function in _SIGNS and all(arg.id in values for arg in node.args):
        yield from _terms(node.args[0], values, sign)
        yield from _terms(node.args[1], values, sign * _SIGNS[node.function])
    elif isinstance(value := values[node.id], datetime | timedelta):
        yield Term(_label(node), value, sign)


def _label(node: ast.Node) -> str:
    """Return the name of a value in the expression; empty for a literal such as `duration('5m')`."""
    is_literal = isinstance(node, ast.Call) and all(isinstance(arg, ast.Literal) for arg in node.args)
    return "" if is_literal and not getattr(node, "target", None) else path(node)


def _sum(terms: list[Term]) -> datetime | None:
    """Return the instant that the terms add up to; None if they give no instant, or one out of range."""
    if not terms or not isinstance(terms[0].value, datetime) or terms[0].sign != 1:
        return None
    at, spans = _plain(terms[0].value), terms[1:]
    for term in spans:
        if not isinstance(term.value, timedelta):
            return None
        try:
            at += term.sign * timedelta(microseconds=term.value // timedelta(microseconds=1))
        except OverflowError:
            return None
    return at


def _plain(value: datetime) -> datetime:
    return datetime.combine(value.date(), value.time(), value.tzinfo)
