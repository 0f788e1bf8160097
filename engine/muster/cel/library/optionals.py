"""Optionals: values that may be absent."""

from datetime import datetime, timedelta
from typing import Any

from muster.cel.declarations import TimeUse
from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library, part_of
from muster.cel.runtime.budget import PRECISE, Meter, spend
from muster.cel.runtime.comparison import different_at
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.numbers import FREE_LENGTH
from muster.cel.runtime.selection import NONE, OptionalValue
from muster.cel.values import TypeValue

LIBRARY = Library("optionals")
_NO_TIME = timedelta()


@LIBRARY.plain("optional_of  optional.of  (A) -> optional_type(A)", weight=8, moving=TimeUse.CARRIED, gives=part_of)
def of(value: Any) -> OptionalValue:
    """`optional.of(x)`: an optional with the value."""
    return OptionalValue(value, present=True)


@LIBRARY.metered(
    "optional_ofNonZeroValue  optional.ofNonZeroValue  (A) -> optional_type(A)",
    weight=8,
    grows=lambda args: args.between(0, PRECISE if args.precise(0) else 0),
    gives=part_of,
    moving=TimeUse.COMPARED,
)
def of_non_zero(meter: Meter, site: int, value: Any) -> OptionalValue:
    """`optional.ofNonZeroValue(x)`: an optional with the value, but empty for null, false, 0 and empty values."""
    if isinstance(value, timedelta):
        present = different_at(meter, site, value, _NO_TIME)
    else:
        present = isinstance(value, (TypeValue, datetime, OptionalValue)) or bool(value)
    return OptionalValue(value, present=True) if present else NONE


@LIBRARY.plain("optional_none  optional.none  () -> optional_type(A)", weight=4)
def none() -> OptionalValue:
    """`optional.none()`: an empty optional."""
    return NONE


def _optional(function: str, value: Any, *others: Any) -> OptionalValue:
    if isinstance(value, OptionalValue):
        return value
    raise no_overload(function, value, *others)


@LIBRARY.plain("optional_hasValue  hasValue  optional_type(A).() -> bool", weight=4, moving=TimeUse.CARRIED)
def has_value(value: Any) -> bool:
    """`x.hasValue()`: whether there is a value."""
    return _optional("hasValue", value).present


@LIBRARY.plain("optional_value  value  optional_type(A).() -> A", weight=4, moving=TimeUse.CARRIED, gives=part_of)
def value_of(value: Any) -> Any:
    """`x.value()`: the value; an error if there is none."""
    if _optional("value", value).present:
        return value.value
    raise EvaluationError("optional.none() dereference: there is no value; use orValue()")


@LIBRARY.plain(
    "optional_or_optional  or  optional_type(A).(optional_type(A)) -> optional_type(A)",
    weight=4,
    moving=TimeUse.CARRIED,
    gives=lambda args: args.extent(0) | args.extent(1),
)
def or_(value: Any, other: Any) -> OptionalValue:
    """`x.or(y)`: the first of two optionals that has a value."""
    return value if _optional("or", value, other).present else _optional("or", other)


@LIBRARY.plain(
    "optional_orValue_value  orValue  optional_type(A).(A) -> A",
    weight=4,
    moving=TimeUse.CARRIED,
    gives=lambda args: args.extent(0) | args.extent(1),
)
def or_value(value: Any, other: Any) -> Any:
    """`x.orValue(y)`: the value, or `y` if there is none."""
    return value.value if _optional("orValue", value, other).present else other


@LIBRARY.metered(
    "optional_unwrap  optional.unwrap  (list(optional_type(A))) -> list(A)",
    weight=4,
    moving=TimeUse.CARRIED,
    grows=lambda args: args.items(0).scaled(0.5).or_nothing,
    gives=part_of,
)
@LIBRARY.metered(
    "optional_unwrapOpt  unwrapOpt  list(optional_type(A)).() -> list(A)",
    weight=4,
    moving=TimeUse.CARRIED,
    grows=lambda args: args.items(0).scaled(0.5).or_nothing,
    gives=part_of,
)
def unwrap(meter: Meter, site: int, items: Any) -> list[Any]:
    """`optional.unwrap(list)`, `list.unwrapOpt()`: the values of all optionals that have one."""
    if not isinstance(items, list):
        raise no_overload("optional.unwrap", items)
    spend(meter, site, len(items) // 2 if len(items) > FREE_LENGTH else 0)
    return [item.value for item in items if _optional("optional.unwrap", item).present]
