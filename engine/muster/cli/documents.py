"""Trees as documents on standard output: a YAML stream, or one JSON value."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from muster.data.ids import ObjectId
from muster.data.printable import printable_json
from muster.data.tree import Tree
from muster.data.yaml.emitter import emit

if TYPE_CHECKING:
    from muster.data.decision import Held
    from muster.run.transition import Transition


def yaml_stream(trees: Iterable[Tree]) -> str:
    """Return YAML documents, separated by `---`."""
    return "---\n".join(emit(tree) for tree in trees)


def object_document(id_: ObjectId) -> dict[str, Tree]:
    """Return an object's id as documents have it."""
    return {"group": id_.group, "kind": id_.kind, "namespace": id_.namespace, "name": id_.name}


def change_document(change: "Transition") -> Tree:
    """Return a change with the rule that caused it."""
    return {
        "object": object_document(change.object),
        "field": change.field,
        "before": change.before,
        "after": change.after,
        "note": change.note,
        "rule": change.source,
    }


def held_document(held: "Held") -> Tree:
    """Return an effect that a budget holds back."""
    return {"object": object_document(held.object), "effect": held.effect, "reason": held.reason}


def list_document(objects: Sequence[Tree], **metadata: Tree) -> Tree:
    """Return a List, as kubectl makes it."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "", **metadata}, "items": list(objects)}


def document_text(tree: Tree, output: str) -> str:
    """Return a tree as JSON, or as YAML if `output` says so."""
    return emit(tree) if output == "yaml" else json_text(tree)


def json_text(tree: Tree) -> str:
    """Return indented JSON with a final newline, without characters that control a terminal. Keys keep their order."""
    return printable_json(json.dumps(tree, indent=2, ensure_ascii=False)) + "\n"
