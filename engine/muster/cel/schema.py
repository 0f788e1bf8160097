"""CEL types from JSON Schema (draft 2020-12, with the Kubernetes extensions that CRDs use).

The type never says more than the schema. If alternatives disagree, if unknown fields are kept, or if a schema refers to
itself, the type is `dyn`, and the checker reports nothing instead of guessing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import count
from types import MappingProxyType
from typing import Final

from muster.cel.types import (
    BOOL,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    FieldType,
    ListType,
    MapType,
    NullableType,
    ObjectType,
    StringType,
    Type,
    wider,
)
from muster.cel.values import Json
from muster.dataclass import dataclass

#: The deepest nesting of a type: deeper values are `dyn`.
MAX_DEPTH: Final = 40

#: The most subschemas of one type, counting a reference each time it is followed: definitions that refer to each other
#: twice grow exponentially. The rest is `dyn`.
MAX_SUBSCHEMAS: Final = 20_000

_OBJECT_WORDS: Final = ("properties", "additionalProperties", "patternProperties")


def type_from_schema(
    schema: Mapping[str, Json],
    *,
    temporal: bool = False,
    name: str = "object",
    documents: Mapping[str, Mapping[str, Json]] = MappingProxyType({}),
) -> Type:
    """Return the CEL type of the values that `schema` allows.

    With `temporal`, `format: date-time` is a timestamp and `format: duration` a duration; without, both are
    strings, as in a ValidatingAdmissionPolicy. `name` is the name of the outermost object in messages. References
    are followed inside the schema (`#/$defs/...`) and into `documents`, by file name (`_common.json#/$defs/...`). A
    reference to itself, or to nothing, is `dyn`.
    """
    return _Reader("", schema, documents, temporal).type_of(schema, name)


@dataclass(frozen=True, slots=True)
class _Reader:
    """One schema document; `following` has the references that are being resolved."""

    document: str
    root: Mapping[str, Json]
    documents: Mapping[str, Mapping[str, Json]]
    temporal: bool
    following: tuple[tuple[str, str], ...] = ()
    depth: int = 0
    visits: Iterator[int] = field(default_factory=count)

    def type_of(self, schema: Json, name: str) -> Type:
        """Return the type of one subschema; `name` is the dotted path to it."""
        if not isinstance(schema, Mapping) or self.depth > MAX_DEPTH or next(self.visits) > MAX_SUBSCHEMAS:
            return DYN
        if _is_free(schema):
            return DYN
        inner = replace(self, depth=self.depth + 1)
        if isinstance(reference := schema.get("$ref"), str):
            return inner._referenced(reference, name)
        if isinstance(branches := schema.get("anyOf") or schema.get("oneOf"), list) and not _says_type(schema):
            return common_type([inner.type_of(branch, name) for branch in branches])
        if isinstance(branches := schema.get("allOf"), list) and not _says_type(schema):
            typed = [type_ for branch in branches if (type_ := inner.type_of(branch, name)) != DYN]
            return typed[0] if len(typed) == 1 else DYN
        return inner._typed(schema, name)

    def _referenced(self, reference: str, name: str) -> Type:
        file, _, pointer = reference.partition("#")
        place = (file or self.document, pointer)
        root = self.documents.get(file) if file else self.root
        if place in self.following or root is None:
            return DYN
        target: Json = root
        for step in filter(None, pointer.split("/")):
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        inner = replace(self, document=place[0], root=root, following=(*self.following, place))
        return inner.type_of(target, name)

    def _typed(self, schema: Mapping[str, Json], name: str) -> Type:
        """Return the type of a schema from its `type`, or from the keywords that imply one."""
        names = schema.get("type")
        if names is None:
            names = _implied(schema)
        all_kinds = [names] if isinstance(names, str) else list(names) if isinstance(names, list) else []
        kinds = [kind for kind in all_kinds if kind != "null"]
        if not all_kinds:
            return DYN
        common = common_type([self._of_kind(kind, schema, name) for kind in kinds]) if kinds else NULL
        nullable = len(kinds) < len(all_kinds) or schema.get("nullable") is True
        return NullableType(common) if nullable and common not in (DYN, NULL) else common

    def _of_kind(self, kind: Json, schema: Mapping[str, Json], name: str) -> Type:
        match kind:
            case "string":
                return self._string(schema)
            case "integer":
                return INT
            case "number":
                return DOUBLE
            case "boolean":
                return BOOL
            case "array":
                return ListType(self.type_of(schema.get("items"), f"{name}[]"), _bound(schema, "maxItems"))
            case "object":
                return self._object(schema, name)
            case _:
                return DYN

    def _string(self, schema: Mapping[str, Json]) -> Type:
        if self.temporal and schema.get("format") == "date-time":
            return TIMESTAMP
        if self.temporal and schema.get("format") == "duration":
            return DURATION
        values = schema.get("enum") if "enum" in schema else [schema["const"]] if "const" in schema else None
        texts = None
        if isinstance(values, list):
            texts = tuple(value for value in values if isinstance(value, str)) or None
        return StringType(_bound(schema, "maxLength"), texts)

    def _object(self, schema: Mapping[str, Json], name: str) -> Type:
        """Return an object type if the schema names fields, else a map of the type of its values, `dyn` if unknown."""
        properties, additional = schema.get("properties"), schema.get("additionalProperties")
        rest = self._rest(schema, name)
        if isinstance(properties, Mapping) and (properties or additional is False):
            required = schema.get("required") or ()
            fields = {
                str(key): FieldType(self.type_of(value, f"{name}.{key}"), key in required)
                for key, value in properties.items()
            }
            return ObjectType(name, fields, rest)
        if additional is False and not schema.get("patternProperties"):
            return ObjectType(name)
        return MapType(STRING, rest or DYN, _bound(schema, "maxProperties"))

    def _rest(self, schema: Mapping[str, Json], name: str) -> Type | None:
        """Return the type of the fields that `properties` does not name; None if expressions must not use any.

        By default JSON Schema allows any field. So does a pruning API server, but there an expression that names such
        a field is a type error, and so it is here.
        """
        additional, patterns = schema.get("additionalProperties"), schema.get("patternProperties")
        typed = patterns.values() if isinstance(patterns, Mapping) else ()
        kinds = [self.type_of(value, f"{name}[]") for value in typed]
        if schema.get("x-kubernetes-preserve-unknown-fields") is True:
            kinds.append(DYN)
        if isinstance(additional, Mapping):
            kinds.append(self.type_of(additional, f"{name}[]"))
        elif additional is True:
            kinds.append(DYN)
        return common_type(kinds) if kinds else None


def common_type(types: list[Type]) -> Type:
    """Return the type that all of `types` share, apart from null; else `dyn`.

    Enums are joined and lengths widened. Objects must be equal.
    """
    present = [type_ for type_ in types if type_ != NULL]
    if not present:
        return NULL if types else DYN
    common = present[0]
    for type_ in present[1:]:
        common = _joined(common, type_)
    return common if len(present) == len(types) or common == DYN else NullableType(common)


def _joined(type_: Type, other: Type) -> Type:
    if type_ == other:
        return type_
    if isinstance(type_, StringType) and isinstance(other, StringType):
        values = None if type_.values is None or other.values is None else (*type_.values, *other.values)
        return StringType(wider(type_.max_length, other.max_length), values and tuple(dict.fromkeys(values)))
    if isinstance(type_, ListType) and isinstance(other, ListType):
        return ListType(_joined(type_.element, other.element), wider(type_.max_items, other.max_items))
    return DYN


def _bound(schema: Mapping[str, Json], keyword: str) -> int | None:
    value = schema.get(keyword)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _is_free(schema: Mapping[str, Json]) -> bool:
    """Return whether the schema accepts any value, or a number in place of a string."""
    if schema.get("x-kubernetes-int-or-string") is True or schema.get("x-kubernetes-embedded-resource") is True:
        return True
    return schema.get("x-kubernetes-preserve-unknown-fields") is True and not schema.get("properties")


def _says_type(schema: Mapping[str, Json]) -> bool:
    return "type" in schema or any(keyword in schema for keyword in _OBJECT_WORDS)


def _implied(schema: Mapping[str, Json]) -> Json:
    """Return the type that a schema without `type` implies by its values or keywords."""
    if "const" in schema or isinstance(schema.get("enum"), list):
        values = schema["enum"] if "enum" in schema else [schema["const"]]
        return sorted({_kind_of(value) for value in values})
    if any(keyword in schema for keyword in _OBJECT_WORDS):
        return "object"
    return "array" if "items" in schema else None


def _kind_of(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
