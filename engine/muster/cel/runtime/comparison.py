"""Equality and order.

Equality is defined between any two values: numbers compare by value across types, everything else of different types is
unequal. Order is defined within a type and across numeric types. An integer that is compared with a double is converted
first, with the loss that brings near 2^63, as the language definition has it.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from muster.cel.runtime.budget import FREE, Meter, spend
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.maps import find
from muster.cel.runtime.numbers import FREE_LENGTH
from muster.cel.values import Optional, UInt

_ABSENT = object()
_INT_LIMIT = 2.0**63
_UINT_LIMIT = 2.0**64
_SAME_KIND = frozenset({str, bytes, float, bool, type(None), int, UInt})
_SHORT_KIND = _SAME_KIND - {str, bytes}
_EXACT = 2**53
_NUMBERS = frozenset({int, float, UInt})


def equal(left: Any, right: Any) -> bool:
    """Return `left == right`."""
    kind, other = left.__class__, right.__class__
    if kind is other and kind in _SAME_KIND:
        return bool(left == right)
    if kind in _NUMBERS:
        return other in _NUMBERS and _order_numbers(left, right) == 0
    if kind is str or other is str or other in _NUMBERS or kind is bool or other is bool:
        return False
    return equal_at([FREE], 0, left, right)


def equal_at(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Return `left == right`, paying for what has a length."""
    kind, other = left.__class__, right.__class__
    if kind is other and kind in _SAME_KIND:
        if (kind is str or kind is bytes) and len(left) == len(right) and len(left) > FREE_LENGTH:
            spend(meter, site, len(left) // 8)
        return bool(left == right)
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        spend(meter, site, len(left))
        for one, two in zip(left, right, strict=True):
            kind = one.__class__
            if kind is two.__class__ and kind in _SHORT_KIND:
                if one != two:
                    return False
            elif not equal_at(meter, site, one, two):
                return False
        return True
    if isinstance(left, Mapping):
        return isinstance(right, Mapping) and _equal_maps(meter, site, left, right)
    if isinstance(left, (datetime, timedelta)):
        kind = datetime if isinstance(left, datetime) else timedelta
        return isinstance(right, kind) and bool(left == right)
    if isinstance(left, Optional):
        if not isinstance(right, Optional) or left.present != right.present:
            return False
        return not left.present or equal_at(meter, site, left.value, right.value)
    if kind is other and kind not in _SAME_KIND:
        return bool(left == right)
    return kind in _NUMBERS and other in _NUMBERS and _order_numbers(left, right) == 0


def _equal_maps(meter: Meter, site: int, left: Mapping[Any, Any], right: Mapping[Any, Any]) -> bool:
    if len(left) != len(right):
        return False
    spend(meter, site, len(left))
    for key, value in left.items():
        other = find(right, key, _ABSENT)
        if other is _ABSENT or not equal_at(meter, site, value, other):
            return False
    return True


def different_at(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """Return `left != right`, paying for what has a length."""
    return not equal_at(meter, site, left, right)


def _order_numbers(left: Any, right: Any) -> int | None:
    """Return -1, 0 or 1; None when one is NaN."""
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


def _order(function: str, left: Any, right: Any) -> int | None:
    kind, other = left.__class__, right.__class__
    if kind in _NUMBERS and other in _NUMBERS:
        return _order_numbers(left, right)
    if kind is other and (kind is str or kind is bytes or kind is bool):
        return bool(left > right) - bool(left < right)
    raise no_overload(function, left, right)


def _temporal(left: Any, right: Any) -> bool:
    if isinstance(left, datetime):
        return isinstance(right, datetime)
    return isinstance(left, timedelta) and isinstance(right, timedelta)


def less(left: Any, right: Any) -> bool:
    """Return `left < right`."""
    kind = left.__class__
    if (kind is right.__class__ and (kind is int or kind is str or kind is float)) or _temporal(left, right):
        return bool(left < right)
    order = _order("_<_", left, right)
    return order is not None and order < 0


def less_equal(left: Any, right: Any) -> bool:
    """Return `left <= right`."""
    kind = left.__class__
    if (kind is right.__class__ and (kind is int or kind is str or kind is float)) or _temporal(left, right):
        return bool(left <= right)
    order = _order("_<=_", left, right)
    return order is not None and order <= 0


def greater(left: Any, right: Any) -> bool:
    """Return `left > right`."""
    kind = left.__class__
    if (kind is right.__class__ and (kind is int or kind is str or kind is float)) or _temporal(left, right):
        return bool(left > right)
    order = _order("_>_", left, right)
    return order is not None and order > 0


def greater_equal(left: Any, right: Any) -> bool:
    """Return `left >= right`."""
    kind = left.__class__
    if (kind is right.__class__ and (kind is int or kind is str or kind is float)) or _temporal(left, right):
        return bool(left >= right)
    order = _order("_>=_", left, right)
    return order is not None and order >= 0


def contains(item: Any, container: Any) -> bool:
    """Return `item in container`: an element of a list, or a key of a map."""
    return contains_at([FREE], 0, item, container)


def contains_at(meter: Meter, site: int, item: Any, container: Any) -> bool:
    """Return `item in container`, paying for the length of a list."""
    if isinstance(container, list):
        if item.__class__ is str:
            spend(meter, site, len(container) // 8)
            return item in container
        if item.__class__ is int and -_EXACT < item < _EXACT:
            spend(meter, site, len(container) // 8)
            if item not in container:  # Python finds more than CEL does (true is 1), never less
                return False
        spend(meter, site, len(container))
        return any(equal_at(meter, site, item, element) for element in container)
    if isinstance(container, Mapping):
        return find(container, item, _ABSENT) is not _ABSENT
    raise no_overload("@in", item, container)
