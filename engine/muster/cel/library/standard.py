"""Functions of the language itself: sizes, prefixes, patterns, conversions."""

from collections.abc import Mapping
from typing import Any

from muster.cel.library.regexes import MATCHING, matches
from muster.cel.library.registry import Function, linear, metered, plain
from muster.cel.runtime import conversion
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.describe import no_overload


def size(value: Any) -> int:
    """`size(x)`: code points of a string, octets of bytes, elements of a list, entries of a map."""
    if isinstance(value, (str, bytes, list, Mapping)):
        return len(value)
    raise no_overload("size", value)


def contains(meter: Meter, site: int, text: Any, part: Any) -> bool:
    """`text.contains(part)`"""
    if text.__class__ is str and part.__class__ is str:
        pay_for_search(meter, site, text, part)
        return part in text
    raise no_overload("contains", text, part)


SLOW_SEARCH = 128
"""Up to this length of what is sought, Python may look at each character of the text as often as that is long."""


def pay_for_search(meter: Meter, site: int, text: str, part: str) -> None:
    """Pay for looking for one text in another."""
    spend(meter, site, len(text) // 8 * (1 + min(len(part), SLOW_SEARCH) // 8) + len(part) // 8)


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
    "size": plain(size, 1, weight=1),
    "matches": metered(matches, 2, weight=MATCHING),
    "int": metered(conversion.to_int, 1, weight=10),
    "uint": plain(conversion.to_uint, 1, weight=10),
    "double": plain(conversion.to_double, 1, weight=20),
    "string": metered(conversion.to_string, 1, weight=6),
    "bytes": linear(conversion.to_bytes, 1, weight=6),
    "bool": plain(conversion.to_bool, 1),
    "timestamp": plain(conversion.to_timestamp, 1, weight=40),
    "duration": metered(conversion.to_duration, 1, weight=25),
    "type": plain(conversion.to_type, 1, weight=6),
    "dyn": plain(conversion.to_dyn, 1, weight=1),
}
METHODS: Mapping[str, Function] = {
    "size": plain(size, 1, weight=1),
    "contains": metered(contains, 2, weight=4),
    "startsWith": linear(starts_with, 2, weight=1),
    "endsWith": linear(ends_with, 2, weight=1),
    "matches": metered(matches, 2, weight=MATCHING),
}
