"""Values of CEL that plain Python data lacks: unsigned integers, types as values, optionals.

All others are what YAML gives: None, bool, int, float, str, list, dict; and bytes, datetime and timedelta.
"""

from dataclasses import dataclass
from typing import Any


class UInt(int):
    """A CEL `uint`. Arithmetic on it gives plain integers: only the engine's own operators keep the class."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return CEL's notation, `7u`."""
        return f"{int(self)}u"


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A CEL type as a value: what `type(x)` gives and what `int` or `google.protobuf.Timestamp` names."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Optional:
    """A CEL optional: a value, or none. Selecting from it gives an optional again."""

    value: Any = None
    present: bool = False

    def __getitem__(self, key: Any) -> "Optional":
        """Return the optional of what stands under a key: `x.field` and `x[key]` on an optional."""
        from muster.cel.runtime.maps import optional_index  # values are below the runtime

        return optional_index(self, key)
