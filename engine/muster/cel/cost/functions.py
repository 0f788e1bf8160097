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
        "startsWith", "endsWith", "lowerAscii", "upperAscii", "trim", "split", "join", "replace", "substring",
        "charAt", "reverse", "string", "bytes", "int", "uint", "double", "duration", "timestamp", "bool",
        "strings.quote", "base64.encode", "base64.decode", "format", "url", "isURL", "quantity", "isQuantity",
        "semver", "isSemver", "ip", "isIP", "cidr", "isCIDR", "ip.isCanonical", "containsIP", "containsCIDR",
        "slice", "flatten", "sum", "min", "max", "isSorted", "lists.range", "optional.unwrap", "unwrapOpt",
        "math.greatest", "math.least",
    }
)  # fmt: skip
#: Work that grows with the product of both arguments' lengths.
_SEARCHES: Final = frozenset({"contains", "indexOf", "lastIndexOf"})
_EXPRESSIONS: Final = frozenset({"matches", "find", "findAll"})
_PAIRS: Final = frozenset({"sets.contains", "sets.equivalent", "sets.intersects"})
_PAIRWISE: Final = _PAIRS | {"_==_", "_!=_", "@in"}
_SORTS: Final = frozenset({"sort", "distinct", "@sortByAssociatedKeys"})
_ORDERINGS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})
#: What gives a part of its first argument, or all of it.
_SHRINKING: Final = frozenset(
    {
        "lowerAscii", "upperAscii", "trim", "reverse", "substring", "charAt", "find", "slice", "sort", "distinct",
        "@sortByAssociatedKeys", "dyn", "value", "optional.of", "optional.ofNonZeroValue", "optional.unwrap",
        "unwrapOpt",
    }
)  # fmt: skip

#: Arguments without which a result has no known size.
_TAKES: Final = {"_+_": 2, "_?_:_": 3, "or": 2, "orValue": 2}

Argument = tuple[Type, Extent]


def call_cost(function: str, arguments: list[Argument]) -> Range:
    """Return what the call itself costs, its arguments being there."""
    extents = [extent for _, extent in arguments]
    if not extents:
        return ONE
    if function in _WALKS or function == "_+_":
        return ONE + sum((_walk(argument) for argument in arguments), Range(0, 0))
    if function in _SEARCHES and len(extents) > 1:
        return ONE + _walk(arguments[0]) * (_walk(arguments[1]) | ONE)
    if function in _EXPRESSIONS and len(extents) > 1:
        return ONE + (extents[0].length() + ONE).scaled(TEXT) * extents[1].length().scaled(PATTERN)
    if function in _PAIRWISE and len(extents) < 2:
        return ONE  # no such call exists, and the checker has said so
    if function in ("_==_", "_!=_"):
        one, other = (weight(*argument) for argument in arguments)
        return Range(1, max(1, min(one.max, other.max)))
    if function in _ORDERINGS:
        return ONE + min((_walk(argument) for argument in arguments), key=lambda walk: walk.max)
    if function == "@in":
        return _membership(arguments)
    if function in _PAIRS:
        return ONE + extents[0].items() * extents[1].items() * _element_weight(arguments[0])
    if function in _SORTS:
        items = extents[0].items()
        return ONE + Range(0, items.max * (items.max.bit_length() + 1)) * _element_weight(arguments[0])
    return ONE


def _walk(argument: Argument) -> Range:
    """Return what it takes to read through a text, or past the items of a list."""
    _, extent = argument
    if extent == SCALAR:
        return Range(0, 0)
    each = extent.length() if extent.element is None else extent.items()
    inner = extent.element.length().scaled(TEXT) if extent.element not in (None, SCALAR) else None
    return each.scaled(TEXT) if inner is None else (each * (inner | ONE)).or_nothing


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
    match function:
        case "_+_":
            return extents[0] + extents[1] if SCALAR not in extents else SCALAR
        case "_?_:_":
            return extents[1] | extents[2]
        case "_[_]" | "_[?_]" | "min" | "max" if extents[0].element is not None:
            return extents[0].element
        case "or" | "orValue":
            return extents[0] | extents[1]
        case _ if function in _SHRINKING:
            return Extent(0, extents[0].most, extents[0].path, extents[0].element, extents[0].key)
        case "string" if extents[0] == SCALAR:
            return Extent(1, 64)
        case "string" | "bytes":
            return Extent(0, None if extents[0].most is None else 4 * extents[0].most, extents[0].path)
        case "split" | "findAll":
            most = None if extents[0].most is None else extents[0].most + 1
            return Extent(0, most, extents[0].path, Extent(0, extents[0].most, extents[0].path))
        case "lists.range":
            return Extent(0, None, path, SCALAR)
        case _:
            return extent_of(type_, path)
