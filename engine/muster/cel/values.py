"""CEL values that plain Python data lacks: unsigned integers, and types as values.

Optionals are in `runtime.selection`. All other values are what YAML gives (None, bool, int, float, str, list, dict),
and bytes, datetime and timedelta.
"""

from typing import Any, TypeAlias

from muster.dataclass import dataclass

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1

Json: TypeAlias = Any
"""What JSON can say: None, bool, int, float, str, a list of these, or a dict from str to these."""


class UInt(int):
    """A CEL `uint`. Python's arithmetic gives plain integers; only the engine's own operators keep the class."""

    __slots__ = ()

    def __repr__(self) -> str:
        """Return CEL's notation, `7u`."""
        return f"{int(self)}u"


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A CEL type as a value: the result of `type(x)`, or what `int` or `google.protobuf.Timestamp` names."""

    name: str

    def __repr__(self) -> str:
        """Return the name of the type."""
        return self.name
