"""How large a value can get: what bounds in its schema say, and what is assumed where they say nothing."""

import math
from dataclasses import dataclass
from typing import Final

from muster.cel.types import (
    BYTES,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    OptionalType,
    StringType,
    Type,
    is_dyn,
)

#: Assumed of a list or map whose schema has no `maxItems` or `maxProperties`.
DEFAULT_ITEMS: Final = 1_000
#: Assumed of a string whose schema has no `maxLength`, in characters.
DEFAULT_LENGTH: Final = 4_096
#: Figures past this are all the same: far too much. Also what keeps products of nested loops small.
CEILING: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most of something, both included. Sums and products stop at the ceiling."""

    min: int
    max: int

    def __add__(self, other: "Range") -> "Range":
        return Range(min(self.min + other.min, CEILING), min(self.max + other.max, CEILING))

    def __mul__(self, other: "Range") -> "Range":
        return Range(min(self.min * other.min, CEILING), min(self.max * other.max, CEILING))

    def __or__(self, other: "Range") -> "Range":
        """Return what covers either."""
        return Range(min(self.min, other.min), max(self.max, other.max))

    def scaled(self, factor: float) -> "Range":
        """Return the range times a factor, rounded up."""
        return Range(math.ceil(self.min * factor), min(math.ceil(self.max * factor), CEILING))

    @property
    def or_nothing(self) -> "Range":
        """The range of something that may not happen at all."""
        return Range(0, self.max)


ZERO: Final = Range(0, 0)
ONE: Final = Range(1, 1)


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of one value: characters of a text, items of a list or a map; 1 for a scalar.

    `most` is None where nothing bounds it, and then `path` is how the value is called. `element` and `key` are
    the extents of a list's or map's items; None where nothing is known of them.
    """

    least: int = 0
    most: int | None = 1
    path: str = ""
    element: "Extent | None" = None
    key: "Extent | None" = None

    def items(self) -> Range:
        """Return how many items a loop over the value meets."""
        return self._range(DEFAULT_ITEMS)

    def length(self) -> Range:
        """Return how many characters the value has."""
        return self._range(DEFAULT_LENGTH)

    def _range(self, default: int) -> Range:
        most = default if self.most is None else self.most
        return Range(min(self.least, most), min(most, CEILING))

    def __or__(self, other: "Extent") -> "Extent":
        """Return what covers either value."""
        most = None if self.most is None or other.most is None else max(self.most, other.most)
        path = self.path if self.most is None else other.path if other.most is None else ""
        return Extent(
            min(self.least, other.least), most, path, _either(self.element, other.element), self.key or other.key
        )

    def __add__(self, other: "Extent") -> "Extent":
        """Return the extent of one value joined to the other."""
        most = None if self.most is None or other.most is None else min(self.most + other.most, CEILING)
        path = self.path if self.most is None else other.path
        least = min(self.least + other.least, CEILING)
        return Extent(least, most, path, _either(self.element, other.element))


def _either(one: Extent | None, other: Extent | None) -> Extent | None:
    return one | other if one is not None and other is not None else one or other


SCALAR: Final = Extent(1, 1)


def extent_of(type_: Type, path: str) -> Extent:
    """Return what the type says of the size of the value that messages call `path`."""
    match type_:
        case NullableType() | OptionalType():
            return extent_of(type_.element, path)
        case StringType(values=tuple() as values) if values:
            return Extent(min(map(len, values)), max(map(len, values)), path)
        case StringType():
            return Extent(0, type_.max_length, path)
        case ListType():
            return Extent(0, type_.max_items, path, extent_of(type_.element, f"{path}[]"))
        case MapType():
            key = extent_of(type_.key, f"the keys of {path}")
            return Extent(0, type_.max_items, path, extent_of(type_.value, f"{path}[]"), key)
        case ObjectType():
            named = len(type_.fields)
            longest = max(map(len, type_.fields), default=0)
            key = Extent(0, longest if type_.additional is None else None, f"the keys of {path}")
            return Extent(0, named if type_.additional is None else None, path, None, key)
        case _ if is_dyn(type_) or type_ == BYTES:
            return Extent(0, None, path)
        case _:
            return SCALAR


def weight(type_: Type, extent: Extent) -> Range:
    """Return how many units it takes to walk through a value once, as `==` does: one per part, text by eights."""
    match type_:
        case NullableType() | OptionalType():
            return weight(type_.element, extent)
        case StringType():
            return extent.length().scaled(0.125) | ONE
        case ListType():
            inner = extent.element or extent_of(type_.element, extent.path)
            return (ONE + extent.items() * weight(type_.element, inner)).or_nothing
        case MapType():
            value, key = extent.element or extent_of(type_.value, extent.path), extent.key or SCALAR
            each = weight(type_.value, value) + weight(type_.key, key)
            return (ONE + extent.items() * each).or_nothing
        case ObjectType():
            each = ONE
            for field in type_.fields.values():
                each = each + ONE + weight(field.type, extent_of(field.type, extent.path))
            return (each if type_.additional is None else each + Range(0, DEFAULT_ITEMS)).or_nothing
        case _ if is_dyn(type_) or type_ == BYTES:
            return extent.length().scaled(0.125) | ONE
        case _:
            return ONE
