"""JSON Schema to CEL types."""

import pytest

from muster.cel.schema import MAX_SUBSCHEMAS, common_type, type_from_schema
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
)
from muster.cel.values import Json

TABLE: list[tuple[Json, Type]] = [
    ({"type": "string"}, STRING),
    ({"type": "string", "maxLength": 7}, StringType(7)),
    ({"type": "integer"}, INT),
    ({"type": "number"}, DOUBLE),
    ({"type": "boolean"}, BOOL),
    ({"type": "null"}, NULL),
    ({}, DYN),
    (True, DYN),
    ({"type": "string", "enum": ["True", "False"]}, StringType(values=("True", "False"))),
    ({"enum": ["a", "b"]}, StringType(values=("a", "b"))),
    ({"enum": ["a", None]}, NullableType(StringType(values=("a",)))),
    ({"const": 4}, INT),
    ({"enum": [1, "a"]}, DYN),
    ({"type": ["string", "null"]}, NullableType(STRING)),
    ({"type": ["string", "integer"]}, DYN),
    ({"type": "integer", "nullable": True}, NullableType(INT)),
    ({"type": "array", "items": {"type": "string"}, "maxItems": 3}, ListType(STRING, 3)),
    ({"type": "array"}, ListType(DYN)),
    ({"items": {"type": "integer"}}, ListType(INT)),
    ({"type": "object"}, MapType(STRING, DYN)),
    ({"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 9}, MapType(STRING, STRING, 9)),
    ({"type": "object", "additionalProperties": True}, MapType(STRING, DYN)),
    ({"type": "object", "additionalProperties": False}, ObjectType("it")),
    ({"type": "object", "patternProperties": {"^x": {"type": "integer"}}}, MapType(STRING, INT)),
    (
        {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]},
        ObjectType("it", {"a": FieldType(INT, required=True), "b": FieldType(DYN)}),
    ),
    (
        {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}},
        ObjectType("it", {"a": FieldType(INT)}, STRING),
    ),
    ({"x-kubernetes-int-or-string": True, "type": "string"}, DYN),
    ({"x-kubernetes-preserve-unknown-fields": True, "type": "object"}, DYN),
    (
        {"x-kubernetes-preserve-unknown-fields": True, "properties": {"a": {"type": "integer"}}},
        ObjectType("it", {"a": FieldType(INT)}, DYN),
    ),
    ({"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "maxLength": 5}]}, StringType(5)),
    ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, DYN),
    ({"oneOf": [{"type": "string"}, {"type": "null"}]}, NullableType(STRING)),
    ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, INT),
    ({"type": "integer", "anyOf": [{"minimum": 3}]}, INT),
    ({"type": "string", "format": "date-time"}, TIMESTAMP),
    ({"type": "string", "format": "duration"}, DURATION),
    ({"type": "unheard-of"}, DYN),
    ({"type": 5}, DYN),
]


@pytest.mark.parametrize(("schema", "type_"), TABLE, ids=lambda value: str(value)[:60])
def test_the_type_of_a_schema(schema: Json, type_: Type) -> None:
    wrapped = type_from_schema({"type": "array", "items": schema}, temporal=True, name="list")
    expected = type_from_schema({"type": "array", "items": {}}, name="list")
    assert isinstance(wrapped, ListType)
    assert isinstance(expected, ListType)
    assert _renamed(wrapped.element) == type_


def _renamed(type_: Type) -> Type:
    return ObjectType("it", type_.fields, type_.additional) if isinstance(type_, ObjectType) else type_


@pytest.mark.parametrize("format_", ["date-time", "duration"])
def test_times_stay_strings_where_not_asked_for(format_: str) -> None:
    assert type_from_schema({"type": "string", "format": format_}, temporal=False) == STRING


def test_objects_are_named_by_their_path() -> None:
    schema = {"properties": {"spec": {"properties": {"a": {}}}, "list": {"items": {"properties": {"b": {}}}}}}
    type_ = type_from_schema(schema, name="self")
    assert isinstance(type_, ObjectType)
    assert str(type_.fields["spec"].type) == "self.spec"
    assert str(type_.fields["list"].type) == "list(self.list[])"


def test_references_are_followed() -> None:
    schema = {
        "$defs": {"a/b": {"type": "array", "items": {"$ref": "#/$defs/n"}}, "n": {"type": "integer"}},
        "$ref": "#/$defs/a~1b",
    }
    assert type_from_schema(schema) == ListType(INT)


def test_references_lead_into_other_documents_and_on_from_there() -> None:
    common = {"$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/text"}}, "text": {"type": "string"}}}
    type_ = type_from_schema({"$ref": "_common.json#/$defs/list"}, documents={"_common.json": common})
    assert type_ == ListType(STRING)


@pytest.mark.parametrize("reference", ["#/$defs/none", "other.json#/x", "#/$defs/deep/er"])
def test_a_reference_to_nowhere_is_dyn(reference: str) -> None:
    assert type_from_schema({"$ref": reference}) == DYN


def test_a_schema_that_contains_itself_is_dyn_where_it_begins_again() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
    type_ = type_from_schema({"$defs": {"node": node}, "$ref": "#/$defs/node"}, name="node")
    assert type_ == ObjectType("node", {"next": FieldType(DYN), "n": FieldType(INT)})


def test_references_that_multiply_do_not_blow_up() -> None:
    levels = 60
    definitions = {
        f"l{level}": {"properties": {side: {"$ref": f"#/$defs/l{level + 1}"} for side in "ab"}}
        for level in range(levels)
    }
    type_ = type_from_schema({"$defs": definitions, "$ref": "#/$defs/l0"})
    assert _size(type_) <= MAX_SUBSCHEMAS


def _size(type_: Type) -> int:
    if not isinstance(type_, ObjectType):
        return 1
    return 1 + sum(_size(field.type) for field in type_.fields.values())


def test_enums_of_alternatives_are_joined() -> None:
    assert common_type([StringType(values=("a", "b")), StringType(values=("b", "c"))]) == StringType(
        values=("a", "b", "c")
    )
    assert common_type([StringType(values=("a",)), STRING]) == STRING
    assert common_type([ListType(StringType(3), 2), ListType(STRING, 5)]) == ListType(STRING, 5)
    assert common_type([]) == DYN
    assert common_type([NULL]) == NULL
