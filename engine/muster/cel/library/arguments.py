"""The arguments of a call before there are any: what the types and the texts of an expression say of their sizes.

From this a function says what a call costs at the most, and how large its result is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from muster.cel.extent import DEFAULT_ITEMS, ONE, SCALAR, ZERO, Extent, IntRange, extent_of, may_be_precise, weight
from muster.cel.runtime.budget import PRECISE
from muster.cel.types import DYN, ListType, Type, bare, is_dyn

Argument: TypeAlias = tuple[Type, Extent]


@dataclass(slots=True)
class PatternBudget:
    """Patterns that are written out are compiled to know their size, while that takes little: `left` steps in all."""

    left: int = 400_000


@dataclass(frozen=True, slots=True)
class CallArguments:
    """The arguments of a call, their types and extents; and those that are written out as literals, by position.

    `path` is how messages call the result.
    """

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
        """How many characters an argument has; of a list that may stand there as well, how many elements."""
        return self.extent(position).length()

    def items(self, position: int) -> IntRange:
        """How many elements an argument has."""
        return self.extent(position).items()

    def listed(self, position: int) -> bool:
        """Whether an argument is certainly a list."""
        return isinstance(bare(self.type(position)), ListType)

    def unknown(self, position: int) -> bool:
        """Whether nothing is known of an argument's type."""
        return is_dyn(self.type(position))

    def element(self, position: int) -> "CallArguments":
        """The element of a list, as an argument."""
        type_, extent = self.arguments[position]
        plain = bare(type_)
        inner = plain.element if isinstance(plain, ListType) else DYN
        return replace(self, arguments=[(inner, extent.element or extent_of(inner, extent.path))])

    def compared(self, position: int) -> IntRange:
        """What it takes to compare an argument with another value."""
        return weight(*self.arguments[position])

    def element_compared(self, position: int) -> IntRange:
        """What it takes to compare one element of a list."""
        return self.element(position).compared(0) | ONE

    def ordered(self, position: int) -> IntRange:
        """What it takes to order an argument among other values."""
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
        """No units."""
        return ZERO

    def unbounded(self, type_: Type) -> Extent:
        """A value of the type of which nothing is known."""
        return extent_of(type_, "")

    def counting(self, position: int) -> Extent:
        """A list of as many scalars as an argument says, where it is written out."""
        count = self.literals.get(position)
        if isinstance(count, int):
            return Extent(max(count, 0), max(count, 0), "", SCALAR)
        return Extent(0, DEFAULT_ITEMS, self.path, SCALAR, assumed=True)
