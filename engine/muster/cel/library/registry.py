"""How a function is found by name. What each takes and gives is declared in `muster.cel.declarations`.

An implementation takes plain values, and raises EvaluationError where it has none to return. Its *weight* is what a
call costs with arguments of ordinary size (`runtime.budget` says what a unit is). A *metered* one may do work that this
does not cover (it builds long values, or loops): it gets the meter and the call's offset first, and pays before it
works.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.numbers import FREE_LENGTH

_MODULES = (
    "standard", "calendar", "strings", "lists", "mathematics", "sets", "optionals", "encoders", "regexes",
    "network", "quantity", "semver", "urls",
)  # fmt: skip

_LONG = (str, bytes, list, dict)


@dataclass(frozen=True, slots=True)
class Function:
    """An implementation, the numbers of arguments it takes (the receiver counts), what a call costs in units, and
    whether it is metered besides."""

    call: Callable[..., Any]
    arities: frozenset[int] | None
    weight: int
    metered: bool = False

    def accepts(self, count: int) -> bool:
        """Return whether it can be called with that many arguments."""
        return self.arities is None or count in self.arities


def plain(call: Callable[..., Any], *arities: int, weight: int = 4) -> Function:
    """Return a function whose work does not grow with its arguments; no arities means any number."""
    return Function(call, frozenset(arities) or None, weight)


def metered(call: Callable[..., Any], *arities: int, weight: int = 4) -> Function:
    """Return a function that pays for its work itself, beyond its weight."""
    return Function(call, frozenset(arities) or None, weight, metered=True)


def linear(call: Callable[..., Any], *arities: int, weight: int = 4, stride: int = 8) -> Function:
    """Return a function that walks through its arguments: it pays a unit per `stride` items of long ones."""

    def paying(meter: Meter, site: int, *args: Any) -> Any:
        length = 0
        for arg in args:
            if isinstance(arg, _LONG):
                length += len(arg)
        if length > FREE_LENGTH:
            spend(meter, site, length // stride)
        return call(*args)

    return Function(paying, frozenset(arities) or None, weight, metered=True)


@cache
def table() -> Mapping[tuple[str, bool], Function]:
    """Return all functions by (name, whether it is called on a receiver)."""
    found: dict[tuple[str, bool], Function] = {}
    for name in _MODULES:
        module = import_module(f"muster.cel.library.{name}")
        found |= {(function, False): entry for function, entry in module.FUNCTIONS.items()}
        found |= {(method, True): entry for method, entry in module.METHODS.items()}
    return found


def lookup(name: str, *, member: bool) -> Function | None:
    """Return the implementation of `name(...)` or `x.name(...)`, None where there is none."""
    return table().get((name, member))
