"""Optional nulls are dropped, as an API server drops them: `field: null` means the same as no such line.

An API server prunes a null from every field that its schema does not call nullable, before it fills in defaults and
before it validates. Objects that others wrote carry many (`creationTimestamp: null`, `taints: null`). Where a schema
takes a null, or leaves the content to somebody else, it is somebody's word and stays; so does a null in a field
that nobody knows, which is a finding all the same.
"""

from collections.abc import Mapping
from functools import cache

from muster.data.kinds import Kind
from muster.data.tree import Tree
from muster.fleet.schemas import load_schema, schema_of


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
