"""docs/kinds/: a page for every kind: who writes it, a whole example, and its fields as a tree, made of its schema."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

import yaml

from muster.data.kinds import (
    ALL,
    CLUSTER_DEPLOYMENT,
    KARMADA_CLUSTER,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADD_ON,
    MANIFEST_WORK,
    Kind,
    id_of_body,
    short_names,
)
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree
from muster.features.about.resources import SYSTEMS, system_of, writers
from muster.fleet.derived_parts import derived_schema
from muster.fleet.layout import DECLARED, file_places

_TESTS: Final = Path(__file__).resolve().parents[1]
SCHEMAS: Final = _TESTS.parent / "schemas"
_DEPTH: Final = 7  # of fields in fields; what lies deeper is in the schema
_IDENTITY: Final = ("apiVersion", "kind", "metadata")
_TITLES: Final = {"core": "Core: muster's own and Kubernetes'", "OCM": "Open Cluster Management"}
#: What an agent's branch may have of a kind, if it is less than the sections in the registry.
_OF_AGENTS: Final = {
    MANAGED_CLUSTER: "`status`, and labels and `spec` as a proposal",
    KARMADA_CLUSTER: "`status`, and labels as a proposal",
    CLUSTER_DEPLOYMENT: "`spec.installed`, `spec.clusterMetadata`, `status`",
    **dict.fromkeys((MANIFEST_WORK, MANAGED_CLUSTER_ADD_ON), "`status`"),
}


def kind_pages() -> dict[str, str]:
    """Return the pages by their paths in docs/."""
    kinds = sorted(ALL, key=lambda kind: (kind.name, kind.group))
    index = [
        "# Kinds",
        "",
        "Look up the fields, an example and the writers of every kind, by the system that it comes from. `muster",
        "export schemas` writes the schemas for [editors](../guide.md#editors). Generated from `schemas/` by",
        "`make docs`. The level says [what stays compatible](../../GOVERNANCE.md#what-stays-compatible).",
        "",
    ]
    for system in SYSTEMS:
        index += [
            f"## {_TITLES.get(system, system)}",
            "",
            "| kind | meaning | apiVersion | level |",
            "|---|---|---|---|",
        ]
        index += [
            f"| [{kind.label}]({kind.schema}.md) | {_meaning(kind)} | `{kind.api_version}` | {_level(kind)} |"
            for kind in kinds
            if system_of(kind) == system
        ]
        index.append("")
    return {"kinds/README.md": "\n".join(index)} | {f"kinds/{kind.schema}.md": _page(kind) for kind in kinds}


def _meaning(kind: Kind) -> str:
    return _first(_schema(_file(kind)))


def _level(kind: Kind) -> str:
    """What stays compatible: as its version says for muster's own kinds, else as upstream."""
    if kind.group != "muster.dev":
        return "upstream"
    return next((name for name in ("alpha", "beta") if name in kind.versions[0]), "stable")


def _page(kind: Kind) -> str:
    schema = _schema(_file(kind))
    example, status = _example(kind)
    versions = ", ".join(f"`{kind.group}/{version}`" for version in kind.versions)
    space = "namespaced" if kind.namespaced else "cluster-scoped"
    short = "".join(f", `{name}`" for name in short_names(kind))
    lines = [
        f"# {kind.label}",
        "",
        str(schema["description"]),
        "",
        f"{versions}, {space}. List them with `muster get {kind.folder}`{' (also' + short[1:] + ')' if short else ''}.",
        f"Generated from [`schemas/{_file(kind)}`](../../schemas/{_file(kind)}) by `make docs`.",
        "",
        "## Who writes it",
        "",
        *(f"* **{who}**: {_written(kind, who)}, {_place(kind, who)}" for who in writers(kind)),
        "",
        "## Example",
        "",
        *_yaml(example),
        "## Fields",
        "",
        *(line for part in _parts(kind) if part != "status" for line in _tree(_file(kind), part, schema)),
        "",
    ]
    if "status" in schema["properties"]:
        lines += ["## Status", "", *(_yaml(status) if status else ()), *_tree(_file(kind), "status", schema), ""]
    return "\n".join(lines)


def _yaml(text: str) -> list[str]:
    return ["```yaml", text.rstrip("\n"), "```", ""]


def _parts(kind: Kind) -> list[str]:
    return [part for part in _schema(_file(kind))["properties"] if part not in _IDENTITY]


def _written(kind: Kind, who: str) -> str:
    """What people, agents or muster write of a kind."""
    if who == "people":
        return _named(["metadata", *(part for part in _parts(kind) if part != "status")])
    if who == "agents":
        return _OF_AGENTS.get(kind) or _named(kind.reported)
    derived = derived_schema(kind)["properties"]
    paths = [part for part in derived if part not in (*_IDENTITY, "spec", "status")]
    for section in ("spec", "status"):
        if (names := derived[section].get("properties")) is None:
            paths.append(section)
        else:
            paths += [f"{section}.{name}" for name in names if name in _fields_of(kind, section)]
    return _named(paths)


def _named(paths: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"`{path}`" for path in paths)


