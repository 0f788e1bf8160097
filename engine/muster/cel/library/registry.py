"""One row per function: how it is called and what that gives, what a call costs, what does it, and a line on it.

Rows are written where a function is implemented, with a decorator of its module's `Library`:

    @LIBRARY.linear("string_trim  trim  string.() -> string", weight=6, gives=part_of)
    def trim(text: Any) -> str: ...

The lines declare the overloads, for the checker (`muster.cel.declarations` has their notation). `weight` is what a call
costs with arguments of ordinary size (`runtime.budget` says what a unit is). The docstring stands in the page of
functions. A row that lacks any of them is an error when its library is imported, and for mypy before that.

An implementation takes plain values, the receiver first, and raises EvaluationError where it has none to return. One
that does work which its weight does not cover (it builds long values, or loops) pays for that before it does it:

- a *plain* one does no such work;
- a *linear* one walks through its arguments, once: that is paid for here;
- a *metered* one gets the meter and the call's offset first, and pays itself. `grows` says how much at the most, before
  there are arguments, from what is known of them.

`gives` says how large the result is at the most, where the arguments bound it; else its type does.

`moving` says what becomes of a time or a duration that moves with `now` (`muster.cel.clock`), alone or inside lists,
maps and optionals. A row that may be given one declares it: a result that depends on it silently has no horizon.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from muster.cel.declarations import Functions, Overload, TimeUse, parse_overload
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.numbers import FREE_LENGTH

if TYPE_CHECKING:
    from muster.cel.extent import Extent, IntRange
    from muster.cel.library.arguments import CallArguments

    Growth: TypeAlias = Callable[[CallArguments], IntRange]
    Size: TypeAlias = Callable[[CallArguments], Extent | None]

Call = TypeVar("Call", bound=Callable[..., Any])

_OPERATORS = "operators"
_LIBRARIES = (
    "standard", "calendar", "strings", "lists", "sets", "mathematics", "optionals", "encoders", "regexes", "network",
    "quantity", "semver", "urls",
)  # fmt: skip
_LONG = (str, bytes, list, dict)
_CERTAIN = {"bool", "int", "uint", "double", "string", "bytes", "list", "timestamp", "duration"}
"""Kinds of values whose class says them: an optional or a quantity is nothing that generated code makes use of."""
_MAY_MOVE = re.compile(r"\b(timestamp|duration|dyn|[A-Z])\b")
"""Types whose values may move with `now`: a capital letter is any type."""


@dataclass(frozen=True, slots=True, eq=False)
class LibraryFunction:
    """A row. `call` takes the meter and an offset first where it is `metered`."""

    lines: tuple[str, ...]
    call: Callable[..., Any]
    doc: str
    weight: int
    gives: "Size | None"
    grows: "Growth | None" = None
    moving: TimeUse | None = None

    def __post_init__(self) -> None:
        """Refuse a row that is not whole."""
        if len({line.split(maxsplit=2)[1] for line in self.lines}) != 1:
            raise ValueError(f"no line, or lines of several functions: {self.lines}")
        if not self.doc and sys.flags.optimize < 2:  # which leaves docstrings out
            raise ValueError(f"{self.name}() has no documentation")
        if self.may_move != (self.moving is not None):
            does = "does not say what becomes of values" if self.may_move else "is not given values"
            raise ValueError(f"{self.name}() {does} that move with now: see TimeUse")

    @property
    def name(self) -> str:
        """The name, with the dots of its namespace."""
        return self.lines[0].split(maxsplit=2)[1]

    @property
    def may_move(self) -> bool:
        """Whether an argument may move with `now`, or have a part that does."""
        return any(_MAY_MOVE.search(line.split(maxsplit=2)[2].partition(" -> ")[0]) for line in self.lines)

    @property
    def metered(self) -> bool:
        """Whether the call pays for more than the weight."""
        return self.grows is not None

    @property
    def kind(self) -> str:
        """What the generator calls the class of every result, where there is one: `int`, `list`; else nothing."""
        kinds = {line.rpartition(" -> ")[2].partition("(")[0] for line in self.lines}
        return kinds.pop() if len(kinds) == 1 and kinds <= _CERTAIN else ""

    @property
    def overloads(self) -> tuple[Overload, ...]:
        """The ways to call it."""
        return _parsed(self.lines)

    def accepts(self, count: int) -> bool:
        """Return whether it can be called with that many arguments."""
        return any(overload.accepts_count(count) for overload in self.overloads)


@cache
def _parsed(lines: tuple[str, ...]) -> tuple[Overload, ...]:
    return tuple(map(parse_overload, lines))


class Library:
    """The functions of one module, in the order of their definition."""

    def __init__(self, title: str) -> None:
        """Begin without functions; the title is for the page of functions."""
        self.title = title
        self.functions: list[LibraryFunction] = []

    def plain(
        self,
        *lines: str,
        weight: int,
        gives: "Size | None" = None,
        moving: TimeUse | None = None,
        doc: str = "",
    ) -> Callable[[Call], Call]:
        """Add a function whose work does not grow with its arguments."""
        return self._adding(
            lambda call: LibraryFunction(lines, call, doc or call.__doc__ or "", weight, gives, moving=moving)
        )

    def metered(
        self,
        *lines: str,
        weight: int,
        grows: "Growth",
        gives: "Size | None" = None,
        moving: TimeUse | None = None,
        doc: str = "",
    ) -> Callable[[Call], Call]:
        """Add a function that pays for its work itself, beyond its weight: what `grows` says at the most."""
        return self._adding(
            lambda call: LibraryFunction(lines, call, doc or call.__doc__ or "", weight, gives, grows, moving)
        )

    def linear(
        self,
        *lines: str,
        weight: int,
        stride: int = 8,
        gives: "Size | None" = None,
        moving: TimeUse | None = None,
        doc: str = "",
    ) -> Callable[[Call], Call]:
        """Add a function that walks through its arguments: it pays a unit per `stride` items of long ones."""

        def row(call: Callable[..., Any]) -> LibraryFunction:
            paying = _paying(call, stride)
            return LibraryFunction(lines, paying, doc or call.__doc__ or "", weight, gives, walk(stride), moving)

        return self._adding(row)

    def _adding(self, row: Callable[[Callable[..., Any]], LibraryFunction]) -> Callable[[Call], Call]:
        def add(call: Call) -> Call:
            self.functions.append(row(call))
            return call

        return add


def _paying(call: Callable[..., Any], stride: int) -> Callable[..., Any]:
    def paying(meter: Meter, site: int, *args: Any) -> Any:
        length = 0
        for arg in args:
            if isinstance(arg, _LONG):
                length += len(arg)
        if length > FREE_LENGTH:
            spend(meter, site, length // stride)
        return call(*args)

    return paying


def walk(stride: int, *positions: int) -> "Growth":
    """Return the growth of a walk through arguments, all without positions, a unit per `stride` items."""

    def growth(given: "CallArguments") -> "IntRange":
        long = (given.length(at) for at in positions or range(len(given)) if not given.extent(at).scalar)
        return sum(long, given.nothing).scaled(1 / stride)

    return growth


def part_of(given: "CallArguments") -> "Extent":
    """Return the size of what is a part of the first argument, or all of it."""
    return given.extent(0).part


def element_of(given: "CallArguments") -> "Extent | None":
    """Return the size of what is an element of the first argument."""
    return given.extent(0).element


def libraries(*names: str) -> Iterator[Library]:
    """Yield the libraries of these modules, or of all."""
    for name in names or (_OPERATORS, *_LIBRARIES):
        yield import_module(f"muster.cel.library.{name}").LIBRARY


@cache
def table(*names: str) -> Mapping[tuple[str, bool], LibraryFunction]:
    """Return the functions of these modules, or of all, by (name, whether it is called on a receiver)."""
    found: dict[tuple[str, bool], LibraryFunction] = {}
    for library in libraries(*names):
        for function in library.functions:
            for line in function.lines:
                _, name, signature = line.split(maxsplit=2)
                found[name, not signature.startswith("(")] = function
    return found


def lookup(name: str, *, member: bool) -> LibraryFunction | None:
    """Return the row of `name(...)`, `x.name(...)` or an operator, None where there is none."""
    if not member and not name[0].isalpha():
        return table(_OPERATORS).get((name, False))  # many expressions have no more than these
    return table().get((name, member))


class Declarations(Functions):
    """The overloads of every function and operator by name, as the checker reads them: `added` ones, and ours.

    Those of a function are parsed when it is asked for.
    """

    def __init__(self, added: Functions = MappingProxyType({})) -> None:
        """Take what the caller declares: it hides what is ours of the same name."""
        self._added = added

    def __getitem__(self, name: str) -> tuple[Overload, ...]:
        if name in self._added:
            return self._added[name]
        function = lookup(name, member=False)
        method = lookup(name, member=True) if function is None or name[0].isalpha() else None
        rows = dict.fromkeys(row for row in (function, method) if row is not None)
        if not rows:
            raise KeyError(name)
        return tuple(overload for row in rows for overload in row.overloads)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._added, *(name for name, _ in table()))))

    def __len__(self) -> int:
        return sum(1 for _ in self)
