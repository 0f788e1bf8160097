"""What schemas say of the inputs of policies beyond their types: how large numbers are, and how short texts."""

import re
from collections.abc import Mapping
from typing import Final

from muster.data.kinds import ADAPTER_REPORT, FLEET, LEASE, MANAGED_CLUSTER, Kind
from muster.data.tree import Tree, dig, mapping_at
from muster.fleet.schemas import common_definitions, load_schema, schema_of
from muster.rules.policies.parameters import LEAST, LONGEST, MOST

#: A step of a path: a field, or an element or a key.
_STEP: Final = re.compile(r"\.([^.\[]+)|\[[^\]]*\]")
_CONDITIONS: Final = {"additionalProperties": {"$ref": "_common.json#/$defs/condition"}}


def schema_at(kind: Kind, path: str) -> Mapping[str, Tree]:
    """Return the schema of an input of policies over a kind, by a path such as `self.spec.leaseDurationSeconds`; empty
    where there is none. `longest`, which is no word of schemas, bounds a duration in seconds that is not negative."""
    name = re.split(r"[.\[]", path, maxsplit=1)[0]
    schema, file = _root(kind, name)
    for step in _STEP.finditer(path, len(name)):
        named = mapping_at(schema, "properties").get(step[1])
        below = named or schema.get("items") or schema.get("additionalProperties")
        if not isinstance(below, dict):
            return {}
        schema, file = _resolved(below, file)
    return schema


def _root(kind: Kind, name: str) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """The schema of a variable, and the file that it stands in."""
    match name:
        case "self" | "object" | "oldObject" | "derived" | "lease" | "cluster":
            schema = schema_of({"lease": LEASE, "cluster": MANAGED_CLUSTER}.get(name, kind))
            return schema, schema
        case "fleet":
            return mapping_at(schema_of(FLEET), "properties", "spec"), schema_of(FLEET)
        case "reports":
            return {"items": dig(schema_of(ADAPTER_REPORT), "properties", "spec")}, schema_of(ADAPTER_REPORT)
        case "params":
            return {"additionalProperties": {"minimum": LEAST, "maximum": MOST, "longest": LONGEST.total_seconds()}}, {}
        case "reported" | "previous" | "conditions":
            return _CONDITIONS, common_definitions()
        case _:
            return {}, {}


def _resolved(schema: Mapping[str, Tree], file: Mapping[str, Tree]) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """Follow `$ref`; what stands beside the reference counts as well."""
    while isinstance(reference := schema.get("$ref"), str):
        name, _, pointer = reference.partition("#")
        file = load_schema(name) if name else file
        beside = {word: value for word, value in schema.items() if word != "$ref"}
        target = mapping_at(file, *filter(None, pointer.split("/")))
        fields = {**mapping_at(target, "properties"), **mapping_at(beside, "properties")}
        schema = {**target, **beside, "properties": fields}
    return schema, file
