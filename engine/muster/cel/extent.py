"""How large a value can get: the bounds of its schema, or defaults if there are none."""

import math
from typing import Final

from muster.cel.runtime.budget import PRECISE
from muster.cel.runtime.comparison import ELEMENT, ENTRY
from muster.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    INT,
    NULL,
    TIMESTAMP,
    UINT,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    OptionalType,
    StringType,
    Type,
    is_dyn,
)
from muster.dataclass import dataclass

#: Assumed items of a list or map without `maxItems` or `maxProperties`.
DEFAULT_ITEMS: Final = 1_000
#: Assumed characters of a string without `maxLength`.
DEFAULT_LENGTH: Final = 4_096
#: Larger numbers are cut to this one: far too much. It keeps products of nested loops small.
CEILING: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class IntRange:
    """A least and a most number, both included. Sums and products stop at the ceiling."""

    min: int
    max: int

    def __add__(self, other: "IntRange | int") -> "IntRange":
        least, most = _ends(other)
        return IntRange(min(self.min + least, CEILING), min(self.max + most, CEILING))

    def __mul__(self, other: "IntRange | int") -> "IntRange":
        least, most = _ends(other)
        return IntRange(min(self.min * least, CEILING), min(self.max * most, CEILING))

    __radd__, __rmul__ = __add__, __mul__

    def __or__(self, other: "IntRange") -> "IntRange":
        """Return the smallest range that covers both."""
        return IntRange(min(self.min, other.min), max(self.max, other.max))

    def scaled(self, factor: float) -> "IntRange":
        """Return the range times a factor, rounded up."""
        return IntRange(math.ceil(self.min * factor), min(math.ceil(self.max * factor), CEILING))

    @property
    def as_text(self) -> "IntRange":
        """The units of walking through that many characters."""
        return self.scaled(0.125)

    @property
    def or_nothing(self) -> "IntRange":
        """The range with 0 as its least number: for something that may not happen."""
        return IntRange(0, self.max)


def _ends(number: IntRange | int) -> tuple[int, int]:
    return (number, number) if isinstance(number, int) else (number.min, number.max)


ZERO: Final = IntRange(0, 0)
ONE: Final = IntRange(1, 1)


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of one value: characters of a text, items of a list or a map; 1 for a scalar.

    `most` is None if not even the type of the value is known. `assumed` is true if nothing bounds the size, so that it
    is a default; then `path` names, for messages, what needs a bound. `element` and `key` are the extents of the items
    of a list or map; None if unknown.
    """

    least: int = 0
    most: int | None = 1
    path: str = ""
    element: "Extent | None" = None
    key: "Extent | None" = None
    assumed: bool = False
    scalar: bool = False

    def items(self) -> IntRange:
        """Return the number of items in a loop over the value."""
        return self._range(DEFAULT_ITEMS)

    def length(self) -> IntRange:
        """Return the number of characters of the value."""
        return self._range(DEFAULT_LENGTH)

    def _range(self, default: int) -> IntRange:
        most = min(default if self.most is None else self.most, CEILING)
        return IntRange(min(self.least, most), most)

    def __or__(self, other: "Extent") -> "Extent":
        """Return the smallest extent that covers both values."""
        most = None if self.most is None or other.most is None else max(self.most, other.most)
        element, key = _union(self.element, other.element), _union(self.key, other.key)
        blamed = self if self.assumed else other
        least = min(self.least, other.least)
        scalar = self.scalar and other.scalar
        return Extent(least, most, blamed.path, element, key, self.assumed or other.assumed, scalar)

    def __add__(self, other: "Extent") -> "Extent":
        """Return the extent of the two values joined."""
        size = self.length() + other.length()
        blamed = self if self.assumed else other
        element = _union(self.element, other.element)
        return Extent(size.min, size.max, blamed.path, element, None, self.assumed or other.assumed)

    @property
    def part(self) -> "Extent":
        """The extent of any part of the value."""
        return Extent(0, self.most, self.path, self.element, self.key, self.assumed)

    def sized(self, size: IntRange, element: "Extent | None" = None) -> "Extent":
        """Return the extent of a value of another size that is made from this one."""
        return Extent(size.min, size.max, self.path, element, None, self.assumed)


def _union(extent: Extent | None, other: Extent | None) -> Extent | None:
    return extent | other if extent is not None and other is not None else extent or other


SCALAR: Final = Extent(1, 1, scalar=True)


def bounded(
    most: int | None, default: int, path: str, element: Extent | None = None, key: Extent | None = None
) -> Extent:
    """Return an extent with a schema's bound, or with the default if there is none."""
    return Extent(0, default if most is None else most, path, element, key, most is None)


