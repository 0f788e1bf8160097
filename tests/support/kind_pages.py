"""docs/kinds/: a page for every kind, made of its schema, where every field has a description."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from muster.data.kinds import ALL, Kind
from muster.data.tree import Tree

SCHEMAS: Final = Path(__file__).resolve().parents[2] / "schemas"
_DEPTH: Final = 6  # of fields in fields; what lies deeper is in the schema


def kind_pages() -> dict[str, str]:
    """Return the pages by their paths in docs/."""
    kinds = sorted(ALL, key=lambda kind: (kind.name, kind.group))
    rows = [
        f"| [{kind.label}]({kind.schema}.md) | `{kind.api_version}` | {_first(_schema(_file(kind)))} |"
        for kind in kinds
    ]
    index = [
        "# Kinds",
        "",
        "Look up the fields of every kind. The pages are generated from `schemas/` by `make docs`;",
        "`muster export schemas` writes the schemas for [editors](../editors.md).",
        "",
        "| kind | apiVersion | meaning |",
        "|---|---|---|",
        *rows,
        "",
    ]
    return {"kinds/README.md": "\n".join(index)} | {f"kinds/{kind.schema}.md": _page(kind) for kind in kinds}


def _page(kind: Kind) -> str:
    schema = _schema(_file(kind))
    rows = [
        f"| `{path}` | {_type(field)} | {_told(field)} |"
        for part in schema["properties"]
        if part not in ("apiVersion", "kind", "metadata")
        for path, field in _fields(_file(kind), part, schema["properties"][part], 0)
    ]
    source = f"Generated from [`schemas/{_file(kind)}`](../../schemas/{_file(kind)}) by `make docs`."
    space = "namespaced" if kind.namespaced else "cluster-scoped"
    versions = ", ".join(f"`{kind.group}/{version}`" for version in kind.versions)
    return "\n".join([
        f"# {kind.label}",
        "",
        str(schema["description"]),
        "",
        f"{versions}, {space}. List them with `muster get {kind.folder}`. {source}",
        "",
        "| field | type | meaning |",
        "|---|---|---|",
        *rows,
        "",
    ])  # fmt: skip


def _fields(file: str, path: str, field: Tree, depth: int) -> Iterator[tuple[str, Mapping[str, Tree]]]:
    """Yield a field and those in it, each with its path: `[]` is an item of a list, `*` any key of a map."""
    file, field = _resolved(file, field)
    yield path, field
    if depth == _DEPTH:
        return
    for name, inner in field.get("properties", {}).items():
        yield from _fields(file, f"{path}.{name}", inner, depth + 1)
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        inner = field.get(key)
        if isinstance(inner, dict):
            _, resolved = _resolved(file, inner)
            if resolved.get("properties") or isinstance(resolved.get("items"), dict):
                yield from list(_fields(file, f"{path}{mark}", inner, depth + 1))[1:]


def _resolved(file: str, field: Tree) -> tuple[str, dict[str, Tree]]:
    """A field with what its reference says laid under it, and the file in which its own references are found."""
    while "$ref" in field:
        name, _, pointer = field["$ref"].partition("#")
        file = name or file
        found: Tree = _schema(file)
        for key in pointer.split("/")[1:]:
            found = found[key]
        inner, own = found.get("properties", {}), field.get("properties", {})
        both = {key: {**inner.get(key, {}), **own.get(key, {})} for key in (*inner, *own)}
        field = {**found, **{key: value for key, value in field.items() if key != "$ref"}, "properties": both}
    return file, dict(field)


def _type(field: Mapping[str, Tree]) -> str:
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return " ".join(f"`{value}`" for value in field["enum"])
    types = field.get("type", "any")
    names = [types] if isinstance(types, str) else [name for name in types if name != "null"]
    return " or ".join(str(field["format"]) if name == "string" and "format" in field else name for name in names)


def _told(field: Mapping[str, Tree]) -> str:
    default = f" Default: `{json.dumps(field['default'])}`." if "default" in field else ""
    return (str(field.get("description", "")) + default).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _first(schema: Mapping[str, Tree]) -> str:
    return str(schema["description"]).partition(". ")[0].rstrip(".").replace("|", "\\|").replace("<", "&lt;")


def _file(kind: Kind) -> str:
    return f"{kind.schema}.json"


@cache
def _schema(name: str) -> dict[str, Tree]:
    found: dict[str, Tree] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return found
