"""The order of what is written under `status.muster`: that of its schema, and names where the schema leaves them open.

A value there comes from a decision of this run, from the last run's part, or from a command that signs. Without one
order, a commit could change nothing but the order of keys. Lists keep theirs, which has a meaning.
"""

from collections.abc import Mapping
from dataclasses import field
from functools import cache

from muster.data.kinds import Kind
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.derived_parts import derived_schema
from muster.fleet.schemas import load_schema


@dataclass(frozen=True, slots=True)
class KeyOrder:
    """The order of keys in one place. `fields`: the keys of the schema, in its order; `other`: below any other key,
    or in each item of a list."""

    fields: Mapping[str, "KeyOrder"] = field(default_factory=dict)
    other: "KeyOrder | None" = None

    def of(self, tree: Tree) -> Tree:
        """The tree with its keys in order."""
        if isinstance(tree, dict):
            names = [name for name in self.fields if name in tree]
            names += sorted(tree.keys() - self.fields.keys()) if len(names) < len(tree) else ()
            return {name: self._below(name).of(tree[name]) for name in names}
        if isinstance(tree, list):
            return [(self.other or BY_NAME).of(item) for item in tree]
        return tree

    def _below(self, name: str) -> "KeyOrder":
        return self.fields.get(name) or self.other or BY_NAME


#: Where no schema says anything.
BY_NAME = KeyOrder()


@cache
def order_at(kind: Kind) -> KeyOrder:
    """The order below `status.muster` of a kind."""
    return _order_of(derived_schema(kind)["properties"]["status"]["properties"]["muster"])


def _order_of(schema: Tree, file: str = "", within: frozenset[str] = frozenset()) -> KeyOrder:
    """The order of a schema in a file of schemas. `within`: the references on the way; a schema may contain itself."""
    if not isinstance(schema, dict):
        return BY_NAME
    if isinstance(reference := schema.get("$ref"), str):
        other_file, _, path = reference.partition("#/")
        name = other_file or file
        if f"{name}#/{path}" in within:
            return BY_NAME
        return _order_of(dig(load_schema(name), *path.split("/")), name, within | {f"{name}#/{path}"})
    fields = {name: _order_of(below, file, within) for name, below in mapping_at(schema, "properties").items()}
    below = schema.get("items") or schema.get("additionalProperties")
    return KeyOrder(fields, _order_of(below, file, within) if isinstance(below, dict) else None)
