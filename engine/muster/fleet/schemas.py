"""The JSON Schemas of the kinds, and the yes or no whether an object meets its own.

Times and durations are held to what they are by `FORMATS`: a pattern cannot say that a day does not exist.

`$ref`s between the files of `schemas/` resolve inside the bundle and nowhere else: nothing is ever fetched.

`without_nulls` drops optional nulls as an API server drops them: it prunes a null from every field that the schema does
not call nullable, before it fills in defaults and validates. Objects written elsewhere carry many
(`creationTimestamp: null`, `taints: null`). A null stays where the schema takes one, and in a field that no schema
names, which is a finding.

Optional nulls are dropped, as an API server drops them: `field: null` means the same as no such line.

An API server prunes a null from every field that its schema does not call nullable, before it fills in defaults and
before it validates. Objects that others wrote carry many (`creationTimestamp: null`, `taints: null`). Where a schema
takes a null, or leaves the content to somebody else, it is somebody's word and stays; so does a null in a field
that nobody knows, which is a finding all the same.
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
    """Return the schema of a kind as it stands in its file."""
    return load_schema(f"{kind.schema}.json")


@cache
def common_definitions() -> Mapping[str, Tree]:
    """Return the definitions that the schemas share."""
    return load_schema("_common.json")


@cache
def _gate_of(kind: Kind) -> Gate:
    """The same schema for the yes or no: compiled once, some 3 microseconds for an object."""
    return gate_for(schema_of(kind))


def gate_for(schema: Mapping[str, Tree]) -> Gate:
    """Return what tells whether a tree meets a schema."""
    return jsonschema_rs.Draft202012Validator(
        dict(schema),
        retriever=lambda uri: dict(load_schema(uri.rpartition("/")[2])),
        formats={name: lru_cache(maxsize=1 << 14)(holds) for name, holds in FORMATS.items()},
        validate_formats=True,
    )


def is_sound(kind: Kind, body: Tree) -> bool:
    """Whether an object meets its schema. Agrees with `validator_of`, which says what is wrong where this says no."""
    return _gate_of(kind).is_valid(body)


def load_schema(name: str) -> Mapping[str, Tree]:
    """Return a file of `schemas/` as it stands."""
    schema: Mapping[str, Tree] = json.loads((bundle_path("schemas") / name).read_text(encoding="utf-8"))
    return schema


def without_nulls(kind: Kind, body: Tree) -> Tree:
    """Return an object's body without the nulls that its schema does not take. The body given is not changed."""
    schema = schema_of(kind)
    return _pruned(body, schema, schema)


def _pruned(value: Tree, schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> Tree:
    schema, file = _resolved(schema, file)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        others = schema.get("additionalProperties")
        kept: Tree = {}
        for name, child in value.items():
            below = fields.get(name, others)
            if not isinstance(below, dict):
                kept[name] = child
            elif child is not None or _takes_null(below, file):
                kept[name] = _pruned(child, below, file)
        return kept
    if isinstance(value, list) and isinstance(elements := schema.get("items"), dict):
        return [_pruned(element, elements, file) for element in value]
    return value


def _resolved(schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """Follow `$ref`: the definition narrowed by what stands beside the reference, and the file that it stands in."""
    while (reference := schema.get("$ref")) is not None:
        beside = schema
        name, _, pointer = reference.partition("#")
        schema = file = _file(name) if name else file
        for step in pointer.strip("/").split("/"):
            schema = schema[step]
        if "properties" in beside:
            schema = {**schema, "properties": {**schema.get("properties", {}), **beside["properties"]}}
    return schema, file


@cache
def _file(name: str) -> Mapping[str, Tree]:
    return load_schema(name)


def _takes_null(schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> bool:
    """Whether a null is a value here: the type lists it, or any value will do."""
    schema, _ = _resolved(schema, file)
    type_ = schema.get("type")
    if type_ is None:
        return not any(word in schema for word in ("enum", "const", "oneOf", "anyOf"))
    return "null" in ([type_] if isinstance(type_, str) else type_)
