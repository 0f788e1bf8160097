"""The types of variables in expressions, from the schemas, with dates and durations as timestamps and durations."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from muster.cel.schema import type_from_schema
from muster.cel.types import ObjectType, Type
from muster.data.kinds import Kind
from muster.data.tree import Tree, mapping_at
from muster.fleet.schemas import common_definitions, schema_of


@cache
def object_type(kind: Kind) -> Type:
    """The type of an assembled object of a kind.

    A file may carry fields of `metadata` that the schema does not name, as a live hub's objects do. An expression that
    names one is a mistake.
    """
    schema_type = type_from_schema(schema_of(kind), temporal=True, name=kind.name, documents=_documents())
    if isinstance(schema_type, ObjectType) and isinstance(metadata := schema_type.fields["metadata"].type, ObjectType):
        closed = replace(schema_type.fields["metadata"], type=replace(metadata, additional=None))
        return replace(schema_type, fields={**schema_type.fields, "metadata": closed})
    return schema_type


@cache
def spec_type(kind: Kind) -> Type:
    """The type of a kind's spec."""
    schema = mapping_at(schema_of(kind), "properties", "spec")
    return type_from_schema(schema, temporal=True, name=f"{kind.name}.spec", documents=_documents())


@cache
def condition_type() -> Type:
    """The type of one condition."""
    schema = mapping_at(common_definitions(), "$defs", "condition")
    documents = {"": common_definitions(), **_documents()}
    return type_from_schema(
        {"$defs": common_definitions()["$defs"], **schema}, temporal=True, name="condition", documents=documents
    )


def _documents() -> Mapping[str, Mapping[str, Tree]]:
    return {"_common.json": common_definitions()}
