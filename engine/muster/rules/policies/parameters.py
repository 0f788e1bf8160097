"""A policy's parameters: their types in expressions, and the values that the Fleet may give to those of a built-in
policy, which are others of the same type.

Built-in policies are proved never to fail for an allowed value.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from muster.cel.schema import common_type
from muster.cel.types import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    ListType,
    MapType,
    ObjectType,
    StringType,
    Type,
    required,
)
from muster.data.times import parse_duration
from muster.data.tree import Tree

#: The range of a number, for example of lease durations without a heartbeat.
LEAST: Final = 1
MOST: Final = 100
#: The longest duration: a year.
LONGEST: Final = timedelta(days=366)
_MOST_INT: Final = 1 << 63


def parameter_type(value: Tree) -> Type:
    """Return the type of a parameter with this value. The keys of a map may be computed, so its values share a type."""
    match value:
        case bool():
            return BOOL
        case int() if abs(value) < _MOST_INT:
            return INT
        case float():
            return DOUBLE
        case str():
            return StringType(text=value)
        case list():
            return ListType(common_type([_bare(parameter_type(item)) for item in value]))
        case dict():
            return MapType(STRING, common_type([_bare(parameter_type(item)) for item in value.values()]))
        case _:
            return DYN


def parameters_type(params: Mapping[str, Tree]) -> Type:
    """Return the type of `params` in the expressions of a policy with these parameters: other names are mistakes."""
    return ObjectType("params", required(**{str(name): parameter_type(value) for name, value in params.items()}))


def _bare(type_: Type) -> Type:
    return STRING if isinstance(type_, StringType) else type_


def is_duration(value: Tree) -> bool:
    """Is the value a duration, such as `30s`?"""
    try:
        return isinstance(value, str) and parse_duration(value) is not None
    except ValueError:
        return False


def wanted(default: Tree, value: Tree) -> str:
    """Return what a parameter with the `default` must be; empty if `value` is valid."""
    match default:
        case bool():
            return "" if isinstance(value, bool) else "true or false"
        case int():
            fits = isinstance(value, int) and not isinstance(value, bool) and LEAST <= value <= MOST
            return "" if fits else f"a whole number from {LEAST} to {MOST}"
        case list():
            return "" if isinstance(value, list) and all(isinstance(text, str) for text in value) else "a list of texts"
        case _ if is_duration(default):
            fits = is_duration(value) and timedelta() <= parse_duration(value) <= LONGEST
            return "" if fits else f"a duration such as {default}, of at most {LONGEST.days} days"
        case _:
            return "" if isinstance(value, str) else "a text"