def _fields_of(kind: Kind, section: str) -> Mapping[str, Tree]:
    schema = _schema(_file(kind))["properties"]
    found: Mapping[str, Tree] = _resolved(_file(kind), schema[section])[1]["properties"] if section in schema else {}
    return found


def _place(kind: Kind, who: str) -> str:
    if who == "agents":
        return "on [the branch `agents/<cluster>`](../agents.md)"
    if who == "muster":
        return f"in `derived/{kind.folder}/`"
    body = yaml.safe_load(_examples()[kind.group, kind.name])
    part = Part(id_of_body(body), "", body, Layer.INPUT, SourceFile("", "", bytes))  # type: ignore[arg-type]
    return f"in any file, for example `{next(file_places(part, DECLARED))}`"


def _example(kind: Kind) -> tuple[str, str]:
    """The example of a kind as it is written, and its status apart if people write the rest."""
    text = _examples()[kind.group, kind.name]
    example, apart, status = text.partition("\nstatus:")
    return (example, "status:" + status) if apart and "people" in writers(kind) else (text, "")


@cache
def _examples() -> Mapping[tuple[str, str], str]:
    text = (_TESTS / "schemas/examples.yaml").read_text(encoding="utf-8")
    found = {}
    for item in re.split(r"^- (?=apiVersion)", text, flags=re.MULTILINE)[1:]:
        version, kind = (line.partition(": ")[2] for line in item.splitlines()[:2])
        found[version.rpartition("/")[0], kind] = re.sub(r"^  ", "", item, flags=re.MULTILINE)
    return found


def _tree(file: str, part: str, schema: Mapping[str, Tree]) -> Iterator[str]:
    return _fields(file, part, schema["properties"][part], 0, needed=part in schema["required"])


def _fields(file: str, name: str, field: Tree, depth: int, *, needed: bool) -> Iterator[str]:
    """Yield the lines of a field and of those in it: in a list or a map, those of an item."""
    other = re.match(r"(?!_|#)(?P<schema>.+)\.json#", field.get("$ref", ""))
    file, field = _resolved(file, field)
    kind = f"{_type(file, field)}, required" if needed else _type(file, field)
    yield f"{'    ' * depth}* **`{name}`** *{kind}*{_explained(field)}"
    if other:
        title = _schema(f"{other['schema']}.json")["title"]
        yield f"{'    ' * depth}  The fields are those of a [{title}]({other['schema']}.md)."
        return
    inside = field
    if isinstance(inner := inside.get("items", inside.get("additionalProperties")), dict):
        file, inside = _resolved(file, inner)
    if depth < _DEPTH:
        for key, found in inside.get("properties", {}).items():
            yield from _fields(file, key, found, depth + 1, needed=key in inside.get("required", ()))


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


def _type(file: str, field: Mapping[str, Tree]) -> str:
    """A type in words: `list of strings`, `integer (1 to 100)`, `duration`."""
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        *others, last = (f"`{value}`" for value in field["enum"])
        return f"{', '.join(others)} or {last}" if others else last
    types = field.get("type", "any value")
    names = [types] if isinstance(types, str) else [name for name in types if name != "null"]
    return " or ".join(_type_named(name, file, field) for name in names)


def _type_named(name: str, file: str, field: Mapping[str, Tree]) -> str:
    if name == "string":
        return str(field.get("format", "string"))
    inner = field.get({"array": "items", "object": "additionalProperties"}.get(name, ""))
    if isinstance(inner, dict) and not field.get("properties"):
        inner = _resolved(file, inner)[1]
        if "enum" in inner:
            return f"list of {_type(file, inner)}"
        of = inner.get("type")
        return f"{'list' if name == 'array' else 'map'} of {f'{of}s' if isinstance(of, str) else 'values'}"
    low, high = field.get("minimum"), field.get("maximum")
    if name in ("integer", "number") and low is not None and low >= -_NO_LIMIT:
        return f"{name} ({low} to {high})" if high is not None and high < _NO_LIMIT else f"{name} ({low} or more)"
    return name


_NO_LIMIT: Final = 2**31 - 1


def _explained(field: Mapping[str, Tree]) -> str:
    """The description with the default, if it has one that says something."""
    text, default = str(field.get("description", "")), field.get("default")
    if default not in (None, {}, []):
        bare = default if isinstance(default, str) else json.dumps(default)
        text = text.replace(f" Default: {bare}.", "")
        plain = isinstance(default, str) and re.fullmatch(r"[A-Za-z].*|\d+\w+", default)
        text += "" if "Default: " in text else f" Default: `{default if plain else json.dumps(default)}`."
    return f": {_escaped(text)}" if text else ""


def _escaped(text: str) -> str:
    """The text with `<` as an entity, but in code, which shows what it has."""
    parts = text.replace("\n", " ").split("`")
    return "`".join(part if number % 2 else part.replace("<", "&lt;") for number, part in enumerate(parts))


def _first(schema: Mapping[str, Tree]) -> str:
    return _escaped(str(schema["description"]).partition(". ")[0].rstrip(".")).replace("|", "\\|")


def _file(kind: Kind) -> str:
    return f"{kind.schema}.json"


@cache
def _schema(name: str) -> dict[str, Tree]:
    found: dict[str, Tree] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return found
