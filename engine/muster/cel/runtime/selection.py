"""Selection: `a.b`, `a[k]`, `has(a.b)`; and optionals, the result of a selection that may find nothing.

Selecting from an optional gives an optional again, so the class and the functions need each other.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from muster.cel.errors import EvaluationError
from muster.cel.runtime.describe import no_overload, shown, spoken_type
from muster.cel.runtime.maps import build, find, get, missing
from muster.cel.values import UInt
from muster.dataclass import dataclass

_MISSING = object()


@dataclass(frozen=True, slots=True, eq=False)
class OptionalValue:
    """A CEL optional: a value or nothing."""

    value: Any = None
    present: bool = False
    cel_type: ClassVar[str] = "optional_type"

    def __repr__(self) -> str:
        """Return the expression that gives it."""
        return f"optional.of({shown(self.value)})" if self.present else "optional.none()"

    def __getitem__(self, key: Any) -> "OptionalValue":
        """Return the optional of the value at a key: `x.field` and `x[key]` on an optional."""
        return optional_index(self, key)


NONE = OptionalValue()
"""optional.none()"""


def select(operand: Any, field: str, label: str = "") -> Any:
    """Return `operand.field`; `label` is the operand's name in messages."""
    if isinstance(operand, Mapping):
        value = get(operand, field, _MISSING)
        if value is not _MISSING:
            return value
        raise missing(operand, field, label)
    if isinstance(operand, OptionalValue):
        return optional_select(operand, field)
    raise EvaluationError(
        lambda: f"no such field '{field}': {label or 'the value'} is a {spoken_type(operand)}, not a map"
    )


def has(operand: Any, field: str) -> bool:
    """Return `has(operand.field)`."""
    if isinstance(operand, Mapping):
        return field in operand
    if isinstance(operand, OptionalValue):
        return operand.present and has(operand.value, field)
    raise EvaluationError(lambda: f"no such overload: has() on a {spoken_type(operand)}")


def index(operand: Any, key: Any, label: str = "") -> Any:
    """Return `operand[key]`; `label` is the operand's name in messages."""
    if isinstance(operand, list):
        return operand[_position(operand, key)]
    if isinstance(operand, Mapping):
        value = find(operand, key, _MISSING)
        if value is not _MISSING:
            return value
        raise missing(operand, key, label)
    if isinstance(operand, OptionalValue):
        return optional_index(operand, key)
    raise no_overload("_[_]", operand, key)


def _position(items: list[Any], key: Any) -> int:
    if key.__class__ is float and key == int(key):
        key = int(key)
    if key.__class__ is not int and key.__class__ is not UInt:
        raise no_overload("_[_]", items, key)
    if 0 <= key < len(items):
        return int(key)
    raise EvaluationError(f"index out of bounds: {int(key)} in a list of {len(items)}")


def optional_select(operand: Any, field: str) -> OptionalValue:
    """Return `operand.?field`."""
    if isinstance(operand, OptionalValue):
        return optional_select(operand.value, field) if operand.present else operand
    if isinstance(operand, Mapping):
        value = get(operand, field, _MISSING)
        return NONE if value is _MISSING else OptionalValue(value, present=True)
    raise EvaluationError(lambda: f"no such field '{field}': a {spoken_type(operand)} has no fields")


def optional_index(operand: Any, key: Any) -> OptionalValue:
    """Return `operand[?key]`."""
    if isinstance(operand, OptionalValue):
        return optional_index(operand.value, key) if operand.present else operand
    if isinstance(operand, list):
        if key.__class__ not in (int, UInt, float):
            raise no_overload("_[?_]", operand, key)
        inside = 0 <= key < len(operand) and key == int(key)
        return OptionalValue(operand[int(key)], present=True) if inside else NONE
    if isinstance(operand, Mapping):
        value = find(operand, key, _MISSING)
        return NONE if value is _MISSING else OptionalValue(value, present=True)
    raise no_overload("_[?_]", operand, key)


def present_elements(elements: list[Any], optional: frozenset[int]) -> list[Any]:
    """Return the elements of a list literal. Those at `optional` are unwrapped, or left out if empty."""
    present = []
    for position, element in enumerate(elements):
        if position not in optional:
            present.append(element)
        elif _checked(element).present:
            present.append(element.value)
    return present


def build_entries(entries: list[tuple[Any, Any, bool]]) -> Mapping[Any, Any]:
    """Return the map of (key, value, optional). Optional values are unwrapped, or left out if empty."""
    present = []
    for key, value, optional in entries:
        if not optional:
            present.append((key, value))
        elif _checked(value).present:
            present.append((key, value.value))
    return build(present)


def _checked(value: Any) -> OptionalValue:
    if isinstance(value, OptionalValue):
        return value
    raise EvaluationError(f"no such overload: '?' before a {spoken_type(value)}, which is not an optional")
