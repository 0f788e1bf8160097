"""What calls cost beyond their weight: a table of functions whose work grows with what they are given.

`muster.cel.weights` says what every call costs; this says how that grows, at the most, with the sizes of the arguments.
Each row mirrors what the implementation in `muster.cel.library` spends.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from muster.cel.errors import EvaluationError
from muster.cel.extent import ONE, SCALAR, ZERO, Extent, Range, extent_of, may_be_precise, weight
from muster.cel.library.calendar import UNKNOWN_ZONE, WITH_ZONE
from muster.cel.library.formatting import CLAUSE_MOST, CLAUSE_UNITS
from muster.cel.library.lists import COMPARISON, IDENTITY
from muster.cel.library.regexes import COMPILING, GROUP, LARGEST, MATCHING, MAX_PATTERN, STEP_COMPILED, compile_pattern
from muster.cel.library.standard import SLOW_SEARCH
from muster.cel.library.strings import PART
from muster.cel.library.urls import PARAMETER
from muster.cel.runtime.budget import PRECISE
from muster.cel.runtime.comparison import ELEMENT, FAILING
from muster.cel.runtime.conversion import FORMATTING, LONGEST_SPAN, SPAN_CHARACTER
from muster.cel.runtime.temporal import WATCHING
from muster.cel.types import BOOL, BYTES, DYN, NULL, ListType, StringType, Type, bare, is_dyn

TEXT: Final = 0.125

Argument: TypeAlias = tuple[Type, Extent]


@dataclass(slots=True)
class Patterns:
    """The patterns that an expression writes out. They are compiled to know their size, while that takes little."""

    left: int = 400_000

    def size(self, pattern: str | None) -> int:
        """Return how many steps the program of a pattern has; the most there may be where that is not known."""
        if pattern is None or self.left <= 0:
            return LARGEST
        try:
            size = int(compile_pattern(pattern).programsize)
        except EvaluationError as error:
            size = LARGEST if "too large" in error.message else 1
        self.left -= size
        return size


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call, their types and extents; and those that are written out as texts, by position."""

    arguments: list[Argument]
    texts: dict[int, str]
    patterns: Patterns

    def __len__(self) -> int:
        return len(self.arguments)

    def type(self, position: int) -> Type:
        """The type of an argument."""
        return self.arguments[position][0]

    def extent(self, position: int) -> Extent:
        """The extent of an argument."""
        return self.arguments[position][1]

    def length(self, position: int) -> Range:
        """How many characters an argument has; of a list that may stand there as well, how many elements."""
        return self.extent(position).length()

    def items(self, position: int) -> Range:
        """How many elements an argument has."""
        return self.extent(position).items()

    def element(self, position: int) -> Range:
        """What it takes to compare one element of a list."""
        type_, extent = self.arguments[position]
        plain = bare(type_)
        inner = plain.element if isinstance(plain, ListType) else DYN
        return weight(inner, extent.element or extent_of(inner, extent.path)) | ONE

    def listed(self, position: int) -> bool:
        """Whether an argument is certainly a list."""
        return isinstance(bare(self.type(position)), ListType)


#: The arguments without which nothing can be said of a call; the checker has refused it.
_TAKES: Final = {
    **dict.fromkeys(("_==_", "_!=_", "@in", "_+_", "_-_", "_<_", "_<=_", "_>_", "_>=_", "or", "orValue"), 2),
    **dict.fromkeys(("contains", "indexOf", "lastIndexOf", "startsWith", "endsWith", "split", "format"), 2),
    **dict.fromkeys(("matches", "find", "regex.extract", "findAll", "regex.extractAll"), 2),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects", "@sortByAssociatedKeys"), 2),
    "_?_:_": 3, "replace": 3, "regex.replace": 3,
}  # fmt: skip


def call_cost(function: str, given: Given) -> Range:
    """Return what the call itself costs beyond its weight, its arguments being there."""
    if len(given) < _TAKES.get(function, 1):
        return ZERO
    grows = _GROWTH.get(function)
    return ZERO if grows is None else grows(given)


def _most(units: int) -> Range:
    return Range(0, units)


