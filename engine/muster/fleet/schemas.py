"""The JSON Schemas of the kinds, ready to validate with.

`$ref`s between the files of `schemas/` resolve inside the bundle and nowhere else: nothing is ever fetched.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from muster.fleet.bundle import bundle_path
from muster.model.kinds import Kind
from muster.model.tree import Tree


@cache
def schema_of(kind: Kind) -> Mapping[str, Tree]:
    """Return the schema of a kind as it stands in its file."""
    return _load(f"{kind.schema}.json")


@cache
def common_definitions() -> Mapping[str, Tree]:
    """Return the definitions that the schemas share."""
    return _load("_common.json")


@cache
def validator_of(kind: Kind) -> Draft202012Validator:
    """Return the validator of a kind. The schema itself is checked by the tests, not on every run."""
    validator: Draft202012Validator = _Validator(schema_of(kind), registry=_registry())
    return validator


@cache
def _gate_of(kind: Kind) -> jsonschema_rs.Draft202012Validator:
    """The same schema for the yes or no: compiled once, some 3 microseconds for an object."""
    return jsonschema_rs.Draft202012Validator(
        dict(schema_of(kind)), retriever=lambda uri: dict(_load(uri.rpartition("/")[2]))
    )


def is_sound(kind: Kind, body: Tree) -> bool:
    """Whether an object meets its schema. Agrees with `validator_of`, which says what is wrong where this says no."""
    return _gate_of(kind).is_valid(body)


def _load(name: str) -> Mapping[str, Tree]:
    schema: Mapping[str, Tree] = json.loads((bundle_path("schemas") / name).read_text(encoding="utf-8"))
    return schema


@cache
def _registry() -> Registry[Any]:
    contents = {
        path.name: json.loads(path.read_text(encoding="utf-8")) for path in bundle_path("schemas").glob("*.json")
    }
    resources = []
    for name, content in contents.items():
        resource = Resource.from_contents(content, default_specification=DRAFT202012)
        resources.append((name, resource))
        if "$id" in content:
            resources.append((content["$id"], resource))
    registry: Registry[Any] = Registry().with_resources(resources)
    return registry


@cache
def compiled_pattern(pattern: str) -> re.Pattern[str]:
    """Compile an ECMA pattern so that `$` means the end, not the place before a final newline as Python has it."""
    return re.compile(re.sub(r"(?<!\\)\$$", r"\\Z", pattern))


def _pattern(_validator: object, pattern: str, instance: Tree, _schema: object) -> Iterator[ValidationError]:
    """jsonschema's own `pattern` accepts "name\\n" for `^[a-z]+$`."""
    if isinstance(instance, str) and not compiled_pattern(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
