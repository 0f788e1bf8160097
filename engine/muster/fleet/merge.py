"""Merging the parts of one object: maps by field, keyed lists by element, all else as a leaf.

The rule is that of Kubernetes' server-side apply without forced ownership: two input parts may not set the same leaf,
even to equal values, because a change in one of them would then have no effect.
"""

from collections.abc import Mapping

from muster.data.decision import Path
from muster.data.kinds import OPTIONAL_KEYS, ListKeys
from muster.data.tree import Tree

#: Every part repeats these to say which object it belongs to.
_IDENTITY: frozenset[Path] = frozenset({("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")})


def element_key(element: Tree, fields: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the key of a list element; None if it is no mapping or lacks a key field."""
    if not isinstance(element, dict):
        return None
    key = tuple(element.get(field, "" if field in OPTIONAL_KEYS else None) for field in fields)
    return key if all(isinstance(value, str) for value in key) else None  # type: ignore[return-value]


def merge(left: Tree, right: Tree, list_keys: ListKeys, conflicts: list[Path], path: Path = ()) -> Tree:
    """Return both trees as one; a leaf that both set keeps `left`'s value and its path goes to `conflicts`."""
    if isinstance(left, dict) and isinstance(right, dict):
        merged = dict(left)
        for key, value in right.items():
            step = (*path, key)
            merged[key] = merge(left[key], value, list_keys, conflicts, step) if key in left else value
        return merged
    fields = _fields(path, list_keys)
    if fields and isinstance(left, list) and isinstance(right, list):
        return _merge_lists(left, right, fields, list_keys, conflicts, path)
    if path not in _IDENTITY:
        conflicts.append(path)
    return left


def _merge_lists(
    left: list[Tree], right: list[Tree], fields: tuple[str, ...], list_keys: ListKeys, conflicts: list[Path], path: Path
) -> list[Tree]:
    """Elements with the same key merge, without their key fields; the others follow in order."""
    merged = list(left)
    positions = {key: index for index, element in enumerate(left) if (key := element_key(element, fields))}
    for element in right:
        key = element_key(element, fields)
        if key is None or key not in positions:
            merged.append(element)
            continue
        rest = {name: value for name, value in element.items() if name not in fields}
        index = positions[key]
        merged[index] = merge(merged[index], rest, list_keys, conflicts, (*path, key))
    return merged


def overlay(below: Tree, above: Tree, list_keys: ListKeys, path: Path = ()) -> Tree:
    """Return `below` with all fields of `above` laid over it: how derived parts lie over inputs."""
    if isinstance(below, dict) and isinstance(above, dict):
        laid = dict(below)
        for key, value in above.items():
            laid[key] = overlay(below[key], value, list_keys, (*path, key)) if key in below else value
        return laid
    fields = _fields(path, list_keys)
    if fields and isinstance(below, list) and isinstance(above, list):
        laid_list = list(below)
        positions = {key: index for index, element in enumerate(below) if (key := element_key(element, fields))}
        for element in above:
            key = element_key(element, fields)
            if key is None or key not in positions:
                laid_list.append(element)
            else:
                laid_list[positions[key]] = element
        return laid_list
    return above


def _fields(path: Path, list_keys: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The key fields of the list at `path`; empty for an atomic list."""
    if not path or len(path) > 3 or not list_keys:
        return ()
    return list_keys.get(".".join(step for step in path if isinstance(step, str)), ())


def leaf_at(tree: Tree, path: Path, list_keys: ListKeys) -> tuple[bool, Tree]:
    """Does `tree` set `path`, and to which value? Steps that are tuples select by element key."""
    walked: Path = ()
    for step in path:
        if isinstance(step, tuple):
            fields = _fields(walked, list_keys)
            element = (
                next((e for e in tree if element_key(e, fields) == step), None) if isinstance(tree, list) else None
            )
            if element is None:
                return False, None
            tree = element
        elif isinstance(tree, dict) and step in tree:
            tree = tree[step]
        else:
            return False, None
        walked = (*walked, step)
    return True, tree
