"""The arguments of a call at compile time: their types, sizes and literals.

From these a function computes the highest cost of a call, and the size of its result.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from muster.cel.extent import DEFAULT_ITEMS, ONE, SCALAR, ZERO, Extent, IntRange, extent_of, may_be_precise, weight
from muster.cel.runtime.budget import PRECISE
from muster.cel.types import DYN, ListType, Type, bare, is_dyn
from muster.dataclass import dataclass

Argument: TypeAlias = tuple[Type, Extent]


@dataclass(slots=True)
class PatternBudget:
    """The steps that are left for compiling literal patterns, to know their size."""

    left: int = 400_000


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The types and extents of a call's arguments, and its literals by position. `path` is its name in messages."""

    arguments: list[Argument]
    literals: Mapping[int, object]
    patterns: PatternBudget
    path: str

    def __len__(self) -> int:
        return len(self.arguments)

    def type(self, position: int) -> Type:
        """The type of an argument."""
        return self.arguments[position][0]

    def extent(self, position: int) -> Extent:
        """The extent of an argument."""
        return self.arguments[position][1]

    def length(self, position: int) -> IntRange:
        """The number of characters of an argument, or of elements if it is a list."""
        return self.extent(position).length()

    def items(self, position: int) -> IntRange:
        """The number of elements of an argument."""
        return self.extent(position).items()

    def listed(self, position: int) -> bool:
        """Whether an argument is certainly a list."""
        return isinstance(bare(self.type(position)), ListType)

    def unknown(self, position: int) -> bool:
        """Whether the type of an argument is unknown."""
        return is_dyn(self.type(position))

    def element(self, position: int) -> "CallArguments":
        """The element of a list, as an argument."""
        type_, extent = self.arguments[position]
        plain = bare(type_)
        inner = plain.element if isinstance(plain, ListType) else DYN
        return replace(self, arguments=[(inner, extent.element or extent_of(inner, extent.path))])

    def compared(self, position: int) -> IntRange:
        """The units of comparing an argument with another value."""
        return weight(*self.arguments[position])

    def element_compared(self, position: int) -> IntRange:
        """The units of comparing one element of a list."""
        return self.element(position).compared(0) | ONE

    def ordered(self, position: int) -> IntRange:
        """The units of ordering an argument among other values."""
        extent = self.extent(position)
        text = ZERO if extent.scalar else extent.length().as_text
        return text | IntRange(0, PRECISE) if self.precise(position) else text

    def precise(self, position: int) -> bool:
        """Whether an argument may be an instant or a duration: operations on those may cost more."""
        return may_be_precise(self.type(position))

    def between(self, least: int, most: int) -> IntRange:
        """Any number from the least to the most."""
        return IntRange(least, most)

    @property
    def nothing(self) -> IntRange:
        """The range of zero units."""
        return ZERO

    def unbounded(self, type_: Type) -> Extent:
        """The extent of an unknown value of the type."""
        return extent_of(type_, "")

    def counting(self, position: int) -> Extent:
        """The extent of a list with as many scalars as a literal argument says."""
        count = self.literals.get(position)
        if isinstance(count, int):
            return Extent(max(count, 0), max(count, 0), "", SCALAR)
        return Extent(0, DEFAULT_ITEMS, self.path, SCALAR, assumed=True)
