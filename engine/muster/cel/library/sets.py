"""Lists taken as sets."""

from collections.abc import Mapping
from typing import Any

from muster.cel.library.registry import Function, metered
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.comparison import contains
from muster.cel.runtime.describe import no_overload


def _pay(meter: Meter, site: int, function: str, left: Any, right: Any) -> None:
    if not isinstance(left, list) or not isinstance(right, list):
        raise no_overload(function, left, right)
    spend(meter, site, len(left) * len(right))


def holds(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.contains(a, b)`: whether all of b is in a."""
    _pay(meter, site, "sets.contains", left, right)
    return all(contains(item, left) for item in right)


def equivalent(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.equivalent(a, b)`: whether each is in the other."""
    return holds(meter, site, left, right) and holds(meter, site, right, left)


def intersects(meter: Meter, site: int, left: Any, right: Any) -> bool:
    """`sets.intersects(a, b)`: whether they have something in common."""
    _pay(meter, site, "sets.intersects", left, right)
    return any(contains(item, left) for item in right)


FUNCTIONS: Mapping[str, Function] = {
    "sets.contains": metered(holds, 2),
    "sets.equivalent": metered(equivalent, 2),
    "sets.intersects": metered(intersects, 2),
}
METHODS: Mapping[str, Function] = {}
