"""The JSON Schemas of the kinds, and a fast check whether an object meets its own.

`FORMATS` checks times and durations: a pattern cannot reject a day that does not exist. `$ref`s resolve inside the
bundle only; nothing is fetched.

`without_nulls` drops optional nulls as an API server does: it prunes a null from every field that the schema does not
call nullable, before it fills in defaults and validates. Objects written elsewhere have many (`creationTimestamp:
null`, `taints: null`). A null stays if the schema takes one, leaves the content open, or does not know the field, which
is a finding.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TypeAlias

import jsonschema_rs

from muster.data.kinds import Kind
from muster.data.times import parse_duration, parse_time
from muster.data.tree import Tree
from muster.fleet.bundle import bundle_path

Gate: TypeAlias = jsonschema_rs.Draft202012Validator


def _holds(parse: Callable[[str], object]) -> Callable[[object], bool]:
    def holds(value: object) -> bool:
        if not isinstance(value, str):
            return True
        try:
            parse(value)
        except ValueError:
            return False
        return True

    return holds


#: What `format` means in our schemas.
FORMATS: Mapping[str, Callable[[object], bool]] = {"date-time": _holds(parse_time), "duration": _holds(parse_duration)}


@cache
def schema_of(kind: Kind) -> Mapping[str, Tree]:
    """Return a kind's schema as in its file."""
    return load_schema(f"{kind.schema}.json")


@cache
def common_definitions() -> Mapping[str, Tree]:
    """Return the definitions that the schemas share."""
    return load_schema("_common.json")


@cache
def _gate_of(kind: Kind) -> Gate:
    """The schema compiled for yes or no: some 3 microseconds per object."""
    return gate_for(schema_of(kind))


def gate_for(schema: Mapping[str, Tree]) -> Gate:
    """Return the fast check for a schema."""
    return jsonschema_rs.Draft202012Validator(
        dict(schema),
        retriever=lambda uri: dict(load_schema(uri.rpartition("/")[2])),
        formats={name: lru_cache(maxsize=1 << 14)(holds) for name, holds in FORMATS.items()},
        validate_formats=True,
    )


def is_sound(kind: Kind, body: Tree) -> bool:
    """Does an object meet its schema? Agrees with `validator_of`, which says what is wrong."""
    return _gate_of(kind).is_valid(body)


def load_schema(name: str) -> Mapping[str, Tree]:
    """Return a file of `schemas/`."""
    schema: Mapping[str, Tree] = json.loads((bundle_path("schemas") / name).read_text(encoding="utf-8"))
    return schema


def without_nulls(kind: Kind, body: Tree) -> Tree:
    """Return a copy of an object's body without the nulls that its schema does not take."""
    schema = schema_of(kind)
    return _pruned(body, schema, schema)


def _pruned(value: Tree, schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> Tree:
    schema, file = _resolved(schema, file)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        others = schema.get("additionalProperties")
        pruned: Tree = {}
        for name, child in value.items():
            below = fields.get(name, others)
            if not isinstance(below, dict):
                pruned[name] = child
            elif child is not None or _takes_null(below, file):
                pruned[name] = _pruned(child, below, file)
        return pruned
    if isinstance(value, list) and isinstance(elements := schema.get("items"), dict):
        return [_pruned(element, elements, file) for element in value]
    return value


def _resolved(schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """Follow `$ref`: return the definition, narrowed by what is beside the reference, and its file."""
    while (reference := schema.get("$ref")) is not None:
        siblings = schema
        name, _, pointer = reference.partition("#")
        schema = file = _file(name) if name else file
        for step in pointer.strip("/").split("/"):
            schema = schema[step]
        if "properties" in siblings:
            schema = {**schema, "properties": {**schema.get("properties", {}), **siblings["properties"]}}
    return schema, file


@cache
def _file(name: str) -> Mapping[str, Tree]:
    return load_schema(name)


def _takes_null(schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> bool:
    """Does the schema allow null: by its type, or because it allows any value?"""
    schema, _ = _resolved(schema, file)
    type_ = schema.get("type")
    if type_ is None:
        return not any(keyword in schema for keyword in ("enum", "const", "oneOf", "anyOf"))
    return "null" in ([type_] if isinstance(type_, str) else type_)
