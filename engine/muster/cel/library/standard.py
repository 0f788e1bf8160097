"""Functions of the language itself: sizes, parts of texts, conversions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from muster.cel.declarations import TimeUse
from muster.cel.library.registry import Library, part_of
from muster.cel.runtime import conversion
from muster.cel.runtime.budget import PRECISE, Meter, spend
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.watching import WATCHING
from muster.cel.types import BOOL, BYTES, NULL, StringType, bare, is_dyn

if TYPE_CHECKING:
    from muster.cel.extent import Extent, IntRange
    from muster.cel.library.arguments import CallArguments

LIBRARY = Library("conversions and texts")


@LIBRARY.plain(
    "size_bytes   size  (bytes) -> int",
    "size_list    size  (list(A)) -> int",
    "size_map     size  (map(A,B)) -> int",
    "size_string  size  (string) -> int",
    "bytes_size   size  bytes.() -> int",
    "list_size    size  list(A).() -> int",
    "map_size     size  map(A,B).() -> int",
    "string_size  size  string.() -> int",
    weight=1,
    moving=TimeUse.CARRIED,
)
def size(value: Any) -> int:
    """`size(x)`: code points of a string, octets of bytes, elements of a list, entries of a map."""
    if isinstance(value, (str, bytes, list, Mapping)):
        return len(value)
    raise no_overload("size", value)


SLOW_SEARCH = 128
"""For a part up to this length, Python may visit each character of the text as often as the part is long."""


def pay_for_search(meter: Meter, site: int, text: str, part: str) -> None:
    """Pay for searching one text in another."""
    spend(meter, site, len(text) // 8 * (1 + min(len(part), SLOW_SEARCH) // 8) + len(part) // 8)


def search(args: "CallArguments") -> "IntRange":
    """Return the most that `pay_for_search` spends on two arguments."""
    text, sought = args.length(0).as_text, args.length(1)
    slow = args.between(1, 1 + min(sought.max, SLOW_SEARCH) // 8)
    return (text * slow + sought.as_text).or_nothing


@LIBRARY.metered("contains_string  contains  string.(string) -> bool", weight=4, grows=search)
def contains(meter: Meter, site: int, text: Any, part: Any) -> bool:
    """`text.contains(part)`: whether the text contains the part."""
    if text.__class__ is str and part.__class__ is str:
        pay_for_search(meter, site, text, part)
        return part in text
    raise no_overload("contains", text, part)


@LIBRARY.linear("starts_with_string  startsWith  string.(string) -> bool", weight=1)
def starts_with(text: Any, part: Any) -> bool:
    """`text.startsWith(part)`: whether the text starts with the part."""
    if text.__class__ is str and part.__class__ is str:
        return bool(text.startswith(part))
    raise no_overload("startsWith", text, part)


@LIBRARY.linear("ends_with_string  endsWith  string.(string) -> bool", weight=1)
def ends_with(text: Any, part: Any) -> bool:
    """`text.endsWith(part)`: whether the text ends with the part."""
    if text.__class__ is str and part.__class__ is str:
        return bool(text.endswith(part))
    raise no_overload("endsWith", text, part)


# -- conversions ----------------------------------------------------------------------------------------------


def _string_cost(args: "CallArguments") -> "IntRange":
    type_ = bare(args.type(0))
    if isinstance(type_, StringType) or type_ in (BOOL, NULL):
        return args.nothing
    if type_ == BYTES:
        return args.length(0).as_text
    text = args.length(0).as_text.or_nothing if is_dyn(type_) else args.nothing
    return args.between(0, conversion.FORMATTING + (PRECISE if args.precise(0) else 0)) + text


def encoded(args: "CallArguments") -> "Extent":
    """Return the size of an encoded text: at most four characters for one."""
    return args.extent(0).sized(args.between(0, 4 * args.length(0).max + 4))


def _from(kinds: str, to: str) -> list[str]:
    """Return the lines of a conversion. Their ids have the kinds of both sides."""
    types = {"int64": "int", "uint64": "uint", "ip": "net.IP", "cidr": "net.CIDR"}
    result = types.get(to, to)
    return [f"{kind}_to_{to} {result} ({types.get(kind, kind)}) -> {result}" for kind in kinds.split()]


LIBRARY.metered(
    *_from("double duration int64 string timestamp uint64", "int64"),
    weight=10,
    moving=TimeUse.READ,
    grows=lambda args: args.between(0, WATCHING if args.precise(0) else 0),
)(conversion.to_int)
LIBRARY.plain(*_from("double int64 string uint64", "uint64"), weight=10)(conversion.to_uint)
LIBRARY.plain(*_from("double int64 string uint64", "double"), weight=20)(conversion.to_double)
LIBRARY.metered(
    *_from("bool bytes double duration int64 string timestamp uint64 ip cidr", "string"),
    weight=6,
    moving=TimeUse.READ,
    grows=_string_cost,
    gives=lambda args: args.extent(0).sized(args.between(1, 64)) if args.extent(0).scalar else encoded(args),
)(conversion.to_string)
LIBRARY.linear(*_from("bytes string", "bytes"), weight=6, gives=encoded)(conversion.to_bytes)
LIBRARY.plain(*_from("bool string", "bool"), weight=4)(conversion.to_bool)
LIBRARY.plain(*_from("int64 string timestamp", "timestamp"), weight=40, moving=TimeUse.CARRIED)(conversion.to_timestamp)
LIBRARY.metered(
    *_from("duration string", "duration"),
    weight=25,
    moving=TimeUse.CARRIED,
    grows=lambda args: args.between(0, conversion.SPAN_CHARACTER * min(args.length(0).max, conversion.LONGEST_SPAN)),
)(conversion.to_duration)
LIBRARY.plain("type  type  (A) -> type(A)", weight=6, moving=TimeUse.CARRIED)(conversion.to_type)
LIBRARY.plain("to_dyn  dyn  (A) -> dyn", weight=1, moving=TimeUse.CARRIED, gives=part_of)(conversion.to_dyn)
