"""Arithmetic: int64, uint64 and double, strings, bytes, lists, timestamps and durations.

There is no implicit conversion between numeric types, and overflow is an error. Classes are compared exactly, because
`bool` is an `int` in Python but not in CEL.
"""

import math
from datetime import datetime, timedelta
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.runtime import temporal
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload
from muster.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

FREE_LENGTH, FREE_ITEMS = 64, 32
"""The weight of an operator covers texts and lists up to this length."""

MAX_TEXT, MAX_ITEMS = 1 << 25, 1 << 22
"""The most characters or octets, and elements, of a value that is built, whatever budget is left."""


def int64(value: int) -> int:
    """Return the value. Raises EvaluationError if it does not fit into int."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvaluationError("integer overflow")


def uint64(value: int) -> UInt:
    """Return the value as uint. Raises EvaluationError if it does not fit."""
    if 0 <= value <= UINT_MAX:
        return UInt(value)
    raise EvaluationError("unsigned integer overflow")


def add(meter: Meter, site: int, left: Any, right: Any) -> Any:
    """Return `left + right`."""
    kind, other = left.__class__, right.__class__
    if kind is other:
        if kind is int:
            return int64(left + right)
        if kind is float:
            return left + right
        if kind is str or kind is bytes or kind is list:
            if kind is list:
                pay_for_items(meter, site, len(left) + len(right))
            else:
                pay_for_text(meter, site, len(left) + len(right))
            return left + right
        if kind is UInt:
            return uint64(int(left) + int(right))
    if isinstance(left, datetime):
        if isinstance(right, timedelta):
            return temporal.add_span(meter, site, left, right)
    elif isinstance(left, timedelta):
        if isinstance(right, timedelta):
            return temporal.add_spans(meter, site, left, right)
        if isinstance(right, datetime):
            return temporal.add_span(meter, site, right, left)
    elif isinstance(left, list) and isinstance(right, list):
        pay_for_items(meter, site, len(left) + len(right))
        return [*left, *right]
    raise no_overload("_+_", left, right)


def pay_for_text(meter: Meter, site: int, length: int) -> None:
    """Pay for making a text or octets of that length. Above MAX_TEXT, spend everything that is left."""
    if length > FREE_LENGTH:
        spend(meter, site, length // 8 if length <= MAX_TEXT else meter[0] + 1)


def pay_for_items(meter: Meter, site: int, count: int) -> None:
    """Pay for making a list of existing elements. Above MAX_ITEMS, spend everything that is left."""
    if count > FREE_ITEMS:
        spend(meter, site, count // 4 if count <= MAX_ITEMS else meter[0] + 1)


def subtract(meter: Meter, site: int, left: Any, right: Any) -> Any:
    """Return `left - right`."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            return int64(left - right)
        if kind is float:
            return left - right
        if kind is UInt:
            return uint64(int(left) - int(right))
    if isinstance(left, datetime):
        if isinstance(right, datetime):
            return temporal.difference(meter, site, left, right)
        if isinstance(right, timedelta):
            return temporal.subtract_span(meter, site, left, right)
    elif isinstance(left, timedelta) and isinstance(right, timedelta):
        return temporal.subtract_spans(meter, site, left, right)
    raise no_overload("_-_", left, right)


def multiply(left: Any, right: Any) -> Any:
    """Return `left * right`."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is int:
            return int64(left * right)
        if kind is float:
            return left * right
        if kind is UInt:
            return uint64(int(left) * int(right))
    raise no_overload("_*_", left, right)


def divide(left: Any, right: Any) -> Any:
    """Return `left / right`: integers are truncated towards zero, doubles follow IEEE 754."""
    kind = left.__class__
    if kind is right.__class__:
        if kind is float:
            return _divide_doubles(left, right)
        if kind is int or kind is UInt:
            if right == 0:
                raise EvaluationError("divide by zero")
            quotient = abs(int(left)) // abs(int(right))
            if kind is UInt:
                return UInt(quotient)
            return int64(quotient if (left < 0) == (right < 0) else -quotient)
    raise no_overload("_/_", left, right)


def _divide_doubles(left: float, right: float) -> float:
    if right != 0:
        return left / right
    if left == 0 or left != left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def modulo(left: Any, right: Any) -> Any:
    """Return `left % right`, with the sign of `left`."""
    kind = left.__class__
    if kind is right.__class__ and (kind is int or kind is UInt):
        if right == 0:
            raise EvaluationError("modulus by zero")
        if kind is int and left == INT_MIN and right == -1:
            raise EvaluationError("integer overflow")
        rest = abs(int(left)) % abs(int(right))
        if kind is UInt:
            return UInt(rest)
        return rest if left >= 0 else -rest
    raise no_overload("_%_", left, right)


def negate(value: Any) -> Any:
    """Return `-value`."""
    kind = value.__class__
    if kind is int:
        return int64(-value)
    if kind is float:
        return -value
    raise no_overload("-_", value)