def _walk(stride: int, *positions: int) -> Callable[[Given], Range]:
    """Return the growth of a walk through arguments, all without positions, a unit per `stride` items."""

    def growth(given: Given) -> Range:
        chosen = positions or range(len(given))
        return sum((given.length(at) for at in chosen if at < len(given) and not given.extent(at).scalar), ZERO).scaled(
            1 / stride
        )

    return growth


def _equality(given: Given) -> Range:
    one, other = (weight(*argument).max for argument in given.arguments)
    return ZERO if min(one, other) == 1 else _most(min(one, other))


def _order(given: Given) -> Range:
    lengths = [_compared(*argument) for argument in given.arguments]
    unclear = any(is_dyn(type_) for type_, _ in given.arguments)
    return min(lengths, key=lambda found: found.max) + _most(FAILING if unclear else 0)


def _compared(type_: Type, extent: Extent) -> Range:
    """Return what it takes to order a value among others."""
    text = ZERO if extent.scalar else extent.length().scaled(TEXT)
    return text | _most(PRECISE) if may_be_precise(type_) else text


def _addition(given: Given) -> Range:
    if any(may_be_precise(type_) for type_, _ in given.arguments):
        return _walk(8)(given) + _most(PRECISE)
    return _walk(4)(given) if given.listed(0) else _walk(8)(given)


def _subtraction(given: Given) -> Range:
    # Comparing a difference with a duration is one operation, which may cost as much as both.
    return _most(2 * PRECISE) if any(may_be_precise(type_) for type_, _ in given.arguments) else ZERO


def _membership(given: Given) -> Range:
    if given.extent(1).key is not None:
        return ZERO
    return (given.items(1) * (Range(1, 2 * ELEMENT + 1) + weight(*given.arguments[0]))).or_nothing


