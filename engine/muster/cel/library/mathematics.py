"""The math extension."""

import math
from collections.abc import Callable
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library.lists import extreme_cost
from muster.cel.library.registry import Library
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.comparison import ELEMENT, greater, less
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.numbers import int64
from muster.cel.values import UINT_MAX, UInt

LIBRARY = Library("math")

_NUMBERS = (int, float, UInt)


def _extreme(function: str, doc: str, better: Callable[[Meter, int, Any, Any], bool]) -> None:
    name = f"math.{function}"

    def extreme(meter: Meter, site: int, *args: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], list) else args
        if not values:
            raise EvaluationError(f"{name}() without numbers")
        spend(meter, site, ELEMENT * len(values))
        if any(value.__class__ not in _NUMBERS for value in values):
            raise no_overload(name, *args)
        result = values[0]
        for value in values[1:]:
            if better(meter, site, value, result):
                result = value
        return result

    kinds = (("int64", "int", "int"), ("uint64", "uint", "uint"), ("double",) * 3, ("number", "number", "dyn"))
    LIBRARY.metered(
        *(f"math_{function}_{kind} {name} ({type_}...) -> {result}" for kind, type_, result in kinds),
        *(f"math_{function}_list_{kind} {name} (list({type_})) -> {result}" for kind, type_, result in kinds),
        weight=10,
        grows=extreme_cost,
        doc=doc,
    )(extreme)


def _on_doubles(short_name: str, result: str, doc: str, function: Callable[[float], Any]) -> None:
    name = f"math.{short_name}"

    def call(value: Any) -> Any:
        if value.__class__ is not float:
            raise no_overload(name, value)
        return function(value)

    LIBRARY.plain(f"math_{short_name}_double {name} (double) -> {result}", weight=10, doc=doc)(call)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    """Return the rounding of doubles: it keeps infinities, NaN and the sign of zero."""
    return lambda value: math.copysign(float(function(value)), value) if math.isfinite(value) else value


def _away_from_zero(value: float) -> int:
    whole = math.trunc(value)
    return whole + int(math.copysign(1, value)) if abs(value - whole) >= 0.5 else whole


@LIBRARY.plain(
    "math_abs_double  math.abs  (double) -> double",
    "math_abs_int     math.abs  (int) -> int",
    "math_abs_uint    math.abs  (uint) -> uint",
    weight=6,
)
def absolute(value: Any) -> Any:
    """`math.abs(x)`: the absolute value."""
    if value.__class__ is int:
        return int64(abs(value))
    if value.__class__ is float:
        return abs(value)
    if value.__class__ is UInt:
        return value
    raise no_overload("math.abs", value)


@LIBRARY.plain(
    "math_sign_double  math.sign  (double) -> double",
    "math_sign_int     math.sign  (int) -> int",
    "math_sign_uint    math.sign  (uint) -> uint",
    weight=8,
)
def sign(value: Any) -> Any:
    """`math.sign(x)`: -1, 0 or 1, of the same type."""
    kind = value.__class__
    if kind not in _NUMBERS:
        raise no_overload("math.sign", value)
    return value if value != value else kind((value > 0) - (value < 0))


@LIBRARY.plain(
    "math_sqrt_double  math.sqrt  (double) -> double",
    "math_sqrt_int     math.sqrt  (int) -> double",
    "math_sqrt_uint    math.sqrt  (uint) -> double",
    weight=4,
)
def square_root(value: Any) -> float:
    """`math.sqrt(x)`: the square root; NaN for a negative number."""
    if value.__class__ not in _NUMBERS:
        raise no_overload("math.sqrt", value)
    return math.nan if value < 0 else math.sqrt(value)


def _bitwise(short_name: str, doc: str, function: Callable[[int, int], int]) -> None:
    name = f"math.{short_name}"

    def call(left: Any, right: Any) -> Any:
        kind = left.__class__
        if kind is not right.__class__ or (kind is not int and kind is not UInt):
            raise no_overload(name, left, right)
        return kind(function(int(left), int(right)))

    lines = (f"math_{short_name}_{kind}_{kind} {name} ({kind}, {kind}) -> {kind}" for kind in ("int", "uint"))
    LIBRARY.plain(*lines, weight=8, doc=doc)(call)


@LIBRARY.plain(
    "math_bitNot_int_int    math.bitNot  (int) -> int",
    "math_bitNot_uint_uint  math.bitNot  (uint) -> uint",
    weight=4,
)
def complement(value: Any) -> Any:
    """`math.bitNot(x)`: every bit inverted."""
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
    """Return 64 bits as an int or a uint, the type of `value`."""
    if value.__class__ is UInt:
        return UInt(bits)
    return bits - 2**64 if bits >= 2**63 else bits


@LIBRARY.plain(
    "math_bitShiftLeft_int_int   math.bitShiftLeft  (int, int) -> int",
    "math_bitShiftLeft_uint_int  math.bitShiftLeft  (uint, int) -> uint",
    weight=10,
)
def shift_left(value: Any, by: Any) -> Any:
    """`math.bitShiftLeft(x, n)`: bits shifted out are lost; from 64 on the result is 0."""
    places = _places("math.bitShiftLeft", value, by)
    return _like(value, (int(value) << places) & UINT_MAX if places < 64 else 0)


@LIBRARY.plain(
    "math_bitShiftRight_int_int   math.bitShiftRight  (int, int) -> int",
    "math_bitShiftRight_uint_int  math.bitShiftRight  (uint, int) -> uint",
    weight=10,
)
def shift_right(value: Any, by: Any) -> Any:
    """`math.bitShiftRight(x, n)`: zeros are shifted in, also for negative ints."""
    places = _places("math.bitShiftRight", value, by)
    return _like(value, (int(value) & UINT_MAX) >> places if places < 64 else 0)


_extreme("greatest", "`math.greatest(a, b, ...)`, `math.greatest(list)`: the greatest number.", greater)
_extreme("least", "`math.least(a, b, ...)`, `math.least(list)`: the least number.", less)
_on_doubles("ceil", "double", "`math.ceil(x)`: rounded up.", _whole(math.ceil))
_on_doubles("floor", "double", "`math.floor(x)`: rounded down.", _whole(math.floor))
_on_doubles("round", "double", "`math.round(x)`: rounded to the nearest, halves away from 0.", _whole(_away_from_zero))
_on_doubles("trunc", "double", "`math.trunc(x)`: truncated towards 0.", _whole(math.trunc))
_on_doubles("isInf", "bool", "`math.isInf(x)`: whether it is infinite.", math.isinf)
_on_doubles("isNaN", "bool", "`math.isNaN(x)`: whether it is NaN.", math.isnan)
_on_doubles("isFinite", "bool", "`math.isFinite(x)`: whether it is neither NaN nor infinite.", math.isfinite)
_bitwise("bitAnd", "`math.bitAnd(a, b)`: the bits that both have.", lambda left, right: left & right)
_bitwise("bitOr", "`math.bitOr(a, b)`: the bits that either has.", lambda left, right: left | right)
_bitwise("bitXor", "`math.bitXor(a, b)`: the bits that exactly one has.", lambda left, right: left ^ right)
