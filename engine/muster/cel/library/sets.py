"""Lists taken as sets."""

from collections.abc import Mapping
from typing import Any

from muster.cel.library.registry import Function, metered
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.comparison import ELEMENT, contains_at
from muster.cel.runtime.describe import no_overload


def _lists(function: str, left: Any, right: Any) -> None:
    if not isinstance(left, list) or not isinstance(right, list):
        raise no_overload(function, left, right)


def holds(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.contains(a, b)`: whether all of b is in a."""
    _lists("sets.contains", left, right)
    spend(meter, site, ELEMENT * len(right))
    return all(contains_at(meter, site, item, left) for item in right)


def equivalent(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.equivalent(a, b)`: whether each is in the other."""
    return holds(meter, site, left, right) and holds(meter, site, right, left)


def intersects(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.intersects(a, b)`: whether they have something in common."""
    _lists("sets.intersects", left, right)
    spend(meter, site, ELEMENT * len(right))
    return any(contains_at(meter, site, item, left) for item in right)


FUNCTIONS: Mapping[str, Function] = {
    "sets.contains": metered(holds, 2, weight=8),
    "sets.equivalent": metered(equivalent, 2, weight=12),
    "sets.intersects": metered(intersects, 2, weight=8),
}
METHODS: Mapping[str, Function] = {}
