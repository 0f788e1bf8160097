"""What calls cost beyond their arguments: a table of functions whose work grows with what they are given.

A call costs 1, a walk through text a unit per eight characters (cel-go says ten), a search for one text in another
the product of both walks, a regular expression a quarter of a unit per character of the pattern for each unit of
text. What stands in no group costs 1.
"""

from typing import Final

from muster.cel.cost.extent import ONE, SCALAR, Extent, Range, extent_of, weight
from muster.cel.types import DYN, ListType, Type, bare

TEXT: Final = 0.125
PATTERN: Final = 0.25

#: Work that grows with the length of all arguments.
_WALKS: Final = frozenset(
    {
        "_+_", "startsWith", "endsWith", "lowerAscii", "upperAscii", "trim", "join", "substring", "charAt", "reverse",
        "string", "bytes", "int", "uint", "double", "duration", "timestamp", "bool", "strings.quote", "base64.encode",
        "base64.decode", "url", "isURL", "quantity", "isQuantity", "semver", "isSemver", "ip", "isIP", "cidr", "isCIDR",
        "ip.isCanonical", "containsIP", "containsCIDR", "slice", "flatten", "sum", "min", "max", "isSorted",
        "optional.unwrap", "unwrapOpt", "math.greatest", "math.least", "format",
    }
)  # fmt: skip
#: Work that passes the items of a list without looking into them.
_PASSING: Final = frozenset({"_+_", "slice", "reverse", "optional.unwrap", "unwrapOpt"})
#: Work that grows with the product of both arguments' lengths.
_SEARCHES: Final = frozenset({"contains", "indexOf", "lastIndexOf"})
#: A regular expression as the second argument; the last ones also make something of every match.
_EXPRESSIONS: Final = frozenset({"matches", "find", "regex.extract", "findAll", "regex.extractAll", "regex.replace"})
_PAIRS: Final = frozenset({"sets.contains", "sets.equivalent", "sets.intersects"})
_SORTS: Final = frozenset({"sort", "distinct", "@sortByAssociatedKeys"})
_ORDERINGS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
#: What gives a part of its first argument, or all of it.
_SHRINKING: Final = frozenset(
    {
        "lowerAscii", "upperAscii", "trim", "reverse", "substring", "charAt", "find", "slice", "sort", "distinct",
        "@sortByAssociatedKeys", "dyn", "value", "optional.of", "optional.ofNonZeroValue", "optional.unwrap",
        "unwrapOpt", "base64.decode", "regex.extract",
    }
)  # fmt: skip
#: The arguments without which nothing can be said of a call; the checker has refused it.
_TAKES: Final = {
    **dict.fromkeys(_SEARCHES | _EXPRESSIONS | _PAIRS | _ORDERINGS, 2),
    "_==_": 2, "_!=_": 2, "@in": 2, "_+_": 2, "_?_:_": 3, "or": 2, "orValue": 2,
    "replace": 3, "regex.replace": 3, "format": 2, "split": 2,
}  # fmt: skip

Argument = tuple[Type, Extent]


def call_cost(function: str, arguments: list[Argument]) -> Range:
    """Return what the call itself costs, its arguments being there."""
    if len(arguments) < _TAKES.get(function, 1):
        return ONE
    extents = [extent for _, extent in arguments]
    match function:
        case "_==_" | "_!=_":
            one, other = (weight(*argument).max for argument in arguments)
            return ONE if min(one, other) == 1 else ONE + Range(0, min(one, other))
        case "@in":
            return _membership(arguments)
        case "split":
            return ONE + extents[0].length().scaled(2 * TEXT).or_nothing
        case "replace":
            return ONE + _replaced(extents[0], extents[2]).scaled(TEXT).or_nothing
        case "flatten" if extents[0].element is not None:
            return ONE + (extents[0].items() * (extents[0].element.items() + ONE)).or_nothing
        case _ if function in _PASSING and extents[0].element is not None:
            return ONE + sum((extent.items() for extent in extents), Range(0, 0)).or_nothing
        case _ if function in _WALKS:
            return ONE + sum((_walk(argument) for argument in arguments), Range(0, 0))
        case _ if function in _SEARCHES:
            text, sought = _walk(arguments[0]), _walk(arguments[1])
            return ONE + (text + sought).or_nothing + text * (sought | ONE)
        case _ if function in _EXPRESSIONS:
            return ONE + _matching(function, extents)
        case _ if function in _ORDERINGS:
            return ONE + min((_walk(argument) for argument in arguments), key=lambda walk: walk.max)
        case _ if function in _PAIRS:
            return ONE + extents[0].items() * extents[1].items() * _element_weight(arguments[0]).scaled(2)
        case _ if function in _SORTS:
            items = extents[0].items()
            return ONE + Range(0, items.max * (items.max.bit_length() + 1)) * _element_weight(arguments[0])
    return ONE


def _walk(argument: Argument) -> Range:
    """Return what it takes to read through a text, or through the items of a list."""
    type_, extent = argument
    if extent.scalar:
        return Range(0, 0)
    if extent.element is None:
        return extent.length().scaled(TEXT)
    plain = bare(type_)
    inner = plain.element if isinstance(plain, ListType) else DYN
    return (extent.items() * weight(inner, extent.element)).or_nothing


def _matching(function: str, extents: list[Extent]) -> Range:
    """Return the cost of a regular expression: a walk for each piece of the pattern, and the matches that it makes."""
    found = (extents[0].length() + ONE).scaled(TEXT) * (extents[1].length().scaled(PATTERN) | ONE)
    if function in ("findAll", "regex.extractAll"):
        found = found + (extents[0].length() + ONE).or_nothing
    elif function == "regex.replace":
        found = found + (extents[0].length() + ONE).or_nothing + _replaced(extents[0], extents[2]).or_nothing
    return found


def _replaced(text: Extent, by: Extent) -> Range:
    """Return the length of a text in which every place is replaced."""
    length = text.length()
    return (length + (length + ONE) * by.length()).or_nothing


def _membership(arguments: list[Argument]) -> Range:
    """Return the cost of `in`: a look-up in a map, a comparison per item of a list."""
    (type_, extent), (_, container) = arguments
    if container.key is not None:
        return ONE + _walk((type_, extent)).or_nothing
    return ONE + (container.items() * (weight(type_, extent) | ONE)).or_nothing


def _element_weight(argument: Argument) -> Range:
    """Return what it takes to compare one item of a list."""
    type_, extent = argument
    plain = bare(type_)
    element = plain.element if isinstance(plain, ListType) else DYN
    return weight(element, extent.element or extent_of(element, extent.path)) | ONE


def result_extent(function: str, arguments: list[Argument], type_: Type, path: str) -> Extent:
    """Return the size of what the call gives, where its arguments bound it; else what its type says."""
    extents = [extent for _, extent in arguments]
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
            return first.sized(_replaced(first, extents[2]))
        case "split" | "findAll" | "regex.extractAll":
            return first.sized((first.length() + ONE).or_nothing, first.sized(first.length().or_nothing))
        case "join" | "format":
            parts = sum((_walk(argument) for argument in arguments), ONE)
            separators = first.items() * (extents[1].length() if function == "join" and len(extents) > 1 else ONE)
            return first.sized((parts.scaled(8) + separators).or_nothing)
        case "flatten" if first.element is not None:
            return first.sized((first.items() * first.element.items()).or_nothing, first.element.element)
        case _:
            return extent_of(type_, path)
