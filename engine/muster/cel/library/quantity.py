"""Kubernetes quantities: `500m`, `2Gi`, `1e3`."""

from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, ClassVar

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library
from muster.cel.runtime.describe import no_overload, shown
from muster.cel.values import INT_MAX, INT_MIN
from muster.dataclass import dataclass

LIBRARY = Library("quantities")

_MOST_DIGITS, _MOST_EXPONENT = 30, 2
_EXACT = Context(prec=120)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}


@dataclass(frozen=True, slots=True)
class Quantity:
    """CEL's `kubernetes.Quantity`: an exact decimal number. `1Ki` equals `1024`."""

    amount: Decimal
    cel_type: ClassVar[str] = "kubernetes.Quantity"

    def __repr__(self) -> str:
        """Return the expression that gives it."""
        return f"quantity('{self.amount:f}')" if abs(self.amount.adjusted()) < 30 else f"quantity('{self.amount}')"


def parse(text: str) -> Quantity:
    """Return the quantity of a text. Raises EvaluationError."""
    parts = _parts(text)
    if parts is None:
        raise EvaluationError(f"{shown(text)} is not a quantity such as 500m or 2Gi")
    number, suffix, exponent = parts
    amount = Decimal(number)
    if exponent:
        amount = amount.scaleb(int(exponent), _EXACT)
    elif suffix in _BINARY:
        amount = _EXACT.multiply(amount, Decimal(2 ** _BINARY[suffix]))
    elif suffix:
        amount = amount.scaleb(_DECIMAL[suffix], _EXACT)
    return Quantity(amount)


def _parts(text: str) -> tuple[str, str, str] | None:
    """Return the number, the suffix and the exponent of a quantity; None for any other text."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    suffix = unsigned.lstrip("0123456789.")
    number = text[: len(text) - len(suffix)]
    whole, _, fraction = number.lstrip("+-").partition(".")
    if not (whole or fraction) or max(len(whole), len(fraction)) > _MOST_DIGITS or "." in fraction:
        return None
    if not suffix or suffix in _DECIMAL or suffix in _BINARY:
        return number, suffix, ""
    exponent = suffix[1:]
    digits = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    sound = suffix[0] in "eE" and digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_EXPONENT
    return (number, "", exponent) if sound else None


@LIBRARY.plain("string_to_quantity  quantity  (string) -> kubernetes.Quantity", weight=60)
def quantity(text: Any) -> Quantity:
    """`quantity(text)`: parses a text such as `500m` or `2Gi`."""
    if text.__class__ is str:
        return parse(text)
    raise no_overload("quantity", text)


@LIBRARY.plain("is_quantity_string  isQuantity  (string) -> bool", weight=20)
def is_quantity(text: Any) -> bool:
    """`isQuantity(text)`: whether the text is a quantity."""
    if text.__class__ is str:
        return _parts(text) is not None
    raise no_overload("isQuantity", text)


def amount_of(function: str, value: Any, *others: Any) -> Decimal:
    """Return the number of a quantity. Raises EvaluationError for anything else."""
    if isinstance(value, Quantity):
        return value.amount
    raise no_overload(function, value, *others)


@LIBRARY.plain("quantity_sign  sign  kubernetes.Quantity.() -> int", weight=10)
def sign(value: Any) -> int:
    """`q.sign()`: -1, 0 or 1."""
    amount = amount_of("sign", value)
    return (amount > 0) - (amount < 0)


@LIBRARY.plain("quantity_get_int  asInteger  kubernetes.Quantity.() -> int", weight=30)
def as_integer(value: Any) -> int:
    """`q.asInteger()`: the int; an error if it is not whole, or does not fit."""
    amount = amount_of("asInteger", value)
    if not _is_whole(amount):
        raise EvaluationError(f"cannot convert {amount} to an int")
    return int(amount)


@LIBRARY.plain("quantity_is_integer  isInteger  kubernetes.Quantity.() -> bool", weight=30)
def is_integer(value: Any) -> bool:
    """`q.isInteger()`: whether it is whole and fits into int."""
    return _is_whole(amount_of("isInteger", value))


def _is_whole(amount: Decimal) -> bool:
    return amount == amount.to_integral_value(context=_EXACT) and INT_MIN <= amount <= INT_MAX


@LIBRARY.plain("quantity_get_float  asApproximateFloat  kubernetes.Quantity.() -> double", weight=15)
def as_float(value: Any) -> float:
    """`q.asApproximateFloat()`: the nearest double."""
    return float(amount_of("asApproximateFloat", value))


def _combined(name: str, doc: str, function: Callable[[Decimal, Decimal], Decimal]) -> None:
    def call(left: Any, right: Any) -> Quantity:
        amount = amount_of(name, left, right)
        other = Decimal(right) if right.__class__ is int else amount_of(name, right)
        return Quantity(function(amount, other))

    LIBRARY.plain(
        f"quantity_{name}      {name}  kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
        f"quantity_{name}_int  {name}  kubernetes.Quantity.(int) -> kubernetes.Quantity",
        weight=25,
        doc=doc,
    )(call)


_combined("add", "`q.add(other)`: the sum with a quantity or an int.", _EXACT.add)
_combined("sub", "`q.sub(other)`: the difference from a quantity or an int.", _EXACT.subtract)
