"""Lists: the lists extension, and what Kubernetes adds (`sum`, `min`, `max`, `isSorted`, `indexOf`)."""

from collections.abc import Mapping
from datetime import timedelta
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Function, linear, metered, plain
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.comparison import equal, equal_at, greater, less
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.maps import NONE
from muster.cel.runtime.numbers import add
from muster.cel.values import Optional, UInt

_EXACT = 2**53


def _list(function: str, value: Any, *others: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise no_overload(function, value, *others)


def index_of(items: list[Any], item: Any, *rest: Any) -> int:
    """`list.indexOf(item)`: the first place, or -1."""
    if rest:
        raise no_overload("indexOf", items, item, *rest)
    return next((position for position, element in enumerate(items) if equal(element, item)), -1)


def last_index_of(items: list[Any], item: Any, *rest: Any) -> int:
    """`list.lastIndexOf(item)`: the last place, or -1."""
    if rest:
        raise no_overload("lastIndexOf", items, item, *rest)
    return next((position for position in range(len(items) - 1, -1, -1) if equal(items[position], item)), -1)


def distinct(meter: Meter, site: int, items: Any) -> list[Any]:
    """`list.distinct()`: without repetitions, in the order of first appearance."""
    found: list[Any] = []
    identities: set[Any] = set()
    others: list[Any] = []
    for item in _list("distinct", items):
        identity = _identity(meter, site, item)
        if identity is None:
            spend(meter, site, 2 * len(others) + 1)
            if any(equal_at(meter, site, item, other) for other in found):
                continue
            others.append(item)
        elif identity in identities:
            continue
        else:
            identities.add(identity)
        found.append(item)
    return found


def _identity(meter: Meter, site: int, value: Any) -> Any:
    """Return what is equal for equal values and can be looked up; None where only comparing tells."""
    kind = value.__class__
    if kind is str or kind is bytes:
        return value
    if kind is bool or value is None:
        return (kind, value)
    if kind in (int, float, UInt):
        return ("number", value) if -_EXACT < value < _EXACT else None
    if kind is list:
        spend(meter, site, len(value))
        parts = tuple(_identity(meter, site, part) for part in value)
        return None if None in parts else ("list", parts)
    if kind is dict and all(key.__class__ is str for key in value):
        spend(meter, site, len(value))
        entries = frozenset((key, _identity(meter, site, part)) for key, part in value.items())
        return None if any(part is None for _, part in entries) else ("map", entries)
    return None


def flatten(meter: Meter, site: int, items: Any, depth: Any = 1) -> list[Any]:
    """`list.flatten()`, `list.flatten(depth)`: with the elements of inner lists in their place."""
    current = _list("flatten", items, depth)
    if depth.__class__ is not int:
        raise no_overload("flatten", items, depth)
    if depth < 0:
        raise EvaluationError("flatten() takes a level that is not negative")
    for _ in range(depth):
        spend(meter, site, len(current))
        if not any(isinstance(item, list) for item in current):
            break
        flat: list[Any] = []
        for item in current:
            if isinstance(item, list):
                spend(meter, site, len(item))
                flat += item
            else:
                flat.append(item)
        current = flat
    return current


def range_(meter: Meter, site: int, count: Any) -> list[int]:
    """`lists.range(n)`: 0 to n - 1."""
    if count.__class__ is not int:
        raise no_overload("lists.range", count)
    spend(meter, site, max(count, 0))
    return list(range(count))


def slice_(items: Any, start: Any, end: Any) -> list[Any]:
    """`list.slice(start, end)`"""
    _list("slice", items, start, end)
    if start.__class__ is not int or end.__class__ is not int:
        raise no_overload("slice", items, start, end)
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes are not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


def _compare(left: Any, right: Any) -> int:
    if less(left, right):
        return -1
    return 1 if greater(left, right) else 0


def sort(meter: Meter, site: int, items: Any) -> list[Any]:
    """`list.sort()`: elements of one ordered type, ascending."""
    return sort_by_keys(meter, site, items, items)


def sort_by_keys(meter: Meter, site: int, items: Any, keys: Any) -> list[Any]:
    """What `list.sortBy(x, key)` becomes: the elements in the order of their keys, which are of one type."""
    _list("sort", items)
    spend(meter, site, len(items) * max(len(items).bit_length(), 1))
    if any(key.__class__ is not keys[0].__class__ for key in keys):
        raise EvaluationError("no such overload: elements to sort must have the same type")
    for key in keys[:1]:
        less(key, key)
    places = sorted(range(len(items)), key=cmp_to_key(lambda left, right: _compare(keys[left], keys[right])))
    return [items[place] for place in places]


def is_sorted(items: Any) -> bool:
    """`list.isSorted()`"""
    values = _list("isSorted", items)
    return not any(greater(left, right) for left, right in pairwise(values))


def total(meter: Meter, site: int, items: Any) -> Any:
    """`list.sum()`: of ints, uints, doubles or durations; 0 for an empty list."""
    values = _list("sum", items)
    spend(meter, site, len(values) // 8)
    if not values:
        return 0
    result = values[0]
    if not isinstance(result, (int, float, timedelta)) or result.__class__ is bool:
        raise no_overload("sum", items)
    for value in values[1:]:
        result = add(meter, site, result, value)
    return result


def minimum(items: Any) -> Any:
    """`list.min()`: the least element of a list that is not empty."""
    return _extreme("min", items, less)


def maximum(items: Any) -> Any:
    """`list.max()`: the greatest element of a list that is not empty."""
    return _extreme("max", items, greater)


def _extreme(function: str, items: Any, better: Any) -> Any:
    values = _list(function, items)
    if not values:
        raise EvaluationError(f"{function}() of an empty list")
    result = values[0]
    better(result, result)
    for value in values[1:]:
        if better(value, result):
            result = value
    return result


def first(items: Any) -> Optional:
    """`list.first()`, as an optional."""
    values = _list("first", items)
    return Optional(values[0], present=True) if values else NONE


def last(items: Any) -> Optional:
    """`list.last()`, as an optional."""
    values = _list("last", items)
    return Optional(values[-1], present=True) if values else NONE


FUNCTIONS: Mapping[str, Function] = {"lists.range": metered(range_, 1)}
METHODS: Mapping[str, Function] = {
    "distinct": metered(distinct, 1),
    "flatten": metered(flatten, 1, 2),
    "slice": linear(slice_, 3),
    "sort": metered(sort, 1),
    "@sortByAssociatedKeys": metered(sort_by_keys, 2),
    "isSorted": linear(is_sorted, 1),
    "sum": metered(total, 1),
    "min": linear(minimum, 1),
    "max": linear(maximum, 1),
    "first": plain(first, 1),
    "last": plain(last, 1),
}
