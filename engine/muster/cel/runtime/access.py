"""Parse times, durations and doubles in plain data, which has them as texts and whole numbers.

Parsed values are remembered: a run has the same few thousand texts again and again, and a look-up takes a tenth of the
time.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeVar

from muster.cel.errors import BudgetExceeded, EvaluationError
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.conversion import parse_span, parse_time, pay_for_span
from muster.cel.runtime.describe import named
from muster.cel.runtime.selection import OptionalValue
from muster.cel.types import (
    DOUBLE,
    DURATION,
    INT,
    STRING,
    TIMESTAMP,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    OptionalType,
    Type,
)

_CACHED_TEXTS = 100_000
T = TypeVar("T")


class _ParsedTexts(dict[Any, T]):
    """Parsed values by text. A value that is already parsed maps to itself; anything else is an error."""

    def __init__(self, sort: type[T], parse: Callable[[str], T], noun: str) -> None:
        super().__init__()
        self._sort, self._parse, self._what = sort, parse, noun

    def __missing__(self, value: Any) -> T:
        if isinstance(value, self._sort):
            return value
        if value.__class__ is not str:
            raise EvaluationError(f"{named(value)} is not {self._what}")
        parsed = self._parse(value)
        if len(self) >= _CACHED_TEXTS:
            self.clear()
        self[value] = parsed
        return parsed


#: Instants and durations by their text.
TIMES = _ParsedTexts(datetime, parse_time, "a timestamp such as 2026-01-01T00:00:00Z")
SPANS = _ParsedTexts(timedelta, parse_span, "a duration such as 90s or 1h30m")


@cache
def is_read(kind: Type) -> bool:
    """Return whether data of the type must be parsed: times, durations, doubles, and lists and maps of these.

    Doubles count because data may write them as whole numbers. Fields of objects do not count: they are parsed when
    they are selected.
    """
    match kind:
        case ListType() | NullableType() | OptionalType():
            return is_read(kind.element)
        case MapType():
            return is_read(kind.value)
        case _:
            return kind in (TIMESTAMP, DURATION, DOUBLE)


def as_double(value: Any) -> Any:
    """Return a whole number as a double; a number that is too large for a double stays as it is."""
    try:
        return float(value) if value.__class__ is int else value
    except OverflowError:
        return value


def duration_at(meter: Meter, site: int, value: Any) -> timedelta:
    """Return `duration(text)`. It costs the same whether it is remembered or not."""
    if value.__class__ is str:
        pay_for_span(meter, site, value)
    return SPANS[value]


EACH = 30
"""Units of parsing one element of a list or entry of a map."""


def convert(meter: Meter, site: int, value: Any, kind: Type, label: str) -> Any:
    """Return the value with times, durations and doubles parsed. `label` is its name in messages."""
    try:
        return _convert(meter, site, value, kind)
    except BudgetExceeded:
        raise
    except (EvaluationError, TypeError) as error:
        reason = error.message if isinstance(error, EvaluationError) else f"{named(value)} is not a time"
        raise EvaluationError(f"{label}: {reason}") from None


def _convert(meter: Meter, site: int, value: Any, kind: Type) -> Any:
    if kind == TIMESTAMP:
        return TIMES[value]
    if kind == DURATION:
        return SPANS[value]
    if kind == DOUBLE:
        return as_double(value)
    match kind:
        case NullableType():
            return None if value is None else _convert(meter, site, value, kind.element)
        case OptionalType() if isinstance(value, OptionalValue):
            if not value.present:
                return value
            return OptionalValue(_convert(meter, site, value.value, kind.element), present=True)
        case ListType() if isinstance(value, list):
            spend(meter, site, EACH * len(value))
            return [_convert(meter, site, item, kind.element) for item in value]
        case MapType() if isinstance(value, Mapping):
            spend(meter, site, EACH * len(value))
            return {key: _convert(meter, site, item, kind.value) for key, item in value.items()}
    return value


def variable_types(kind: Type | None, count: int) -> tuple[Type | None, ...]:
    """Return the types of the one or two variables of a comprehension over `kind`; None if unknown."""
    match kind:
        case ListType():
            return (kind.element,) if count == 1 else (INT, kind.element)
        case MapType():
            return (kind.key, kind.value)[:count]
        case ObjectType():
            return (STRING, None)[:count]
    return (None,) * count


def element_kinds(kind: Type | None, count: int) -> tuple[Type | None, ...]:
    """Return the types that the variables of a comprehension must be parsed as; None if they need no parsing."""
    return tuple(type_ if type_ is not None and is_read(type_) else None for type_ in variable_types(kind, count))
