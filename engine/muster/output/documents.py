"""Trees as documents on standard output: a YAML stream, or one JSON value."""

import json
from collections.abc import Iterable

from muster.model.ids import ObjectId
from muster.model.tree import Tree
from muster.yamlio.emitter import emit


def yaml_stream(trees: Iterable[Tree]) -> str:
    """Return YAML documents, separated by `---`."""
    return "---\n".join(emit(tree) for tree in trees)


def object_document(id_: ObjectId) -> dict[str, Tree]:
    """Return how documents name an object."""
    return {"group": id_.group, "kind": id_.kind, "namespace": id_.namespace, "name": id_.name}


def json_text(tree: Tree) -> str:
    """Return indented JSON with a final newline; keys in the order of the tree."""
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
