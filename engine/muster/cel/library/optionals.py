"""Optionals: values that may be absent."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Function, linear, plain
from muster.cel.runtime.describe import no_overload
from muster.cel.runtime.selection import NONE, Optional
from muster.cel.values import TypeValue


def of(value: Any) -> Optional:
    """`optional.of(x)`"""
    return Optional(value, present=True)


def of_non_zero(value: Any) -> Optional:
    """`optional.ofNonZeroValue(x)`: none for null, false, 0 and what is empty."""
    if isinstance(value, (TypeValue, datetime, Optional)) or value:
        return Optional(value, present=True)
    return NONE


def none() -> Optional:
    """`optional.none()`"""
    return NONE


def _optional(function: str, value: Any, *others: Any) -> Optional:
    if isinstance(value, Optional):
        return value
    raise no_overload(function, value, *others)


def has_value(value: Any) -> bool:
    """`x.hasValue()`"""
    return _optional("hasValue", value).present


def value_of(value: Any) -> Any:
    """`x.value()`"""
    if _optional("value", value).present:
        return value.value
    raise EvaluationError("optional.none() dereference: there is no value; use orValue()")


def or_(value: Any, other: Any) -> Optional:
    """`x.or(y)`"""
    return value if _optional("or", value, other).present else _optional("or", other)


def or_value(value: Any, other: Any) -> Any:
    """`x.orValue(y)`"""
    return value.value if _optional("orValue", value, other).present else other


def unwrap(items: Any) -> list[Any]:
    """`optional.unwrap(list)`: the values of those that have one."""
    if not isinstance(items, list):
        raise no_overload("optional.unwrap", items)
    return [item.value for item in items if _optional("optional.unwrap", item).present]


FUNCTIONS: Mapping[str, Function] = {
    "optional.of": plain(of, 1, weight=8),
    "optional.ofNonZeroValue": plain(of_non_zero, 1, weight=8),
    "optional.none": plain(none, 0),
    "optional.unwrap": linear(unwrap, 1, stride=2),
}
METHODS: Mapping[str, Function] = {
    "hasValue": plain(has_value, 1),
    "value": plain(value_of, 1),
    "or": plain(or_, 2),
    "orValue": plain(or_value, 2),
    "unwrapOpt": linear(unwrap, 1, stride=2),
}
