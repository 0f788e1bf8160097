"""Values of different engines in a common form."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

#: The value of an expression that fails.
ERROR: Final = "an error"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def comparable(value: Any) -> Any:
    """Return a value in a form that `==` can compare between engines: 1, 1.0 and true differ."""
    match value:
        case None | bool():
            return (type(value).__name__, value)
        case float():
            return ("double", "NaN" if value != value else value)
        case int():
            return ("int", int(value))
        case bytes() | bytearray():
            return ("bytes", bytes(value))
        case datetime():
            return ("timestamp", (value - EPOCH) // timedelta(microseconds=1))
        case timedelta():
            return ("duration", value // timedelta(microseconds=1))
        case list():
            return [comparable(item) for item in value]
        case Mapping():
            return sorted((repr(comparable(key)), comparable(item)) for key, item in value.items())
        case _:
            return value
