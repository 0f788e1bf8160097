"""Short descriptions of values and their types for messages, never a whole tree."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.values import TypeValue, UInt

_SHORT = 60


def type_name(value: Any) -> str:
    """Return the name of the CEL type of a value."""
    exact = _NAMES.get(value.__class__)
    if exact is not None:
        return exact
    for kind, name in _FALLBACK:
        if isinstance(value, kind):
            return name
    declared = getattr(value, "cel_type", None)
    return declared if isinstance(declared, str) else type(value).__name__


_NAMES: dict[type, str] = {
    type(None): "null_type",
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    dict: "map",
    datetime: "google.protobuf.Timestamp",
    timedelta: "google.protobuf.Duration",
    TypeValue: "type",
}
_FALLBACK: tuple[tuple[type, str], ...] = (
    (datetime, "google.protobuf.Timestamp"),
    (timedelta, "google.protobuf.Duration"),
    (Mapping, "map"),
    (list, "list"),
    (UInt, "uint"),
    (bool, "bool"),
    (int, "int"),
    (float, "double"),
    (str, "string"),
    (bytes, "bytes"),
)

_SPOKEN = {"google.protobuf.Timestamp": "timestamp", "google.protobuf.Duration": "duration", "null_type": "null"}

_OPERATORS = {"@in": "in", "_?_:_": "?:", "_[_]": "[]"}


def spoken_type(value: Any) -> str:
    """Return the short type name: `timestamp`, `null`."""
    name = type_name(value)
    return _SPOKEN.get(name, name)


def operator_name(function: str) -> str:
    """Return `+` for `_+_`, and other names unchanged."""
    return _OPERATORS.get(function) or (function.strip("_") if not function[0].isalpha() else function)


def shown(value: Any) -> str:
    """Return a value in at most 60 characters."""
    if isinstance(value, str):
        text = value if len(value) <= _SHORT else value[: _SHORT - 3] + "..."
        return repr(text)
    if isinstance(value, (Mapping, list)):
        return f"a {'map' if isinstance(value, Mapping) else 'list'} of {len(value)}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g}s"
    text = repr(value)
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def named(value: Any) -> str:
    """Return a value for an error message: as `shown`, but only the type of a value that may move with `now`.

    An error holds until the horizon, so its message must not change before.
    """
    still = value is None or isinstance(value, (str, bytes, int, float, Mapping, list))
    return shown(value) if still else f"a {spoken_type(value)}"


def no_overload(function: str, *args: Any) -> EvaluationError:
    """Return the error of an operator or function that does not take operands of these types."""

    def message() -> str:
        types = ", ".join(spoken_type(arg) for arg in args)
        return f"no such overload: {operator_name(function)} cannot take ({types})"

    return EvaluationError(message)
