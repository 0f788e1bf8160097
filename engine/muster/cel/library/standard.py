"""Functions of the language itself: sizes, prefixes, patterns, conversions."""

from collections.abc import Mapping
from typing import Any

from muster.cel.library.regexes import matches
from muster.cel.library.registry import Function, linear, metered, plain
from muster.cel.runtime import conversion
from muster.cel.runtime.describe import no_overload


def size(value: Any) -> int:
    """`size(x)`: code points of a string, octets of bytes, elements of a list, entries of a map."""
    if isinstance(value, (str, bytes, list, Mapping)):
        return len(value)
    raise no_overload("size", value)


def contains(text: Any, part: Any) -> bool:
    """`text.contains(part)`"""
    if text.__class__ is str and part.__class__ is str:
        return part in text
    raise no_overload("contains", text, part)


def starts_with(text: Any, part: Any) -> bool:
    """`text.startsWith(part)`"""
    if text.__class__ is str and part.__class__ is str:
        return bool(text.startswith(part))
    raise no_overload("startsWith", text, part)


def ends_with(text: Any, part: Any) -> bool:
    """`text.endsWith(part)`"""
    if text.__class__ is str and part.__class__ is str:
        return bool(text.endswith(part))
    raise no_overload("endsWith", text, part)


FUNCTIONS: Mapping[str, Function] = {
    "size": plain(size, 1),
    "matches": metered(matches, 2),
    "int": plain(conversion.to_int, 1),
    "uint": plain(conversion.to_uint, 1),
    "double": plain(conversion.to_double, 1),
    "string": linear(conversion.to_string, 1),
    "bytes": linear(conversion.to_bytes, 1),
    "bool": plain(conversion.to_bool, 1),
    "timestamp": plain(conversion.to_timestamp, 1),
    "duration": plain(conversion.to_duration, 1),
    "type": plain(conversion.to_type, 1),
    "dyn": plain(conversion.to_dyn, 1),
}
METHODS: Mapping[str, Function] = {
    "size": plain(size, 1),
    "contains": linear(contains, 2),
    "startsWith": linear(starts_with, 2),
    "endsWith": linear(ends_with, 2),
    "matches": metered(matches, 2),
}
