"""The table of functions: the overloads of each, its cost, its implementation and its documentation.

A decorator of the module's `Library` adds a function:

    @LIBRARY.linear("string_trim  trim  string.() -> string", weight=6, gives=part_of)
    def trim(text: Any) -> str: ...

The lines declare the overloads for the checker, in the notation of `muster.cel.declarations`. `weight` is the cost of a
call with arguments of ordinary size, in units of `runtime.budget`. The docstring is the function's line in the
documentation. If one of them is missing, importing the library fails, and mypy reports it.

An implementation takes plain values, the receiver first, and raises EvaluationError if it has no result. If its weight
does not cover its work (it builds long values, or loops), it pays before it does the work:

- a *plain* function does no such work;
- a *linear* function walks once through its arguments, which `Library` pays for;
- a *metered* function gets the meter and the offset of the call first, and pays itself. `grows` returns the most that
  it pays, from what is known of the arguments at compile time.

`gives` returns the largest size of the result if the arguments limit it; otherwise the type of the result does.

`moving` declares how the function uses a time or a duration that moves with `now` (`muster.cel.clock`), also inside
lists, maps and optionals. It is required for a function that may get one, because a result that depends on it silently
would have no horizon.

Libraries import `extent` and `arguments` for mypy only: they are needed at compile time, and take 3 ms to import.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from string import ascii_uppercase
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from muster.cel.declarations import Functions, Overload, TimeUse, parse_overload
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.numbers import FREE_LENGTH
from muster.dataclass import dataclass

if TYPE_CHECKING:
    from muster.cel.extent import Extent, IntRange
    from muster.cel.library.arguments import CallArguments

    Growth: TypeAlias = Callable[[CallArguments], IntRange]
    Size: TypeAlias = Callable[[CallArguments], Extent | None]

Call = TypeVar("Call", bound=Callable[..., Any])

_OPERATORS = "operators"
#: The functions of each library, which is imported when an expression calls one of them.
LIBRARIES: Final = {
    "standard": "bool bytes contains double duration dyn endsWith int size startsWith string timestamp type uint",
    "calendar": (
        "getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes "
        "getMonth getSeconds"
    ),
    "windows": "inWindow",
    "strings": (
        "charAt format indexOf join lastIndexOf lowerAscii replace reverse split strings.quote substring trim "
        "upperAscii"
    ),
    "lists": "@sortByAssociatedKeys distinct first flatten isSorted last lists.range max min slice sort sum",
    "sets": "sets.contains sets.equivalent sets.intersects",
    "mathematics": (
        "math.abs math.bitAnd math.bitNot math.bitOr math.bitShiftLeft math.bitShiftRight math.bitXor "
        "math.ceil math.floor math.greatest math.isFinite math.isInf math.isNaN math.least math.round "
        "math.sign math.sqrt math.trunc"
    ),
    "optionals": (
        "hasValue optional.none optional.of optional.ofNonZeroValue optional.unwrap or orValue unwrapOpt value"
    ),
    "encoders": "base64.decode base64.encode",
    "regexes": "find findAll matches regex.extract regex.extractAll regex.replace",
    "network": (
        "cidr containsCIDR containsIP family ip ip.isCanonical isCIDR isGlobalUnicast isIP "
        "isLinkLocalMulticast isLinkLocalUnicast isLoopback isUnspecified masked prefixLength"
    ),
    "quantity": "add asApproximateFloat asInteger isInteger isQuantity quantity sign sub",
    "semver": "compareTo isGreaterThan isLessThan isSemver major minor patch semver",
    "urls": "getEscapedPath getHost getHostname getPort getQuery getScheme isURL url",
}
_LIBRARY_OF: Final = {name: library for library, names in LIBRARIES.items() for name in names.split()}
_LONG = (str, bytes, list, dict)
_CERTAIN = {"bool", "int", "uint", "double", "string", "bytes", "list", "timestamp", "duration"}
"""Types that generated code can use: their class identifies them."""
_MAY_MOVE = frozenset(("timestamp", "duration", "dyn", *ascii_uppercase))
"""Types whose values may move with `now`; a capital letter is any type."""
_BETWEEN_TYPES = str.maketrans("(),.", "    ")


@dataclass(frozen=True, slots=True, eq=False)
class LibraryFunction:
    """A function of a library. If it is `metered`, `call` takes the meter and an offset first."""

    lines: tuple[str, ...]
    call: Callable[..., Any]
    doc: str
    weight: int
    gives: "Size | None"
    grows: "Growth | None" = None
    moving: TimeUse | None = None

    def __post_init__(self) -> None:
        """Refuse an incomplete function."""
        if len({line.split(maxsplit=2)[1] for line in self.lines}) != 1:
            raise ValueError(f"no overload, or overloads of several functions: {self.lines}")
        if not self.doc and sys.flags.optimize < 2:  # -OO removes docstrings
            raise ValueError(f"{self.name}() has no documentation")
        if self.may_move != (self.moving is not None):
            does = "does not declare how it uses values" if self.may_move else "does not take values"
            raise ValueError(f"{self.name}() {does} that move with now: see TimeUse")

    @property
    def name(self) -> str:
        """The name, with its namespace."""
        return self.lines[0].split(maxsplit=2)[1]

    @property
    def may_move(self) -> bool:
        """Whether an argument, or a part of it, may move with `now`."""
        types = (line.split(maxsplit=2)[2].partition(" -> ")[0] for line in self.lines)
        return any(not _MAY_MOVE.isdisjoint(text.translate(_BETWEEN_TYPES).split()) for text in types)

    @property
    def metered(self) -> bool:
        """Whether a call pays for more than the weight."""
        return self.grows is not None

    @property
    def kind(self) -> str:
        """The class of all results, as the generator names it (`int`, `list`); empty if there are several."""
        kinds = {line.rpartition(" -> ")[2].partition("(")[0] for line in self.lines}
        return kinds.pop() if len(kinds) == 1 and kinds <= _CERTAIN else ""

    @property
    def overloads(self) -> tuple[Overload, ...]:
        """All overloads."""
        return _parsed(self.lines)

    def accepts(self, count: int) -> bool:
        """Return whether the function can be called with that many arguments."""
        return any(overload.accepts_count(count) for overload in self.overloads)


@cache
def _parsed(lines: tuple[str, ...]) -> tuple[Overload, ...]:
    return tuple(map(parse_overload, lines))


class Library:
    """The functions of one module, in the order of their definition."""

    def __init__(self, title: str) -> None:
        """Start without functions. The title is a heading in the documentation."""
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
        """Add a function that pays for work beyond its weight itself: at most what `grows` returns."""
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
        """Add a function that walks through its arguments. It pays a unit per `stride` items of long ones."""

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
    """Return the growth of a walk through the arguments at `positions`, or all: a unit per `stride` items."""

    def growth(args: "CallArguments") -> "IntRange":
        long = (args.length(at) for at in positions or range(len(args)) if not args.extent(at).scalar)
        return sum(long, args.nothing).scaled(1 / stride)

    return growth


def part_of(args: "CallArguments") -> "Extent":
    """Return the size of a part of the first argument."""
    return args.extent(0).part


def element_of(args: "CallArguments") -> "Extent | None":
    """Return the size of an element of the first argument."""
    return args.extent(0).element


def libraries(*names: str) -> Iterator[Library]:
    """Yield the libraries of these modules, or of all."""
    for name in names or (_OPERATORS, *LIBRARIES):
        yield import_module(f"muster.cel.library.{name}").LIBRARY


@cache
def table(*names: str) -> Mapping[tuple[str, bool], LibraryFunction]:
    """Return the functions of these modules, or of all, by (name, whether it has a receiver)."""
    functions: dict[tuple[str, bool], LibraryFunction] = {}
    for library in libraries(*names):
        for function in library.functions:
            for line in function.lines:
                _, name, signature = line.split(maxsplit=2)
                functions[name, not signature.startswith("(")] = function
    return functions


def lookup(name: str, *, member: bool) -> LibraryFunction | None:
    """Return the function of `name(...)`, `x.name(...)` or an operator; None if there is none."""
    if not member and not name[0].isalpha():
        return table(_OPERATORS).get((name, False))  # many expressions use operators only
    library = _LIBRARY_OF.get(name)
    return None if library is None else table(library).get((name, member))


class Declarations(Functions):
    """The overloads of every function and operator by name, for the checker: `added` ones, and those of the libraries.

    The overloads of a function are parsed on request.
    """

    def __init__(self, added: Functions = MappingProxyType({})) -> None:
        """Add the functions of the caller, which hide library functions of the same name."""
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