def extent_of(type_: Type, path: str) -> Extent:
    """Return the extent of a value of the type; `path` is its name in messages."""
    match type_:
        case NullableType() | OptionalType():
            return extent_of(type_.element, path)
        case StringType(values=tuple() as values) if values:
            return Extent(min(map(len, values)), max(map(len, values)), path)
        case StringType():
            return bounded(type_.max_length, DEFAULT_LENGTH, path)
        case ListType():
            return bounded(type_.max_items, DEFAULT_ITEMS, path, extent_of(type_.element, f"{path}[]"))
        case MapType():
            key = extent_of(type_.key, f"the keys of {path}")
            return bounded(type_.max_items, DEFAULT_ITEMS, path, extent_of(type_.value, f"{path}[]"), key)
        case ObjectType(additional=None):
            longest = max(map(len, type_.fields), default=0)
            return Extent(0, len(type_.fields), path, None, Extent(0, longest))
        case ObjectType():
            key = bounded(None, DEFAULT_LENGTH, f"the keys of {path}")
            return bounded(None, DEFAULT_ITEMS, path, None, key)
        case _ if is_dyn(type_):
            return Extent(0, None, path, assumed=True)
        case _ if type_ == BYTES:
            return bounded(None, DEFAULT_LENGTH, path)
        case _:
            return SCALAR


def weight(type_: Type, extent: Extent) -> IntRange:
    """Return the units of comparing a value with another by `==`: for each part, and each eight characters of text."""
    match type_:
        case NullableType() | OptionalType():
            return weight(type_.element, extent) + IntRange(0, ELEMENT)
        case StringType():
            return extent.length().as_text | ONE
        case ListType():
            inner = extent.element or extent_of(type_.element, extent.path)
            per_part = IntRange(2, 2 + ELEMENT) + weight(type_.element, inner)
            return (IntRange(ELEMENT, ELEMENT) + extent.items() * per_part).or_nothing
        case MapType():
            value, key = extent.element or extent_of(type_.value, extent.path), extent.key or SCALAR
            per_part = IntRange(ENTRY, ENTRY) + weight(type_.value, value) + weight(type_.key, key)
            return (IntRange(ENTRY, ENTRY) + extent.items() * per_part).or_nothing
        case ObjectType():
            per_part = IntRange(ENTRY, ENTRY)
            for field in type_.fields.values():
                per_part = per_part + IntRange(ENTRY, ENTRY) + weight(field.type, extent_of(field.type, extent.path))
            return (per_part if type_.additional is None else per_part + IntRange(0, ENTRY * DEFAULT_ITEMS)).or_nothing
        case _ if is_dyn(type_) and extent.element is not None:
            per_part = IntRange(ENTRY, ENTRY) + (weight(type_, extent.element) | ONE)
            return (IntRange(ENTRY, ENTRY) + extent.length() * per_part).or_nothing
        case _ if is_dyn(type_) or type_ == BYTES:
            return extent.length().as_text | IntRange(1, PRECISE)
        case _ if type_ in _BASIC:
            return ONE
        case _:
            return IntRange(1, PRECISE)


_BASIC: Final = frozenset({INT, UINT, DOUBLE, BOOL, NULL})


def may_be_precise(type_: Type) -> bool:
    """Return whether a value may be an instant or a duration: operations on those may cost more."""
    kind = type_.element if isinstance(type_, NullableType | OptionalType) else type_
    return kind in (TIMESTAMP, DURATION) or is_dyn(kind)