def _search(given: Given) -> Range:
    if given.listed(0):
        return _scan(given)
    text, part = given.length(0).scaled(TEXT), given.length(1)
    slow = Range(1, 1 + min(part.max, SLOW_SEARCH) // 8)
    return (text * slow + part.scaled(TEXT)).or_nothing


def _search_back(given: Given) -> Range:
    if given.listed(0):
        return _scan(given)
    return (given.length(0).scaled(TEXT) * (ONE + given.length(1).scaled(TEXT))).or_nothing


def _scan(given: Given) -> Range:
    return (given.items(0) * (Range(ELEMENT, ELEMENT) + given.element(0))).or_nothing


def _string(given: Given) -> Range:
    type_ = bare(given.type(0))
    if isinstance(type_, StringType) or type_ in (BOOL, NULL):
        return ZERO
    if type_ == BYTES:
        return given.length(0).scaled(TEXT)
    return _most(FORMATTING + (WATCHING if may_be_precise(type_) else 0)) + (
        given.length(0).scaled(TEXT).or_nothing if is_dyn(type_) else ZERO
    )


def _int(given: Given) -> Range:
    return _most(WATCHING) if may_be_precise(given.type(0)) else ZERO


def _duration(given: Given) -> Range:
    return _most(SPAN_CHARACTER * min(given.length(0).max, LONGEST_SPAN))


def _calendar(given: Given) -> Range:
    return _most(2 * WATCHING + max(WITH_ZONE, UNKNOWN_ZONE)) if len(given) > 1 else _most(WATCHING)


def _query(_given: Given) -> Range:
    length = extent_of(StringType(), "").length()
    return (length * Range(0, 1 + PARAMETER) + Range(0, PARAMETER)).or_nothing


def _join(given: Given) -> Range:
    return (given.items(0) + _joined(given).scaled(TEXT)).or_nothing


def _joined(given: Given) -> Range:
    element = given.extent(0).element
    each = element.length() if element is not None else extent_of(StringType(), "").length()
    return (given.items(0) * (each + (given.length(1) if len(given) > 1 else ZERO))).or_nothing


def _replace(given: Given) -> Range:
    times = given.length(0) + ONE
    return (_search(given) + times + replaced(given.extent(0), given.extent(2)).scaled(TEXT)).or_nothing


def replaced(text: Extent, by: Extent) -> Range:
    """Return the length of a text in which every place is replaced."""
    length = text.length()
    return (length + (length + ONE) * by.length()).or_nothing


def _split(given: Given) -> Range:
    return (_search(given) + (given.length(0) + ONE) * Range(PART + 1, PART + 1)).or_nothing


def _format(given: Given) -> Range:
    template = given.length(0)
    clauses = Range(0, template.max // 2 + 1)
    printed = (given.items(1) * (Range(CLAUSE_MOST, CLAUSE_MOST) + given.element(1) * Range(8, 8))).or_nothing
    return (template.scaled(TEXT) + clauses * Range(CLAUSE_UNITS, CLAUSE_UNITS) + printed).or_nothing


def _distinct(given: Given) -> Range:
    items, each = given.items(0), given.element(0)
    linear = items * (Range(IDENTITY, IDENTITY) + each * Range(4, 4))
    plain = bare(given.type(0))
    element = bare(plain.element) if isinstance(plain, ListType) else DYN
    if isinstance(element, StringType) or element == BOOL:
        return linear.or_nothing
    return (linear + items * items * (Range(2 * ELEMENT, 2 * ELEMENT) + each)).or_nothing


def _sort(given: Given) -> Range:
    items = given.items(0)
    keys = len(given) - 1
    type_, extent = given.arguments[keys]
    plain = bare(type_)
    inner = plain.element if isinstance(plain, ListType) else DYN
    order = _compared(inner, extent.element or extent_of(inner, extent.path))
    comparisons = Range(0, items.max * (items.max.bit_length() + 1))
    return (
        items * Range(4, 4) + comparisons * (Range(COMPARISON, COMPARISON) + order + order) + order + _most(FAILING)
    ).or_nothing


def _extreme(given: Given) -> Range:
    if not given.listed(0) and not is_dyn(bare(given.type(0))):
        return _most(len(given) * ELEMENT)
    return (
        given.items(0) * (Range(ELEMENT, ELEMENT) + given.element(0)) + given.element(0) + _most(FAILING)
    ).or_nothing


def _sets(given: Given) -> Range:
    one, other = given.items(0), given.items(1)
    each = given.element(0) | given.element(1)
    pairs = one * other * (Range(2 * ELEMENT + 1, 2 * ELEMENT + 1) + each)
    return ((one + other) * Range(ELEMENT, ELEMENT) + pairs + pairs).or_nothing


def _flatten(given: Given) -> Range:
    element = given.extent(0).element
    inner = element.items() if element is not None else extent_of(ListType(DYN), "").items()
    return (given.items(0) * (Range(6, 6) + inner * Range(3, 3)) + Range(6, 6)).or_nothing


def _groups(given: Given) -> int:
    text = given.texts.get(1)
    return MAX_PATTERN // 2 if text is None else text.count("(")


def _octets(given: Given) -> Range:
    """Return how long a text is in UTF-8."""
    return Range(given.length(0).min, 4 * given.length(0).max)


def _scanned(octets: Range, size: int) -> Range:
    return octets.scaled(1 / 16) if size <= 16 else octets.scaled(size / 16)


def _matching(given: Given) -> Range:
    size = given.patterns.size(given.texts.get(1))
    compiling = Range(0, COMPILING + STEP_COMPILED * size + GROUP * _groups(given))
    return (compiling + _scanned(_octets(given), size)).or_nothing


def _matching_all(given: Given) -> Range:
    matches = given.length(0) + ONE
    each = Range(MATCHING + GROUP * _groups(given) + 1, MATCHING + GROUP * _groups(given) + 1)
    rest = Range(0, 2 * given.length(0).max)  # on the average, half of the text is still before a search
    again = _scanned(rest, given.patterns.size(given.texts.get(1)))
    return (_matching(given) + matches * (each + again)).or_nothing


def _replacing(given: Given) -> Range:
    matches, by = given.length(0) + ONE, given.length(2)
    expanding = matches * (by * Range(GROUP, GROUP) + by.scaled(TEXT))
    return (_matching_all(given) + expanding + replaced(given.extent(0), given.extent(2))).or_nothing


def _unwrap(given: Given) -> Range:
    return given.items(0).scaled(0.5).or_nothing


_CALENDAR: Final = (
    "getFullYear", "getMonth", "getDayOfYear", "getDayOfMonth", "getDate", "getDayOfWeek", "getHours", "getMinutes",
    "getSeconds", "getMilliseconds",
)  # fmt: skip
_GROWTH: Final[dict[str, Callable[[Given], Range]]] = {
    "_==_": _equality, "_!=_": _equality, "_+_": _addition, "_-_": _subtraction, "@in": _membership,
    **dict.fromkeys(("_<_", "_<=_", "_>_", "_>=_"), _order),
    "contains": _search, "indexOf": _search, "lastIndexOf": _search_back,
    **dict.fromkeys(("startsWith", "endsWith", "substring", "trim", "semver", "isSemver", "bytes"), _walk(8)),
    **dict.fromkeys(("base64.encode", "base64.decode"), _walk(8)),
    **dict.fromkeys(("lowerAscii", "upperAscii"), _walk(2)), **dict.fromkeys(("reverse", "slice"), _walk(4, 0)),
    **dict.fromkeys(("strings.quote", "url", "isURL"), _walk(1)),
    "string": _string, "int": _int, "duration": _duration, **dict.fromkeys(_CALENDAR, _calendar),
    "getQuery": _query, "getEscapedPath": lambda _given: extent_of(StringType(), "").length().or_nothing,
    "join": _join, "replace": _replace, "split": _split, "format": _format,
    "distinct": _distinct, "sort": _sort, "@sortByAssociatedKeys": _sort, "flatten": _flatten,
    **dict.fromkeys(("isSorted", "sum", "min", "max", "math.greatest", "math.least"), _extreme),
    **dict.fromkeys(("sets.contains", "sets.equivalent", "sets.intersects"), _sets),
    **dict.fromkeys(("matches", "find", "regex.extract"), _matching),
    "findAll": _matching_all, "regex.extractAll": _matching_all, "regex.replace": _replacing,
    "optional.unwrap": _unwrap, "unwrapOpt": _unwrap,
}  # fmt: skip

#: What gives a part of its first argument, or all of it.
_SHRINKING: Final = frozenset(
    {
        "lowerAscii", "upperAscii", "trim", "reverse", "substring", "charAt", "find", "slice", "sort", "distinct",
        "@sortByAssociatedKeys", "dyn", "value", "optional.of", "optional.ofNonZeroValue", "optional.unwrap",
        "unwrapOpt", "base64.decode", "regex.extract",
    }
)  # fmt: skip


def result_extent(function: str, given: Given, type_: Type, path: str) -> Extent:
    """Return the size of what the call gives, where its arguments bound it; else what its type says."""
    extents = [extent for _, extent in given.arguments]
    if len(extents) < _TAKES.get(function, 1):
        return extent_of(type_, path)
    first = extents[0]
    match function:
        case "_+_":
            return SCALAR if first.scalar or extents[1].scalar else first + extents[1]
        case "_?_:_":
            return extents[1] | extents[2]
        case "_[_]" | "_[?_]" | "min" | "max" | "first" | "last" if first.element is not None:
            return first.element
        case "or" | "orValue":
            return first | extents[1]
        case _ if function in _SHRINKING:
            return Extent(0, first.most, first.path, first.element, first.key, first.assumed)
        case "string" if first.scalar:
            return Extent(1, 64)
        case "string" | "bytes" | "strings.quote" | "base64.encode":
            return first.sized(Range(0, 4 * first.length().max + 4))
        case "replace" | "regex.replace":
            return first.sized(replaced(first, extents[2]))
        case "split" | "findAll" | "regex.extractAll":
            return first.sized((first.length() + ONE).or_nothing, first.sized(first.length().or_nothing))
        case "join":
            return first.sized(_joined(given))
        case "format":
            written = given.items(1) * (Range(CLAUSE_MOST, CLAUSE_MOST) + given.element(1) * Range(8, 8))
            return first.sized((first.length() + written).or_nothing)
        case "flatten" if first.element is not None:
            return first.sized((first.items() * first.element.items()).or_nothing, first.element.element)
        case _:
            return extent_of(type_, path)
