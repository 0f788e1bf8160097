"""The deadlines in an evaluated expression: at which instant each comparison with `now` flips, and why then.

`now - lease.spec.renewTime >= duration('5m')` flips five minutes after the renewal: its terms are that instant and that
span. Only comparisons that move with `now` at a steady rate have one; others flip at instants that no sum gives.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from muster.cel import ast
from muster.cel.clock import second_after, second_at
from muster.cel.closures import path
from muster.cel.runtime.describe import shown
from muster.cel.runtime.temporal import Now

#: Comparison -> whether it flips once `now`, on the left, has *passed* the deadline, and not when it reaches it.
#: With `now` on the right it is the other way round.
_PASSES: Final = {"_<_": False, "_<=_": True, "_>_": True, "_>=_": False}
#: What a sum does with its second operand.
_SIGNS: Final = {"_+_": 1, "_-_": -1}


@dataclass(frozen=True, slots=True)
class Term:
    """What a deadline is the sum of: an instant or a span, and how the expression calls it. `sign` is 1 or -1."""

    label: str
    value: datetime | timedelta
    sign: int

    @property
    def value_text(self) -> str:
        """The value in a few words."""
        return shown(self.value)

    @property
    def shown(self) -> str:
        """The value, and where it comes from; what is spelled out says so itself."""
        return f"{self.value_text} ({self.label})" if self.label else self.value_text


@dataclass(frozen=True, slots=True)
class Deadline:
    """The instant at which a comparison flips: what it gives before and after differ. `terms` sum up to it, instants
    first. `passed`: it flips past the instant, and not at it. `offset` is the comparison's place in the text."""

    offset: int
    at: datetime
    terms: tuple[Term, ...]
    passed: bool = False

    @property
    def flips(self) -> datetime | None:
        """The first whole second of the other outcome; None past the year 9999."""
        return second_after(self.at) if self.passed else second_at(self.at)


def deadlines_of(node: ast.Node, seen: Mapping[int, Any]) -> tuple[Deadline, ...]:
    """Return the deadlines of all comparisons in a tree that were made, in the order of the text."""
    found = (_deadline(inner, seen) for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.offset))


def _deadline(node: ast.Call, seen: Mapping[int, Any]) -> Deadline | None:
    if node.function not in _PASSES or not isinstance(seen.get(node.id), bool):
        return None
    terms = [*_terms(node.args[0], seen, 1), *_terms(node.args[1], seen, -1)]
    moving = [term for term in terms if isinstance(term.value, Now)]
    still = [term for term in terms if not isinstance(term.value, Now)]
    rate = sum(term.sign for term in moving)
    if abs(rate) != 1 or any(getattr(term.value, "rate", 0) for term in still):
        return None
    solved = [Term(term.label, term.value, -term.sign * rate) for term in still]
    solved.sort(key=lambda term: (not isinstance(term.value, datetime), -term.sign))
    at = _sum(solved)
    passed = _PASSES[node.function] is (rate == 1)
    return None if at is None else Deadline(node.offset, at, tuple(solved), passed)


def _terms(node: ast.Node, seen: Mapping[int, Any], sign: int) -> Iterator[Term]:
    """What a sum of instants and spans is made of."""
    if isinstance(node, ast.Call) and node.function in _SIGNS and all(arg.id in seen for arg in node.args):
        yield from _terms(node.args[0], seen, sign)
        yield from _terms(node.args[1], seen, sign * _SIGNS[node.function])
    elif isinstance(value := seen[node.id], datetime | timedelta):
        yield Term(_label(node), value, sign)


def _label(node: ast.Node) -> str:
    """How the expression calls a value; nothing for one that is spelled out, as `duration('5m')` is."""
    spelled = isinstance(node, ast.Call) and all(isinstance(arg, ast.Literal) for arg in node.args)
    return "" if spelled and not getattr(node, "target", None) else path(node)


def _sum(terms: list[Term]) -> datetime | None:
    """The instant that the terms add up to; None where they give none, or one out of range."""
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
