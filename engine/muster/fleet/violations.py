"""What is wrong with an object that does not meet its schema, by jsonschema.

Imported only if something is wrong: loading jsonschema takes longer than deciding a small fleet.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from muster.data.kinds import Kind
from muster.data.tree import Tree
from muster.fleet.bundle import bundle_path
from muster.fleet.schemas import FORMATS, load_schema, schema_of
from muster.regex import SPACE, Regex


@cache
def validator_of(kind: Kind) -> Draft202012Validator:
    """Return the validator of a kind. Tests check the schema itself, not every run."""
    return validator_for(schema_of(kind))


def validator_for(schema: Mapping[str, Tree]) -> Draft202012Validator:
    """Return the validator of a schema."""
    validator: Draft202012Validator = _Validator(schema, registry=_registry(), format_checker=_format_checker())
    return validator


@cache
def _format_checker() -> FormatChecker:
    checker = FormatChecker(formats=())
    for name, holds in FORMATS.items():
        checker.checks(name)(holds)
    return checker


@cache
def _registry() -> Registry[Any]:
    contents = {path.name: load_schema(path.name) for path in bundle_path("schemas").glob("*.json")}
    resources = []
    for name, content in contents.items():
        resource = Resource.from_contents(content, default_specification=DRAFT202012)
        resources.append((name, resource))
        if "$id" in content:
            resources.append((content["$id"], resource))
    registry: Registry[Any] = Registry().with_resources(resources)
    return registry


@cache
def compiled_pattern(pattern: str) -> Regex[str]:
    """Compile an ECMA pattern: `$` is the end, not also the place before a final newline as in Python, and `\\s`, which
    stands in brackets, knows the spaces of Unicode."""
    return Regex(pattern.replace(r"\s", SPACE))


def _pattern(_validator: object, pattern: str, instance: Tree, _schema: object) -> Iterator[ValidationError]:
    """jsonschema's own `pattern` accepts "name\\n" for `^[a-z]+$`."""
    if isinstance(instance, str) and not compiled_pattern(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Validator = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]
