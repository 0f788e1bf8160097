"""Lists as sets."""

from typing import TYPE_CHECKING, Any

from muster.cel.declarations import TimeUse
from muster.cel.library.registry import Library
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.comparison import ELEMENT, contains_at
from muster.cel.runtime.describe import no_overload

if TYPE_CHECKING:
    from muster.cel.extent import IntRange
    from muster.cel.library.arguments import CallArguments

LIBRARY = Library("sets")


def _lists(function: str, left: Any, right: Any) -> None:
    if not isinstance(left, list) or not isinstance(right, list):
        raise no_overload(function, left, right)


def _pairs(args: "CallArguments") -> "IntRange":
    left, right = args.items(0), args.items(1)
    pairs = left * right * (2 * ELEMENT + 1 + (args.element_compared(0) | args.element_compared(1)))
    return ((left + right) * ELEMENT + pairs + pairs).or_nothing


@LIBRARY.metered(
    "list_sets_contains_list  sets.contains  (list(A), list(A)) -> bool",
    weight=8,
    moving=TimeUse.COMPARED,
    grows=_pairs,
)
def holds(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.contains(a, b)`: whether a contains all elements of b."""
    _lists("sets.contains", left, right)
    spend(meter, site, ELEMENT * len(right))
    return all(contains_at(meter, site, item, left) for item in right)


@LIBRARY.metered(
    "list_sets_equivalent_list  sets.equivalent  (list(A), list(A)) -> bool",
    weight=12,
    moving=TimeUse.COMPARED,
    grows=_pairs,
)
def equivalent(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.equivalent(a, b)`: whether each contains all elements of the other."""
    return holds(meter, site, left, right) and holds(meter, site, right, left)


@LIBRARY.metered(
    "list_sets_intersects_list  sets.intersects  (list(A), list(A)) -> bool",
    weight=8,
    moving=TimeUse.COMPARED,
    grows=_pairs,
)
def intersects(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.intersects(a, b)`: whether they have an element in common."""
    _lists("sets.intersects", left, right)
    spend(meter, site, ELEMENT * len(right))
    return any(contains_at(meter, site, item, left) for item in right)
