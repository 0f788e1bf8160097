"""Lists: the lists extension, and what Kubernetes adds (`sum`, `min`, `max`, `isSorted`, `indexOf`)."""

from collections.abc import Iterable
from datetime import timedelta
from functools import cmp_to_key
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from muster.cel.declarations import TimeUse
from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library, element_of, part_of, walk
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.comparison import ELEMENT, FAILING, contains_at, equal_at, greater, less
from muster.cel.runtime.describe import no_overload, type_name
from muster.cel.runtime.numbers import MAX_ITEMS, add, pay_for_items
from muster.cel.runtime.selection import NONE, OptionalValue
from muster.cel.types import BOOL, DYN, ListType, StringType, bare, is_dyn
from muster.cel.values import UInt

if TYPE_CHECKING:
    from muster.cel.extent import Extent, IntRange
    from muster.cel.library.arguments import CallArguments

LIBRARY = Library("lists")

_SUMMABLE = ("int", "uint", "double", "duration")
_ORDERED = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")
"""Types with a total order: lists of them have `isSorted`, `min` and `max`."""

_EXACT = 2**53


def _list(function: str, value: Any, *others: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    raise no_overload(function, value, *others)


def scan(args: "CallArguments") -> "IntRange":
    """Return the units of comparing every element of a list."""
    return (args.items(0) * (ELEMENT + args.element_compared(0))).or_nothing


def index_of(meter: Meter, site: int, items: list[Any], item: Any, *rest: Any) -> int:
    """`list.indexOf(item)`: the first place, or -1."""
    if rest:
        raise no_overload("indexOf", items, item, *rest)
    spend(meter, site, ELEMENT * len(items))
    return next((position for position, element in enumerate(items) if equal_at(meter, site, element, item)), -1)


def last_index_of(meter: Meter, site: int, items: list[Any], item: Any, *rest: Any) -> int:
    """`list.lastIndexOf(item)`: the last place, or -1."""
    if rest:
        raise no_overload("lastIndexOf", items, item, *rest)
    spend(meter, site, ELEMENT * len(items))
    backwards = range(len(items) - 1, -1, -1)
    return next((position for position in backwards if equal_at(meter, site, items[position], item)), -1)


def _distinct_cost(args: "CallArguments") -> "IntRange":
    items, compared = args.items(0), args.element_compared(0)
    linear = items * (IDENTITY + compared * 4)
    element_type = bare(args.element(0).type(0)) if args.listed(0) else None
    if isinstance(element_type, StringType) or element_type == BOOL:
        return linear.or_nothing
    return (linear + items * items * (2 * ELEMENT + compared)).or_nothing


@LIBRARY.metered(
    "list_distinct  distinct  list(A).() -> list(A)",
    weight=8,
    moving=TimeUse.COMPARED,
    grows=_distinct_cost,
    gives=part_of,
)
def distinct(meter: Meter, site: int, items: Any) -> list[Any]:
    """`list.distinct()`: without duplicates, in the order of first appearance."""
    distinct_items: list[Any] = []
    identities: set[Any] = set()
    others: list[Any] = []
    for item in _list("distinct", items):
        spend(meter, site, IDENTITY)
        parts: list[str] = []
        if not _identify(meter, site, item, parts, 0):
            # A value without an identity can only equal another value without one.
            if contains_at(meter, site, item, others):
                continue
            others.append(item)
        else:
            identity = parts[0] if len(parts) == 1 else "".join(parts)
            if identity in identities:
                continue
            identities.add(identity)
        distinct_items.append(item)
    return distinct_items


IDENTITY = 16
"""Units of computing an element's identity, besides its length."""
_DEEPEST = 100


def _identify(meter: Meter, site: int, value: Any, parts: list[str], depth: int) -> bool:
    """Add the parts of a text that is the same for equal values only; return False if there is no such text.

    It is a text because hashes of numbers and tuples can be made to collide, and those of texts cannot.
    """
    kind = value.__class__
    if kind is str:
        spend(meter, site, len(value) // 8)
        parts.append(f"s{len(value)}:{value}" if depth else "s" + value)
    elif kind is bytes:
        spend(meter, site, len(value) // 4)
        parts.append(f"b{value.hex()};")
    elif kind is bool or value is None:
        parts.append(f"{value};")
    elif kind in (int, float, UInt):
        if not -_EXACT < value < _EXACT:
            return False
        parts.append(f"{int(value)};" if value == int(value) else f"{value!r};")
    elif kind is list and depth < _DEEPEST:
        parts.append(f"l{len(value)}:")
        for part in value:
            spend(meter, site, IDENTITY)
            if not _identify(meter, site, part, parts, depth + 1):
                return False
    elif kind is dict and depth < _DEEPEST:
        return _identify_map(meter, site, value, parts, depth)
    else:
        return False
    return True


def _identify_map(meter: Meter, site: int, value: dict[Any, Any], parts: list[str], depth: int) -> bool:
    spend(meter, site, 2 * IDENTITY * len(value))
    if any(key.__class__ is not str for key in value):
        return False
    parts.append(f"m{len(value)}:")
    for key in sorted(value):
        spend(meter, site, len(key) // 8)
        parts.append(f"s{len(key)}:{key}")
        if not _identify(meter, site, value[key], parts, depth + 1):
            return False
    return True


def _flatten_cost(args: "CallArguments") -> "IntRange":
    inner = args.element(0).items(0) if args.extent(0).element is not None else args.unbounded(ListType(DYN)).items()
    return (args.items(0) * (6 + inner * 3) + 6).or_nothing


def _flat(args: "CallArguments") -> "Extent | None":
    whole, inner = args.extent(0), args.extent(0).element
    return None if inner is None else whole.sized((whole.items() * inner.items()).or_nothing, inner.element)


@LIBRARY.metered(
    "list_flatten      flatten  list(A).() -> list(dyn)",
    "list_flatten_int  flatten  list(A).(int) -> list(dyn)",
    weight=10,
    moving=TimeUse.CARRIED,
    grows=_flatten_cost,
    gives=_flat,
)
def flatten(meter: Meter, site: int, items: Any, depth: Any = 1) -> list[Any]:
    """`list.flatten()`, `list.flatten(depth)`: with inner lists replaced by their elements."""
    current = _list("flatten", items, depth)
    if depth.__class__ is not int:
        raise no_overload("flatten", items, depth)
    if depth < 0:
        raise EvaluationError("flatten() takes a depth that is not negative")
    for _ in range(depth):
        spend(meter, site, 2 * len(current))
        if not any(isinstance(item, list) for item in current):
            break
        flat: list[Any] = []
        for item in current:
            if isinstance(item, list):
                spend(meter, site, 1 + len(item) // 4 if len(flat) + len(item) <= MAX_ITEMS else meter[0] + 1)
                flat += item
            else:
                flat.append(item)
        current = flat
    return current


@LIBRARY.metered(
    "lists_range  lists.range  (int) -> list(int)",
    weight=8,
    grows=lambda args: args.counting(0).items().or_nothing,
    gives=lambda args: args.counting(0),
)
def range_(meter: Meter, site: int, count: Any) -> list[int]:
    """`lists.range(n)`: 0 to n - 1."""
    if count.__class__ is not int:
        raise no_overload("lists.range", count)
    spend(meter, site, max(count, 0) if count <= MAX_ITEMS else meter[0] + 1)
    return list(range(count))


@LIBRARY.metered(
    "list_slice  slice  list(A).(int, int) -> list(A)",
    weight=8,
    moving=TimeUse.CARRIED,
    grows=walk(4, 0),
    gives=part_of,
)
def slice_(meter: Meter, site: int, items: Any, start: Any, end: Any) -> list[Any]:
    """`list.slice(start, end)`: the elements from `start` to before `end`."""
    _list("slice", items, start, end)
    if start.__class__ is not int or end.__class__ is not int:
        raise no_overload("slice", items, start, end)
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes are not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    pay_for_items(meter, site, end - start)
    return list(items[start:end])


COMPARISON = 12
"""Units of one comparison in a sort."""


def _sort_cost(args: "CallArguments") -> "IntRange":
    items, order = args.items(0), args.element(len(args) - 1).ordered(0)
    comparisons = args.between(0, items.max * (items.max.bit_length() + 1))
    failing = args.between(0, FAILING)
    return (items * 4 + comparisons * (COMPARISON + order + order) + order + failing).or_nothing


@LIBRARY.metered(
    "list_sort  sort  list(A).() -> list(A)", weight=20, moving=TimeUse.COMPARED, grows=_sort_cost, gives=part_of
)
def sort(meter: Meter, site: int, items: Any) -> list[Any]:
    """`list.sort()`: the elements, all of one ordered type, in ascending order."""
    return sort_by_keys(meter, site, items, items)


@LIBRARY.metered(
    "list_sort_by_associated_keys  @sortByAssociatedKeys  list(A).(list(B)) -> list(A)",
    weight=20,
    moving=TimeUse.COMPARED,
    grows=_sort_cost,
    gives=part_of,
)
def sort_by_keys(meter: Meter, site: int, items: Any, keys: Any) -> list[Any]:
    """`list.sortBy(x, key)`: the elements in the order of their keys, which have one type."""
    _list("sort", items)
    spend(meter, site, 4 * len(items))
    if any(key.__class__ is not keys[0].__class__ and type_name(key) != type_name(keys[0]) for key in keys):
        raise EvaluationError("no such overload: elements to sort must have the same type")
    for key in keys[:1]:
        less(meter, site, key, key)

    def compare(left: int, right: int) -> int:
        spend(meter, site, COMPARISON)
        if less(meter, site, keys[left], keys[right]):
            return -1
        return 1 if greater(meter, site, keys[left], keys[right]) else 0

    places = sorted(range(len(items)), key=cmp_to_key(compare))
    return [items[place] for place in places]


def extreme_cost(args: "CallArguments") -> "IntRange":
    """Return the units of searching the least element of a list, or of all arguments."""
    if not args.listed(0) and not is_dyn(bare(args.type(0))):
        return args.between(0, len(args) * ELEMENT)
    compared = args.element_compared(0)
    return (args.items(0) * (ELEMENT + compared) + compared + args.between(0, FAILING)).or_nothing


def _each(types: Iterable[str], line: str) -> list[str]:
    return [line.replace("T", type_) for type_ in types]


@LIBRARY.metered(
    *_each(_ORDERED, "list_T_is_sorted_bool  isSorted  list(T).() -> bool"),
    weight=8,
    moving=TimeUse.COMPARED,
    grows=extreme_cost,
)
def is_sorted(meter: Meter, site: int, items: Any) -> bool:
    """`list.isSorted()`: whether no element is less than the one before it."""
    values = _list("isSorted", items)
    spend(meter, site, ELEMENT * len(values))
    return not any(greater(meter, site, left, right) for left, right in pairwise(values))


@LIBRARY.metered(
    *_each(_SUMMABLE, "list_T_sum_T  sum  list(T).() -> T"), weight=6, moving=TimeUse.CARRIED, grows=extreme_cost
)
def total(meter: Meter, site: int, items: Any) -> Any:
    """`list.sum()`: the sum of ints, uints, doubles or durations; 0 for an empty list."""
    values = _list("sum", items)
    spend(meter, site, ELEMENT * len(values))
    if not values:
        return 0
    result = values[0]
    if not isinstance(result, (int, float, timedelta)) or result.__class__ is bool:
        raise no_overload("sum", items)
    for value in values[1:]:
        result = add(meter, site, result, value)
    return result


@LIBRARY.metered(
    *_each(_ORDERED, "list_T_min_T  min  list(T).() -> T"),
    weight=8,
    moving=TimeUse.COMPARED,
    grows=extreme_cost,
    gives=element_of,
)
def minimum(meter: Meter, site: int, items: Any) -> Any:
    """`list.min()`: the least element of a list that is not empty."""
    return _extreme(meter, site, "min", items, less)


@LIBRARY.metered(
    *_each(_ORDERED, "list_T_max_T  max  list(T).() -> T"),
    weight=8,
    moving=TimeUse.COMPARED,
    grows=extreme_cost,
    gives=element_of,
)
def maximum(meter: Meter, site: int, items: Any) -> Any:
    """`list.max()`: the greatest element of a list that is not empty."""
    return _extreme(meter, site, "max", items, greater)


def _extreme(meter: Meter, site: int, function: str, items: Any, better: Any) -> Any:
    values = _list(function, items)
    if not values:
        raise EvaluationError(f"{function}() of an empty list")
    spend(meter, site, ELEMENT * len(values))
    result = values[0]
    better(meter, site, result, result)
    for value in values[1:]:
        if better(meter, site, value, result):
            result = value
    return result


@LIBRARY.plain("list_first  first  list(A).() -> optional_type(A)", weight=4, moving=TimeUse.CARRIED, gives=element_of)
def first(items: Any) -> OptionalValue:
    """`list.first()`: the first element as an optional."""
    values = _list("first", items)
    return OptionalValue(values[0], present=True) if values else NONE


@LIBRARY.plain("list_last  last  list(A).() -> optional_type(A)", weight=4, moving=TimeUse.CARRIED, gives=element_of)
def last(items: Any) -> OptionalValue:
    """`list.last()`: the last element as an optional."""
    values = _list("last", items)
    return OptionalValue(values[-1], present=True) if values else NONE
