"""The schemas of all kinds as a JSON Schema store, for completion and checks in editors.

One file for each kind, as in `schemas/`; `object.json`, for an object of any kind; and `catalog.json`, which maps files
of a fleet repository to kinds by the layout of imports and edits. They refer to each other by relative paths, so a
folder of them works without a network.
"""

import json
import posixpath
from collections import defaultdict
from pathlib import Path
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import ALL, Kind
from muster.data.source import Layer, Part, SourceFile
from muster.data.tree import Tree
from muster.fleet.bundle import bundle_path
from muster.fleet.layout import DECLARED, file_places
from muster.fleet.leases import CLUSTER_NAME

#: Their folder in a fleet repository, which muster itself does not read.
FOLDER: Final = ".muster/schemas"
OBJECT: Final = "object.json"

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_NAME, _SPACE = "some-name", "some-namespace"
_METADATA: Final = {
    "name": _NAME,
    "labels": {CLUSTER_NAME: _NAME},
    "annotations": {"endpointslice.karmada.io/provision-cluster": _NAME},
}


def schema_store(base: str = "") -> dict[str, str]:
    """Return the files of the store by name. `base`: the URL of the folder, for the catalog."""
    files = {path.name: _text(_placed(path)) for path in sorted(bundle_path("schemas").glob("*.json"))}
    return files | {OBJECT: _text(_any_object()), "catalog.json": _text(_catalog(base))}


def schema_of(kind: str) -> str:
    """Return the file name of a kind's schema."""
    return f"{kind.lower()}.json"


def modeline(path: str, kind: str) -> str:
    """Return the comment line by which editors find the schema of a repository's file."""
    schema = posixpath.relpath(f"{FOLDER}/{schema_of(kind)}", posixpath.dirname(path) or ".")
    return f"# yaml-language-server: $schema={schema}\n"


def _placed(path: Path) -> Tree:
    """The schema without its id: not all tools resolve a relative one."""
    schema: dict[str, Tree] = json.loads(path.read_text(encoding="utf-8"))
    return {key: value for key, value in schema.items() if key != "$id"}


def _any_object() -> Tree:
    kinds = sorted(ALL, key=lambda kind: (kind.name, kind.group))
    return {
        "$schema": _DRAFT,
        "title": "An object of a fleet",
        "description": "What a file of a fleet repository holds, of any kind that muster knows.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {"kind": {"enum": sorted({kind.name for kind in kinds})}},
        "allOf": [
            {
                "if": {"properties": {"apiVersion": {"enum": _versions(kind)}, "kind": {"const": kind.name}}},
                "then": {"$ref": schema_of(kind.label)},
            }
            for kind in kinds
        ],
    }


def _versions(kind: Kind) -> list[Tree]:
    return [f"{kind.group}/{version}" for version in kind.versions]


def _catalog(base: str) -> Tree:
    """Kinds in one place share an entry, and the schema for any kind."""
    kinds_at = defaultdict[str, set[str]](set)
    for kind in ALL:
        for pattern in _patterns(kind):
            kinds_at[pattern].add(kind.label)
    patterns_of = defaultdict[tuple[str, ...], list[Tree]](list)
    for pattern, kinds in sorted(kinds_at.items()):
        patterns_of[tuple(sorted(kinds))].append(pattern)
    prefix = f"{base.rstrip('/')}/" if base else ""
    return {
        "$schema": "https://json.schemastore.org/schema-catalog.json",
        "version": 1,
        "schemas": [
            {
                "name": f"muster: {', '.join(kinds)}",
                "description": "An object of a fleet repository",
                "fileMatch": patterns,
                "url": prefix + (schema_of(kinds[0]) if len(kinds) == 1 else OBJECT),
            }
            for kinds, patterns in sorted(patterns_of.items())
        ],
    }


def _patterns(kind: Kind) -> set[str]:
    """Where people put objects of a kind, with and without a folder for the namespace."""
    patterns = set()
    for pool in ({}, {"clusterPoolRef": {"poolName": _NAME}}):
        body: Tree = {"metadata": _METADATA, "spec": pool}
        id_ = ObjectId(kind.group, kind.name, _SPACE if kind.namespaced else "", _NAME)
        path = next(file_places(Part(id_, kind.versions[0], body, Layer.INPUT, SourceFile("", "", bytes)), DECLARED))
        patterns.add(_pattern(path))
        if kind.namespaced and _SPACE not in path:
            folder, name = posixpath.split(path)
            patterns.add(_pattern(f"{folder}/{_SPACE}/{name}"))
    return patterns


def _pattern(path: str) -> str:
    """The path with `*` for names; clusters may be in nested folders, with their objects."""
    return path.replace(_SPACE, "*").replace(_NAME, "*").replace("clusters/*/", "clusters/**/")


def _text(tree: Tree) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
