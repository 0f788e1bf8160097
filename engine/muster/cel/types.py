"""The types of CEL, refined by what a schema knows: enums, lengths, fields.

A type is a frozen, hashable value. A *refinement* (the values of an enum, a maximal length or size) never decides
whether two types agree. It only tells the checker that a comparison cannot hold, and the cost model how large a value
can get. `str(type)` is the specification's notation (`map(string,list(int))`), and `parse_type` reads it. `canonical`
includes the refinements; caches use it as a key.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from muster.cel.values import Json
from muster.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """Base class of all types. Use the subclasses and the constants below."""


@dataclass(frozen=True, slots=True)
class Scalar(Type):
    """A type without parameters: `int`, `bool`, `timestamp`, `dyn` ..."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class StringType(Type):
    """A string; `max_length` counts code points, `values` are the only texts that the schema allows, `text` is the
    present value, where it is known and may be another one later."""

    max_length: int | None = None
    values: tuple[str, ...] | None = None
    text: str | None = None

    def __str__(self) -> str:
        return "string"


@dataclass(frozen=True, slots=True)
class ListType(Type):
    """A list of `element`, at most `max_items` long."""

    element: Type
    max_items: int | None = None

    def __str__(self) -> str:
        return f"list({self.element})"


@dataclass(frozen=True, slots=True)
class MapType(Type):
    """A map from `key` to `value` with at most `max_items` entries."""

    key: Type
    value: Type
    max_items: int | None = None

    def __str__(self) -> str:
        return f"map({self.key},{self.value})"


@dataclass(frozen=True, slots=True)
class OptionalType(Type):
    """A value that may be absent: the result of `a.?b`, `optional.of` or `optional.none`."""

    element: Type

    def __str__(self) -> str:
        return f"optional_type({self.element})"


@dataclass(frozen=True, slots=True)
class NullableType(Type):
    """A value of `element`, or null: a schema's `nullable` and `type: [T, "null"]`."""

    element: Type

    def __str__(self) -> str:
        return f"wrapper({self.element})"


@dataclass(frozen=True, slots=True)
class TypeType(Type):
    """The type of a type: the type of `type(x)`, and of the identifier `int`."""

    element: Type | None = None

    def __str__(self) -> str:
        return "type" if self.element is None else f"type({self.element})"


