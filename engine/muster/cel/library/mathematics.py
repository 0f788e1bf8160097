"""The math extension."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Function, metered, plain
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.comparison import ELEMENT, greater, less
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.numbers import UINT_MAX, int64
from muster.cel.values import UInt

_NUMBERS = (int, float, UInt)


def _extreme(name: str, better: Callable[[Meter, int, Any, Any], bool]) -> Function:
    def extreme(meter: Meter, site: int, *args: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], list) else args
        if not values:
            raise EvaluationError(f"{name}() of nothing")
        spend(meter, site, ELEMENT * len(values))
        if any(value.__class__ not in _NUMBERS for value in values):
            raise no_overload(name, *args)
        result = values[0]
        for value in values[1:]:
            if better(meter, site, value, result):
                result = value
        return result

    return metered(extreme, weight=10)


def _on_doubles(name: str, function: Callable[[float], Any]) -> Function:
    def call(value: Any) -> Any:
        if value.__class__ is not float:
            raise no_overload(name, value)
        return function(value)

    return plain(call, 1, weight=10)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Return the rounding on doubles: infinities and NaN stay, zero keeps its sign."""
    return lambda value: math.copysign(float(function(value)), value) if math.isfinite(value) else value


def _away_from_zero(value: float) -> int:
    whole = math.trunc(value)
    return whole + int(math.copysign(1, value)) if abs(value - whole) >= 0.5 else whole


def absolute(value: Any) -> Any:
    """`math.abs(x)`"""
    if value.__class__ is int:
        return int64(abs(value))
    if value.__class__ is float:
        return abs(value)
    if value.__class__ is UInt:
        return value
    raise no_overload("math.abs", value)


def sign(value: Any) -> Any:
    """`math.sign(x)`: -1, 0 or 1 of the same type."""
    kind = value.__class__
    if kind not in _NUMBERS:
        raise no_overload("math.sign", value)
    return value if value != value else kind((value > 0) - (value < 0))


def square_root(value: Any) -> float:
    """`math.sqrt(x)`: NaN for what is negative."""
    if value.__class__ not in _NUMBERS:
        raise no_overload("math.sqrt", value)
    return math.nan if value < 0 else math.sqrt(value)


def _bitwise(name: str, function: Callable[[int, int], int]) -> Function:
    def call(left: Any, right: Any) -> Any:
        kind = left.__class__
        if kind is not right.__class__ or (kind is not int and kind is not UInt):
            raise no_overload(name, left, right)
        return kind(function(int(left), int(right)))

    return plain(call, 2, weight=8)


def complement(value: Any) -> Any:
    """`math.bitNot(x)`"""
    if value.__class__ is int:
        return ~value
    if value.__class__ is UInt:
        return UInt(int(value) ^ UINT_MAX)
    raise no_overload("math.bitNot", value)


def _places(name: str, value: Any, by: Any) -> int:
    if value.__class__ not in (int, UInt) or by.__class__ is not int:
        raise no_overload(name, value, by)
    if by < 0:
        raise EvaluationError(f"{name}() negative offset: {by}")
    return int(by)


def _like(value: Any, bits: int) -> Any:
    """Return 64 bits as an int or a uint, whichever `value` is."""
    if value.__class__ is UInt:
        return UInt(bits)
    return bits - 2**64 if bits >= 2**63 else bits


def shift_left(value: Any, by: Any) -> Any:
    """`math.bitShiftLeft(x, n)`: bits pushed out are lost, from 64 on all of them."""
    places = _places("math.bitShiftLeft", value, by)
    return _like(value, (int(value) << places) & UINT_MAX if places < 64 else 0)


def shift_right(value: Any, by: Any) -> Any:
    """`math.bitShiftRight(x, n)`: zeros come in from the left, for negative ints as well."""
    places = _places("math.bitShiftRight", value, by)
    return _like(value, (int(value) & UINT_MAX) >> places if places < 64 else 0)


FUNCTIONS: Mapping[str, Function] = {
    "math.greatest": _extreme("math.greatest", greater),
    "math.least": _extreme("math.least", less),
    "math.ceil": _on_doubles("math.ceil", _whole(math.ceil)),
    "math.floor": _on_doubles("math.floor", _whole(math.floor)),
    "math.round": _on_doubles("math.round", _whole(_away_from_zero)),
    "math.trunc": _on_doubles("math.trunc", _whole(math.trunc)),
    "math.isInf": _on_doubles("math.isInf", math.isinf),
    "math.isNaN": _on_doubles("math.isNaN", math.isnan),
    "math.isFinite": _on_doubles("math.isFinite", math.isfinite),
    "math.abs": plain(absolute, 1, weight=6),
    "math.sign": plain(sign, 1, weight=8),
    "math.sqrt": plain(square_root, 1),
    "math.bitAnd": _bitwise("math.bitAnd", lambda left, right: left & right),
    "math.bitOr": _bitwise("math.bitOr", lambda left, right: left | right),
    "math.bitXor": _bitwise("math.bitXor", lambda left, right: left ^ right),
    "math.bitNot": plain(complement, 1),
    "math.bitShiftLeft": plain(shift_left, 2, weight=10),
    "math.bitShiftRight": plain(shift_right, 2, weight=10),
}
METHODS: Mapping[str, Function] = {}
