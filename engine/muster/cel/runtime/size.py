"""How large a value is when it is written out.

A value may hold one part many times: `cel.bind(x, [0], [x, x])` has one list of one item, twice. Forty such steps are
forty lists in memory and 2^40 items in a file, an event or a message. So a value that an expression builds is measured
before anybody copies it: each part once, however often it is held.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from muster.cel.errors import ValueTooLargeError
from muster.cel.runtime.selection import OptionalValue

#: The largest value that an expression may build, in values and characters together. A file has half of that.
MOST_PARTS: Final = 1 << 21
#: The most levels of lists and maps, as in comparisons.
_MAX_DEPTH: Final = 200
#: Types whose values are one part each. Long lists have nothing else: they are measured without a loop.
_PLAIN: Final = frozenset((bool, int, float, type(None), datetime, timedelta))


def require_size(value: Any) -> None:
    """Raise ValueTooLargeError if a value is larger than MOST_PARTS when it is written out, or nested too deep."""
    if size_of(value) > MOST_PARTS:
        raise ValueTooLargeError(f"the value has more than {MOST_PARTS:,} values and characters when it is written out")


def size_of(value: Any) -> int:
    """The values and characters of a value when it is written out: of one that is larger than MOST_PARTS, some number
    above that. Raises ValueTooLargeError if it is nested too deep. Takes time in proportion to the parts in memory."""
    return _measure(value, {}, 0)


def _measure(value: Any, sizes: dict[int, tuple[Any, int]], depth: int) -> int:
    """The values and characters of a value, each part as often as it is held. `sizes` has the sizes of lists and maps
    by their identity, and keeps them alive for it."""
    kind = value.__class__
    if kind is str or kind is bytes:
        return 1 + len(value)
    if kind is OptionalValue:
        return 1 + _measure(value.value, sizes, depth + 1) if value.present else 1
    if kind is not list and kind is not dict and not isinstance(value, (list, Mapping)):
        return 1
    if (measured := sizes.get(id(value))) is not None:
        return measured[1]
    if depth > _MAX_DEPTH:
        raise ValueTooLargeError("a value is nested too deep to be written out")
    if len(value) > MOST_PARTS:
        size = len(value)
    elif isinstance(value, Mapping):
        size = 1 + sum(
            _measure(key, sizes, depth + 1) + _measure(element, sizes, depth + 1) for key, element in value.items()
        )
    elif _PLAIN.issuperset(map(type, value)):
        size = 1 + len(value)
    else:
        size = 1 + sum(_measure(element, sizes, depth + 1) for element in value)
    sizes[id(value)] = value, size
    return size
