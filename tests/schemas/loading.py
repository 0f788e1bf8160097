"""The schemas as a validator sees them: registered under their file names, with patterns that match whole strings."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator, ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource

from muster.data.tree import Tree

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schemas"


def _whole_match(_validator: object, pattern: str, instance: object, _schema: object) -> Iterator[ValidationError]:
    """The `pattern` keyword without the hole that Python's `$` leaves before a final newline."""
    if isinstance(instance, str) and not re.fullmatch(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator = extend(Draft202012Validator, {"pattern": _whole_match})  # type: ignore[no-untyped-call]


@cache
def schemas() -> dict[str, Tree]:
    """Every schema file by its stem, `_common` among them."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(SCHEMAS.glob("*.json"))}


@cache
def _registry() -> Registry[Tree]:
    resources = ((f"{stem}.json", Resource.from_contents(schema)) for stem, schema in schemas().items())
    registry: Registry[Tree] = Registry()
    return registry.with_resources(resources)


def resolve(reference: str, base: str) -> tuple[Tree, str]:
    """The schema that a `$ref` inside the file `base` points to, and the file that it stands in."""
    file, _, pointer = reference.partition("#")
    stem = file.removesuffix(".json") or base
    node = schemas()[stem]
    for step in pointer.strip("/").split("/"):
        node = node[step]
    return node, stem


def errors(stem: str, value: Tree) -> list[tuple[str, str]]:
    """What the schema `stem` has against a value: JSON path and message, sorted."""
    validator = _Validator(schemas()[stem], registry=_registry())
    return sorted((error.json_path, error.message) for error in validator.iter_errors(value))


def subschema_errors(subschema: Tree, base: str, value: Tree) -> list[str]:
    """What one part of the file `base` has against a value."""
    part = {"$defs": schemas()[base].get("$defs", {}), **subschema}
    return [error.message for error in _Validator(part, registry=_registry()).iter_errors(value)]


def load_yaml(path: Path) -> Tree:
    """A YAML file of the tests, all of whose times are quoted."""
    with path.open(encoding="utf-8") as stream:
        return yaml.load(stream, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
