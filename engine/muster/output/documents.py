"""Trees as documents on standard output: a YAML stream, or one JSON value."""

import json
from collections.abc import Iterable

from muster.model.tree import Tree
from muster.yamlio.emitter import emit


def yaml_stream(trees: Iterable[Tree]) -> str:
    """Return YAML documents, separated by `---`."""
    return "---\n".join(emit(tree) for tree in trees)


def json_text(tree: Tree) -> str:
    """Return indented JSON with a final newline; keys in the order of the tree."""
    return json.dumps(tree, indent=2, ensure_ascii=False) + "\n"
