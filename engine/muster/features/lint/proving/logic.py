"""Formulas, where what is known beforehand is a plain Python value: `True`, `7` and `'Ready'` are terms as well.

Most of what policies say of an object is settled while they are translated; folding it here keeps the solver's
questions small.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import z3

#: A truth value: `bool`, or a z3 expression of sort Bool.
Formula: TypeAlias = Any
#: A number, a text or a truth value: Python's, or a z3 expression.
Term: TypeAlias = Any


def both(*parts: Formula) -> Formula:
    """Return the conjunction."""
    return every(parts)


def every(parts: Iterable[Formula]) -> Formula:
    """Return that all hold."""
    return _folded(parts, z3.And, of_none=True)


def either(*parts: Formula) -> Formula:
    """Return the disjunction."""
    return some(parts)


def some(parts: Iterable[Formula]) -> Formula:
    """Return that one of them holds."""
    return _folded(parts, z3.Or, of_none=False)


def _folded(parts: Iterable[Formula], join: Callable[..., Formula], *, of_none: bool) -> Formula:
    """Join formulas of which one may decide; what joins none is what changes nothing beside others."""
    open_ = []
    for part in parts:
        if part is (not of_none):
            return part
        if part is not of_none:
            open_.append(part)
    return of_none if not open_ else open_[0] if len(open_) == 1 else join(*open_)


def negation(part: Formula) -> Formula:
    """Return that it does not hold."""
    if isinstance(part, bool):
        return not part
    return part.arg(0) if z3.is_not(part) else z3.Not(part)


def implies(condition: Formula, part: Formula) -> Formula:
    """Return that the second holds where the first does."""
    return either(negation(condition), part)


def choice(condition: Formula, then: Term, otherwise: Term) -> Term:
    """Return one term or the other, both of the same sort."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    if then is otherwise or (is_known(then) and is_known(otherwise) and then == otherwise):
        return then
    if isinstance(then, bool):
        return either(condition, otherwise) if then else both(negation(condition), otherwise)
    if isinstance(otherwise, bool):
        return either(negation(condition), then) if otherwise else both(condition, then)
    return z3.If(condition, _term(then, condition.ctx), _term(otherwise, condition.ctx))


def same(left: Term, right: Term) -> Formula:
    """Return that two terms of one sort are equal."""
    if is_known(left) and is_known(right):
        return left == right
    if isinstance(left, bool):
        return right if left else negation(right)
    if isinstance(right, bool):
        return left if right else negation(left)
    context = right.ctx if is_known(left) else left.ctx
    return _term(left, context) == _term(right, context)


def before(left: Term, right: Term, *, strictly: bool) -> Formula:
    """Return that a number or a text comes before another of its sort, or is it."""
    if is_known(left) and is_known(right):
        return left < right if strictly else left <= right
    if isinstance(left, str):
        left = _term(left, right.ctx)
    elif isinstance(right, str):
        right = _term(right, left.ctx)
    return left < right if strictly else left <= right


def is_known(term: Term) -> bool:
    """Whether a term is a plain value."""
    return isinstance(term, (bool, int, str))


def in_range(low: Term, number: Term, high: Term) -> Formula:
    """Whether a number is in a range, its end not included."""
    return both(before(low, number, strictly=False), before(number, high, strictly=True))


def within(low: int, term: Term, high: int) -> Formula:
    """Return that a number is in a range, both ends included."""
    return both(before(low, term, strictly=False), before(term, high, strictly=False))


def joined(left: Term, right: Term) -> Term:
    """Return two texts, one after the other."""
    if is_known(left) and is_known(right):
        return left + right
    context = right.ctx if is_known(left) else left.ctx
    return z3.Concat(_term(left, context), _term(right, context))


def begins(text: Term, start: Term) -> Formula:
    """Return that a text begins with another."""
    if is_known(text) and is_known(start):
        return text.startswith(start)
    return z3.PrefixOf(*_texts(start, text))


def ends(text: Term, end: Term) -> Formula:
    """Return that a text ends with another."""
    if is_known(text) and is_known(end):
        return text.endswith(end)
    return z3.SuffixOf(*_texts(end, text))


def holds_text(text: Term, part: Term) -> Formula:
    """Return that a text has another in it."""
    if is_known(text) and is_known(part):
        return part in text
    return z3.Contains(*_texts(text, part))


def length(text: Term) -> Term:
    """Return how many characters a text has."""
    return len(text) if isinstance(text, str) else z3.Length(text)


def decimal(number: Term) -> Term:
    """Return the digits of a number."""
    if is_known(number):
        return str(number)
    digits = z3.IntToStr(z3.If(number < 0, -number, number))
    return z3.If(number < 0, z3.Concat(_term("-", number.ctx), digits), digits)


def quotient(number: Term, divisor: Term) -> Term:
    """Return `number / divisor`, cut towards zero. Of a divisor of 0 nothing is said."""
    if is_known(number) and is_known(divisor):
        if divisor == 0:
            return 0
        cut = abs(number) // abs(divisor)
        return cut if (number < 0) == (divisor < 0) else -cut
    context = divisor.ctx if is_known(number) else number.ctx
    one, other = _term(number, context), _term(divisor, context)
    cut = z3.If(one < 0, -one, one) / z3.If(other < 0, -other, other)
    return z3.If((one < 0) == (other < 0), cut, -cut)


def total(terms: Iterable[Term]) -> Term:
    """Return the sum of numbers."""
    found: Term = 0
    for term in terms:
        found = term if is_known(found) and found == 0 else found + term
    return found


def _texts(*terms: Term) -> list[Term]:
    context = next(term.ctx for term in terms if not is_known(term))
    return [_term(term, context) for term in terms]


def _term(value: Term, context: z3.Context) -> Term:
    if isinstance(value, bool):
        return z3.BoolVal(value, context)
    if isinstance(value, int):
        return z3.IntVal(value, context)
    if isinstance(value, str):
        return z3.StringVal(_escaped(value), context)
    return value


def _escaped(text: str) -> str:
    """Write a text as z3 reads it: what is not plain ASCII, and the backslash, as `\\u{...}`."""
    return "".join(char if " " <= char <= "~" and char != "\\" else f"\\u{{{ord(char):x}}}" for char in text)
