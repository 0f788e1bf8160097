"""Suppose that a field of an object has a value, wherever people or agents declare it."""

from collections.abc import Sequence
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import kind_of
from muster.data.source import Layer, Part
from muster.data.tree import At, Tree
from muster.data.yaml.emitter import emit
from muster.features.whatif.supposing import FOLDER, NotSupposable, Supposition

#: The file of an object that no file of people declares.
ADDED: Final = f"{FOLDER}/set.yaml"
#: In place of a value: the field is removed.
REMOVED: Final = object()


def set_field(supposition: Supposition, id_: ObjectId, path: At, value: Tree, builtin: Tree = None) -> None:
    """Suppose that a field has a value, or is `REMOVED`: people change it; agents do if it is in the status.

    `builtin`: the body of the object if it is built in. NotSupposable if the object has no such list."""
    obj = supposition.fleet.objects.get(id_)
    reported = path[:1] == ("status",)
    inputs = [part for part in obj.parts if part.layer is Layer.INPUT] if obj else []
    parts = [part for part in inputs if reported or not part.source.ref]
    if parts:
        supposition.change(_holder(parts, path), lambda body: with_value(body, path, value))
        return
    body = builtin or kind_of(id_).body({"name": id_.name})
    supposition.edit(ADDED, emit(with_value(body, path, value)).encode())


def _holder(parts: Sequence[Part], path: At) -> Part:
    """The part with the longest beginning of the path."""
    return max(parts, key=lambda part: _depth(part.body, path))


def _depth(tree: Tree, path: At) -> int:
    """How many steps of a path a tree has."""
    for depth, step in enumerate(path):
        here = dict(enumerate(tree)) if isinstance(tree, list) else tree if isinstance(tree, dict) else {}
        if step not in here:
            return depth
        tree = here[step]
    return len(path)


def with_value(tree: Tree, path: At, value: Tree) -> Tree:
    """Return a tree with a value at a path, or without the field if it is `REMOVED`. Missing mappings are added;
    NotSupposable for a missing element of a list."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if not isinstance(tree, list) or step >= len(tree):
            raise NotSupposable(f"there is no list with an element [{step}]")
        inner = [] if not rest and value is REMOVED else [with_value(tree[step], rest, value)]
        return [*tree[:step], *inner, *tree[step + 1 :]]
    fields = tree if isinstance(tree, dict) else {}
    if value is REMOVED and (not rest or step not in fields):
        return {name: field for name, field in fields.items() if name != step}
    return {**fields, step: with_value(fields.get(step), rest, value)}