@dataclass(frozen=True, slots=True)
class OpaqueType(Type):
    """A library's own type (`net.IP`, `kubernetes.Quantity`), with parameters if it is generic."""

    name: str
    parameters: tuple[Type, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({','.join(map(str, self.parameters))})" if self.parameters else self.name


@dataclass(frozen=True, slots=True)
class TypeParam(Type):
    """A type variable of a generic overload; the checker binds it."""

    name: str

    def __str__(self) -> str:
        return f"type_param:{self.name}"


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field of an object type. A field that is not `required` may be absent: `has()` tells."""

    type: Type
    required: bool = False


def required(**types: Type) -> dict[str, FieldType]:
    """Return fields of these types that are always present."""
    return {name: FieldType(type_, required=True) for name, type_ in types.items()}


@dataclass(frozen=True, slots=True, eq=False)
class ObjectType(Type):
    """A mapping with known fields. `additional` is the type of all other fields; None forbids them."""

    name: str
    fields: Mapping[str, FieldType] = field(default_factory=lambda: MappingProxyType({}))
    additional: Type | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ObjectType):
            return NotImplemented
        same_head = self.name == other.name and self.additional == other.additional
        return same_head and dict(self.fields) == dict(other.fields)

    def __hash__(self) -> int:
        return hash((self.name, *self.fields))

    def __str__(self) -> str:
        return self.name


INT: Final = Scalar("int")
UINT: Final = Scalar("uint")
DOUBLE: Final = Scalar("double")
BOOL: Final = Scalar("bool")
STRING: Final = StringType()
BYTES: Final = Scalar("bytes")
NULL: Final = Scalar("null_type")
TIMESTAMP: Final = Scalar("timestamp")
DURATION: Final = Scalar("duration")
TYPE: Final = TypeType()
DYN: Final = Scalar("dyn")
#: The type of a part whose mistake is already reported. It agrees with everything, so one mistake is reported once.
ERROR: Final = Scalar("error")

NUMERIC: Final[frozenset[Type]] = frozenset((INT, UINT, DOUBLE))

#: The identifiers that denote types, as the specification and its libraries write them.
NAMED: Final[Mapping[str, Type]] = MappingProxyType(
    {
        **{scalar.name: scalar for scalar in (INT, UINT, DOUBLE, BOOL, BYTES, NULL, DYN)},
        "string": STRING,
        "list": ListType(DYN),
        "map": MapType(DYN, DYN),
        "type": TYPE,
        "optional_type": OptionalType(DYN),
        "google.protobuf.Timestamp": TIMESTAMP,
        "google.protobuf.Duration": DURATION,
        **{
            name: OpaqueType(name)
            for name in ("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL")
        },
    }
)


def parts(type_: Type) -> tuple[Type, ...]:
    """Return the types that `type_` is made of: elements, keys, parameters. Object types count as leaves."""
    match type_:
        case ListType() | OptionalType() | NullableType():
            return (type_.element,)
        case MapType():
            return (type_.key, type_.value)
        case TypeType():
            return () if type_.element is None else (type_.element,)
        case OpaqueType():
            return type_.parameters
        case _:
            return ()


def rebuild(type_: Type, parts_: Iterable[Type]) -> Type:
    """Return `type_` with other `parts` and the same refinements."""
    new = tuple(parts_)
    match type_:
        case ListType():
            return ListType(new[0], type_.max_items)
        case MapType():
            return MapType(new[0], new[1], type_.max_items)
        case OptionalType():
            return OptionalType(new[0])
        case NullableType():
            return NullableType(new[0])
        case TypeType():
            return TypeType(*new)
        case OpaqueType():
            return OpaqueType(type_.name, new)
        case _:
            return type_


def is_dyn(type_: Type) -> bool:
    """Return whether the type says nothing about its values."""
    return type_ in (DYN, ERROR)


def wider(bound: int | None, other: int | None) -> int | None:
    """Return the larger of two bounds; None means no bound."""
    return None if bound is None or other is None else max(bound, other)


def bare(type_: Type) -> Type:
    """Return the type without null."""
    return type_.element if isinstance(type_, NullableType) else type_


def may_have_times(type_: Type) -> bool:
    """Return whether a value of the type may be a time or a duration, or contain one."""
    match type_:
        case ListType() | NullableType() | OptionalType():
            return may_have_times(type_.element)
        case MapType():
            return may_have_times(type_.value)
        case ObjectType():
            inner = (*(field.type for field in type_.fields.values()), type_.additional)
            return any(may_have_times(inner_type) for inner_type in inner if inner_type is not None)
        case _:
            return type_ in (TIMESTAMP, DURATION) or is_dyn(type_)


# -- canonical form -------------------------------------------------------------------------------------------


def canonical(type_: Type) -> Json:
    """Return the type as JSON: everything that the checker, the code generator and the cost model use."""
    match type_:
        case StringType(max_length=None, values=None, text=None):
            return "string"
        case StringType():
            return ["string", type_.max_length, None if type_.values is None else list(type_.values), type_.text]
        case ListType():
            return ["list", canonical(type_.element), type_.max_items]
        case MapType():
            return ["map", canonical(type_.key), canonical(type_.value), type_.max_items]
        case ObjectType():
            fields = {name: [canonical(entry.type), entry.required] for name, entry in sorted(type_.fields.items())}
            return ["object", type_.name, fields, None if type_.additional is None else canonical(type_.additional)]
        case OptionalType() | NullableType() | OpaqueType() | TypeType():
            return [type(type_).__name__, getattr(type_, "name", ""), [canonical(part) for part in parts(type_)]]
        case _:
            return str(type_)


@lru_cache(maxsize=4096)
def type_digest(type_: Type) -> str:
    """Return a digest of the canonical form; equal types have the same. Most types of environments are constants."""
    return json_digest(canonical(type_))


def json_digest(value: Json) -> str:
    """Return a digest of a JSON value; the order of keys does not matter."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


# -- reading the specification's notation ---------------------------------------------------------------------

_SCALARS: Final[Mapping[str, Type]] = MappingProxyType(
    {
        **{type_.name: type_ for type_ in (INT, UINT, DOUBLE, BOOL, BYTES, NULL, TIMESTAMP, DURATION, DYN)},
        "string": STRING,
        "type": TYPE,
        "null": NULL,
        "google.protobuf.Timestamp": TIMESTAMP,
        "google.protobuf.Duration": DURATION,
    }
)
_GENERIC: Final[Mapping[tuple[str, int], Callable[..., Type]]] = MappingProxyType(
    {
        ("list", 1): ListType,
        ("map", 2): MapType,
        ("optional_type", 1): OptionalType,
        ("wrapper", 1): NullableType,
        ("type", 1): TypeType,
    }
)


def parse_type(text: str) -> Type:
    """Return the type that `text` names (`list(map(string,dyn))`). Raises ValueError if it is not a type.

    A single capital letter, or a name after `type_param:`, is a type parameter. An unknown name is an opaque type.
    """
    head, opened, rest = text.strip().partition("(")
    name = head.removeprefix("type_param:")
    if (
        not name.replace(".", "_").isidentifier()
        or not name[0].isascii()
        or name[0] == "."
        or (opened and not rest.endswith(")"))
    ):
        raise ValueError(f"{text!r} is not a type")
    if opened:
        inner = tuple(parse_type(part) for part in split_types(rest[:-1]))
        build = _GENERIC.get((head, len(inner)))
        return OpaqueType(head, inner) if build is None else build(*inner)
    if head.startswith("type_param:") or (len(head) == 1 and head.isupper()):
        return TypeParam(name)
    return _SCALARS.get(head) or OpaqueType(head)


def split_types(text: str) -> list[str]:
    """Split at the commas outside parentheses; empty for blank text."""
    parts_, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts_.append(text[start:position])
            start = position + 1
    return [*parts_, text[start:]] if text.strip() else []


def reduce_type(kind: Type) -> Type:
    """Return the type as the code generator uses it: scalars and what they make up. Objects become maps or `dyn`."""
    match kind:
        case StringType():
            return STRING
        case Scalar(name="error"):
            return DYN
        case Scalar():
            return kind
        case ListType():
            return ListType(reduce_type(kind.element))
        case MapType():
            return MapType(reduce_type(kind.key), reduce_type(kind.value))
        case OptionalType():
            return OptionalType(reduce_type(kind.element))
        case NullableType():
            return NullableType(reduce_type(kind.element))
        case ObjectType(additional=Type() as additional):
            return MapType(STRING, reduce_type(additional))
    return DYN
