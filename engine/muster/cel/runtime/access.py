"""Times, durations and doubles in plain data: texts and whole numbers that the type of an access says to read so.

Parsing is remembered: the same few thousand texts come again and again in a run, and a look-up costs a tenth.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from muster.cel.errors import BudgetExceeded, EvaluationError
from muster.cel.runtime.budget import Meter, spend
from muster.cel.runtime.conversion import parse_span, parse_time, pay_for_span
from muster.cel.runtime.describe import shown
from muster.cel.runtime.selection import Optional
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

_REMEMBERED = 100_000


class Times(dict[Any, datetime]):
    """`TIMES[text]` is the instant that a text names. A datetime is its own; anything else is an error."""

    def __missing__(self, value: Any) -> datetime:
        if isinstance(value, datetime):
            return value
        if value.__class__ is not str:
            raise EvaluationError(f"{shown(value)} is not a timestamp such as 2026-01-01T00:00:00Z")
        instant = parse_time(value)
        if len(self) >= _REMEMBERED:
            self.clear()
        self[value] = instant
        return instant


class Spans(dict[Any, timedelta]):
    """`SPANS[text]` is the duration that a text names. A timedelta is its own; anything else is an error."""

    def __missing__(self, value: Any) -> timedelta:
        if isinstance(value, timedelta):
            return value
        if value.__class__ is not str:
            raise EvaluationError(f"{shown(value)} is not a duration such as 90s or 1h30m")
        duration = parse_span(value)
        if len(self) >= _REMEMBERED:
            self.clear()
        self[value] = duration
        return duration


TIMES, SPANS = Times(), Spans()


@cache
def is_read(kind: Type) -> bool:
    """Return whether data of the type is not yet the value: times and durations, which it spells as texts, and doubles,
    which it may write without a fraction. Elements count.

    Fields of objects are not looked into: they are read where they are selected.
    """
    match kind:
        case ListType() | NullableType() | OptionalType():
            return is_read(kind.element)
        case MapType():
            return is_read(kind.value)
        case _:
            return kind in (TIMESTAMP, DURATION, DOUBLE)


def as_double(value: Any) -> Any:
    """Return a whole number as the double that its type says it is; what no double can hold stays as it is."""
    try:
        return float(value) if value.__class__ is int else value
    except OverflowError:
        return value


def duration_at(meter: Meter, site: int, value: Any) -> timedelta:
    """`duration(text)`, remembered; paid for as if it were not."""
    if value.__class__ is str:
        pay_for_span(meter, site, value)
    return SPANS[value]


EACH = 30
"""Units of one element or entry of a list or a map that is read."""


def convert(meter: Meter, site: int, value: Any, kind: Type, where: str) -> Any:
    """Return the value with the texts of times and durations read. `where` names it in messages."""
    try:
        return _convert(meter, site, value, kind)
    except BudgetExceeded:
        raise
    except (EvaluationError, TypeError) as error:
        reason = error.message if isinstance(error, EvaluationError) else f"{shown(value)} is no time"
        raise EvaluationError(f"{where}: {reason}") from None


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
        case OptionalType() if isinstance(value, Optional):
            if not value.present:
                return value
            return Optional(_convert(meter, site, value.value, kind.element), present=True)
        case ListType() if isinstance(value, list):
            spend(meter, site, EACH * len(value))
            return [_convert(meter, site, item, kind.element) for item in value]
        case MapType() if isinstance(value, Mapping):
            spend(meter, site, EACH * len(value))
            return {key: _convert(meter, site, item, kind.value) for key, item in value.items()}
    return value


def variable_types(kind: Type | None, count: int) -> tuple[Type | None, ...]:
    """Return the types of the one or two variables of a comprehension over `kind`; None where nothing is known."""
    match kind:
        case ListType():
            return (kind.element,) if count == 1 else (INT, kind.element)
        case MapType():
            return (kind.key, kind.value)[:count]
        case ObjectType():
            return (STRING, None)[:count]
    return (None,) * count


def element_kinds(kind: Type | None, count: int) -> tuple[Type | None, ...]:
    """Return what the variables of a comprehension over `kind` must be read as; None for as they are."""
    return tuple(found if found is not None and is_read(found) else None for found in variable_types(kind, count))
