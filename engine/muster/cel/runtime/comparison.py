"""Equality and order.

Equality is defined between any two values: numbers compare by value across types, other values of different types are
unequal. Order is defined within a type and across numeric types. An integer that is compared with a double is converted
to a double first, which loses precision near 2^63, as the language definition says.

A comparison pays for the length of texts, and for every element and entry that it visits, each time that it does: a
small value in memory may contain the same part many times.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.runtime.budget import PRECISE, Meter, spend
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.maps import find
from muster.cel.runtime.numbers import FREE_LENGTH
from muster.cel.runtime.selection import OptionalValue
from muster.cel.runtime.temporal import Now, PreciseInstant, PreciseSpan
from muster.cel.values import UInt

_ABSENT = object()
_INT_LIMIT = 2.0**63
_UINT_LIMIT = 2.0**64
_SAME_KIND = frozenset({str, bytes, float, bool, type(None), int, UInt})
_SHORT_KIND = _SAME_KIND - {str, bytes}
_EXACT = 2**53
_NUMBERS = frozenset({int, float, UInt})
_PRECISE = (Now, PreciseInstant, PreciseSpan)

MAX_DEPTH = 200
"""The most levels of lists and maps that are compared. It does not depend on Python's stack."""

FAILING = 8
"""Units of the error that two values have no order, because a loop may absorb it many times."""

ELEMENT, ENTRY = 5, 8
"""Units of comparing one element of a list, and one entry of a map, besides their values."""


def equal_at(meter: Meter, site: int, left: Any, right: Any, depth: int = 0) -> bool:
    """Return `left == right`, paying for the length of values."""
    kind, other = left.__class__, right.__class__
    if kind is other and kind in _SAME_KIND:
        if (kind is str or kind is bytes) and len(left) == len(right) and len(left) > FREE_LENGTH:
            spend(meter, site, len(left) // 8)
        return bool(left == right)
    if kind is list or isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        _pay_for_parts(meter, site, ELEMENT + 2 * len(left), depth)
        for element, counterpart in zip(left, right, strict=True):
            kind = element.__class__
            if kind is counterpart.__class__ and kind in _SHORT_KIND:
                if element != counterpart:
                    return False
                continue
            spend(meter, site, ELEMENT)
            if not equal_at(meter, site, element, counterpart, depth + 1):
                return False
        return True
    if kind is dict or isinstance(left, Mapping):
        return isinstance(right, Mapping) and _equal_maps(meter, site, left, right, depth)
    if isinstance(left, (datetime, timedelta)):
        kind = datetime if isinstance(left, datetime) else timedelta
        if not isinstance(right, kind):
            return False
        _pay_if_precise(meter, site, left, right)
        return bool(left == right)
    if isinstance(left, OptionalValue):
        if not isinstance(right, OptionalValue) or left.present != right.present:
            return False
        _pay_for_parts(meter, site, ELEMENT, depth)
        return not left.present or equal_at(meter, site, left.value, right.value, depth + 1)
    if kind is other and kind not in _SAME_KIND:
        spend(meter, site, PRECISE)
        return bool(left == right)
    return kind in _NUMBERS and other in _NUMBERS and _order_numbers(left, right) == 0


def _pay_for_parts(meter: Meter, site: int, units: int, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise EvaluationError("a value is nested too deep to be compared")
    spend(meter, site, units)


def _pay_if_precise(meter: Meter, site: int, left: Any, right: Any) -> None:
    if left.__class__ in _PRECISE or right.__class__ in _PRECISE:
        spend(meter, site, PRECISE)


def _equal_maps(meter: Meter, site: int, left: Mapping[Any, Any], right: Mapping[Any, Any], depth: int) -> bool:
    if len(left) != len(right):
        return False
    _pay_for_parts(meter, site, ENTRY + ENTRY * len(left), depth)
    for key, value in left.items():
        other = find(right, key, _ABSENT)
        if other is _ABSENT or not equal_at(meter, site, value, other, depth + 1):
            return False
    return True


def different_at(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Return `left != right`, paying for the length of values."""
    return not equal_at(meter, site, left, right)


def _order_numbers(left: Any, right: Any) -> int | None:
    """Return -1, 0 or 1; None if one is NaN."""
    if left != left or right != right:
        return None
    if left.__class__ is float and right.__class__ is not float:
        limit, low = (_UINT_LIMIT, 0.0) if right.__class__ is UInt else (_INT_LIMIT, -_INT_LIMIT)
        if left < low or left > limit:
            return -1 if left < low else 1
        right = float(right)
    elif right.__class__ is float and left.__class__ is not float:
        reverse = _order_numbers(right, left)
        return None if reverse is None else -reverse
    return bool(left > right) - bool(left < right)


def _order(meter: Meter, site: int, function: str, left: Any, right: Any) -> int | None:
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        return _order_numbers(left, right)
    if kind is other and (kind is str or kind is bytes or kind is bool):
        return bool(left > right) - bool(left < right)
    spend(meter, site, FAILING)
    raise no_overload(function, left, right)


_PLAIN = frozenset({int, float})


def _pay_for_order(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Pay for comparing two values; return whether Python orders them as CEL does."""
    kind = left.__class__
    if kind is right.__class__:
        if kind in _PLAIN:
            return True
        if kind is str:
            shorter = min(len(left), len(right))
            if shorter > FREE_LENGTH:
                spend(meter, site, shorter // 8)
            return True
        if kind is bytes and len(left) > FREE_LENGTH:
            spend(meter, site, len(left) // 8)
    if kind in _SAME_KIND:
        return False
    if isinstance(left, datetime):
        temporal = isinstance(right, datetime)
    else:
        temporal = isinstance(left, timedelta) and isinstance(right, timedelta)
    if temporal:
        _pay_if_precise(meter, site, left, right)
    return temporal


def less(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Return `left < right`, paying for the length of values."""
    if _pay_for_order(meter, site, left, right):
        return bool(left < right)
    order = _order(meter, site, "_<_", left, right)
    return order is not None and order < 0


def less_equal(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Return `left <= right`, paying for the length of values."""
    if _pay_for_order(meter, site, left, right):
        return bool(left <= right)
    order = _order(meter, site, "_<=_", left, right)
    return order is not None and order <= 0


def greater(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Return `left > right`, paying for the length of values."""
    if _pay_for_order(meter, site, left, right):
        return bool(left > right)
    order = _order(meter, site, "_>_", left, right)
    return order is not None and order > 0


def greater_equal(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Return `left >= right`, paying for the length of values."""
    if _pay_for_order(meter, site, left, right):
        return bool(left >= right)
    order = _order(meter, site, "_>=_", left, right)
    return order is not None and order >= 0


def contains_at(meter: Meter, site: int, item: Any, container: Any) -> bool:
    """Return `item in container`: an element of a list, or a key of a map. Pays for the length of a list."""
    if isinstance(container, list):
        kind = item.__class__
        if kind is str and len(item) <= _LONG_ITEM:
            spend(meter, site, len(container) // 2)
            return item in container
        if kind is int and -_EXACT < item < _EXACT:
            spend(meter, site, len(container) // 2)
            if item not in container:  # Python finds more than CEL does (true is 1), never less
                return False
        spend(meter, site, 2 * ELEMENT * len(container))
        return any(equal_at(meter, site, item, element) for element in container)
    if isinstance(container, Mapping):
        return find(container, item, _ABSENT) is not _ABSENT
    raise no_overload("@in", item, container)


_LONG_ITEM = 512
"""Texts longer than this are compared one by one, and each is paid for."""
