"""Formulas and terms of the solver. Known values are plain Python values: `True`, `7` and `'Ready'` are terms, too.

Much of a policy is decided during translation; folding it here keeps the solver's questions small.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import z3

#: A truth value: `bool`, or a z3 expression of sort Bool.
Formula: TypeAlias = Any
#: A number, a string or a truth value: Python's, or a z3 expression.
Term: TypeAlias = Any


def both(*parts: Formula) -> Formula:
    """All hold."""
    return every(parts)


def every(parts: Iterable[Formula]) -> Formula:
    """All hold."""
    return _folded(parts, z3.And, neutral=True)


def either(*parts: Formula) -> Formula:
    """At least one holds."""
    return some(parts)


def some(parts: Iterable[Formula]) -> Formula:
    """At least one holds."""
    return _folded(parts, z3.Or, neutral=False)


def _folded(parts: Iterable[Formula], join: Callable[..., Formula], *, neutral: bool) -> Formula:
    """Join formulas; `neutral` is the value that changes nothing, and its opposite decides."""
    open_ = []
    for part in parts:
        if part is (not neutral):
            return part
        if part is not neutral:
            open_.append(part)
    return neutral if not open_ else open_[0] if len(open_) == 1 else join(*open_)


def negation(part: Formula) -> Formula:
    """It does not hold."""
    if isinstance(part, bool):
        return not part
    return part.arg(0) if z3.is_not(part) else z3.Not(part)


def implies(condition: Formula, part: Formula) -> Formula:
    """If the condition holds, so does `part`."""
    return either(negation(condition), part)


def choice(condition: Formula, then: Term, otherwise: Term) -> Term:
    """One term or the other, both of one sort."""
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
    """Two terms of one sort are equal."""
    if is_known(left) and is_known(right):
        return left == right
    if isinstance(left, bool):
        return right if left else negation(right)
    if isinstance(right, bool):
        return left if right else negation(left)
    context = right.ctx if is_known(left) else left.ctx
    return _term(left, context) == _term(right, context)


def before(left: Term, right: Term, *, strictly: bool) -> Formula:
    """`left` is less than `right`, or equal if not `strictly`; numbers or strings."""
    if is_known(left) and is_known(right):
        return left < right if strictly else left <= right
    if isinstance(left, str):
        left = _term(left, right.ctx)
    elif isinstance(right, str):
        right = _term(right, left.ctx)
    return left < right if strictly else left <= right


def is_known(term: Term) -> bool:
    """Is the term a plain value?"""
    return isinstance(term, (bool, int, str))


def in_range(low: Term, number: Term, high: Term) -> Formula:
    """A number is in a range without its end."""
    return both(before(low, number, strictly=False), before(number, high, strictly=True))


def within(low: int, term: Term, high: int) -> Formula:
    """A number is in a range with both ends."""
    return both(before(low, term, strictly=False), before(term, high, strictly=False))


def joined(left: Term, right: Term) -> Term:
    """Two strings, concatenated."""
    if is_known(left) and is_known(right):
        return left + right
    context = right.ctx if is_known(left) else left.ctx
    return z3.Concat(_term(left, context), _term(right, context))


def begins(text: Term, start: Term) -> Formula:
    """A string starts with another."""
    if is_known(text) and is_known(start):
        return text.startswith(start)
    return z3.PrefixOf(*_texts(start, text))


def ends(text: Term, end: Term) -> Formula:
    """A string ends with another."""
    if is_known(text) and is_known(end):
        return text.endswith(end)
    return z3.SuffixOf(*_texts(end, text))


def contains(text: Term, part: Term) -> Formula:
    """A string contains another."""
    if is_known(text) and is_known(part):
        return part in text
    return z3.Contains(*_texts(text, part))


def length(text: Term) -> Term:
    """The number of characters of a string."""
    return len(text) if isinstance(text, str) else z3.Length(text)


def decimal(number: Term) -> Term:
    """A number in decimal digits."""
    if is_known(number):
        return str(number)
    digits = z3.IntToStr(z3.If(number < 0, -number, number))
    return z3.If(number < 0, z3.Concat(_term("-", number.ctx), digits), digits)


def quotient(number: Term, divisor: Term) -> Term:
    """`number / divisor`, rounded towards zero; any value for a divisor of 0."""
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
    """The sum of numbers."""
    sum_: Term = 0
    for term in terms:
        sum_ = term if is_known(sum_) and sum_ == 0 else sum_ + term
    return sum_


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
    """Write a string as z3 reads it: backslashes and all but printable ASCII as `\\u{...}`."""
    return "".join(char if " " <= char <= "~" and char != "\\" else f"\\u{{{ord(char):x}}}" for char in text)


def _unescaped(text: str) -> str:
    """Read a string as z3 writes it."""
    pieces = text.split("\\u{")
    plain = pieces[0]
    for piece in pieces[1:]:
        digits, _, rest = piece.partition("}")
        plain += chr(int(digits, 16)) + rest
    return plain


class Model:
    """A solution: a value for every constant."""

    def __init__(self, model: z3.ModelRef) -> None:
        self._model = model

    def truth(self, formula: Formula) -> bool:
        """Does a formula hold?"""
        if isinstance(formula, bool):
            return formula
        return bool(z3.is_true(self._model.eval(formula, model_completion=True)))

    def number(self, term: Term) -> int:
        """The value of a number."""
        return term if isinstance(term, int) else self._model.eval(term, model_completion=True).as_long()

    def text(self, term: Term) -> str:
        """The value of a string."""
        if isinstance(term, str):
            return term
        return _unescaped(self._model.eval(term, model_completion=True).as_string())
