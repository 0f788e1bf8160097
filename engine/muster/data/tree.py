"""The parsed YAML tree: the one place where `Any` crosses module borders.

A `Tree` is None, bool, int, float, str, a list of trees, or a dict from str to trees: what JSON can say. The
loader (`muster.data.yaml`) lets nothing else in. Trees are shared between objects and must never be mutated.
"""

import hashlib
import json
from typing import Any, TypeAlias

Tree: TypeAlias = Any
#: A place in a tree: names of fields, and indices of lists.
At: TypeAlias = tuple[str | int, ...]


def read_json(text: str | bytes) -> Tree:
    """Return the tree of a JSON text. ValueError if it is not JSON, or nested too deep to be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def dig(tree: Tree, *path: str) -> Tree:
    """Return the value at `path`; None if any step is missing or not a mapping."""
    for step in path:
        # Called a hundred times per cluster, nearly always with a plain dict.
        if tree.__class__ is not dict and not isinstance(tree, dict):
            return None
        tree = tree.get(step)
    return tree


def mapping_at(tree: Tree, *path: str) -> dict[str, Tree]:
    """Return the mapping at `path`; anything else counts as an empty mapping."""
    value = dig(tree, *path)
    return value if isinstance(value, dict) else {}


def mappings_at(tree: Tree, *path: str) -> list[dict[str, Tree]]:
    """Return the mappings in the list at `path`; anything else counts as absent."""
    value = dig(tree, *path)
    if value.__class__ is not list:
        return []
    return [item for item in value if item.__class__ is dict]


def digest_of(tree: Tree) -> str:
    """Return a SHA-256 that changes when the data does; formatting, comments and the order of keys do not count.

    It is not shortened: an attacker may search for another content with the same digest.
    """
    canonical = json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()
