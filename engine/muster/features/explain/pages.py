"""What is written about kinds and findings: the words of a schema about a field, the page of a finding's code."""

import re
from collections.abc import Mapping
from textwrap import fill
from typing import Final

from muster.data.codes import CODES
from muster.data.kinds import Kind, UnknownKind, kinds_named
from muster.data.names import did_you_mean
from muster.data.tree import Tree, mapping_at
from muster.fleet.schemas import common_definitions, schema_of

_CODE: Final = re.compile(r"MUS[0-9]{3}", re.IGNORECASE)
_WIDTH: Final = 100


def page_of(target: str) -> str | None:
    """Return the page of a finding's code, or of `KIND.FIELD`; None where `target` is neither.

    Raises UnknownKind where a kind has no such field, and no finding the code.
    """
    if _CODE.fullmatch(target):
        if (code := CODES.get(target.upper())) is None:
            raise UnknownKind(f"no finding has the code {target}")
        return f"{code.name} ({code.severity.value}): {code.title}\n\n{fill(code.explanation, _WIDTH)}\n"
    word, _, path = target.partition(".")
    if "/" in target or not path or path.endswith(".io"):
        return None
    return _field_page(kinds_named(word)[0], path)


def _field_page(kind: Kind, path: str) -> str:
    schema, steps = schema_of(kind), path.split(".")
    found: Tree = schema
    for number, step in enumerate(steps):
        properties = mapping_at(found, "properties")
        if step not in properties:
            where = ".".join((kind.name, *steps[:number]))
            raise UnknownKind(f"{where} has no field {step!r}. {did_you_mean(step, properties)}".strip())
        found = _resolved(properties[step])
    lines = [f"{kind.name}.{path}: {_type(found)}", "", fill(str(found.get("description") or "Not described."), _WIDTH)]
    inside = _resolved(found["items"]) if "items" in found else found
    if properties := mapping_at(inside, "properties"):
        lines += ["", "Fields:"]
        lines += [f"  {name}: {_type(_resolved(each))}" for name, each in sorted(properties.items())]
    return "\n".join(lines) + "\n"


def _resolved(schema: Tree) -> Tree:
    """A schema without its reference to the common ones; what stands beside the reference goes first."""
    reference = schema.get("$ref") if isinstance(schema, Mapping) else None
    if not isinstance(reference, str):
        return schema
    return {**mapping_at(common_definitions(), reference.rpartition("/")[2]), **schema}


def _type(schema: Tree) -> str:
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    type_ = schema.get("type", "any")
    text = " | ".join(type_) if isinstance(type_, list) else str(type_)
    if text == "array":
        return f"list of {_type(_resolved(schema.get('items', {})))}"
    return f"{text} ({schema['format']})" if "format" in schema else text
