"""Objects as assembled from their input parts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from muster.data.ids import ObjectId
from muster.data.kinds import Kind, kind_of
from muster.data.source import Layer, Part
from muster.data.tree import Tree, dig


@dataclass(frozen=True, slots=True)
class Object:
    """One object as assembled from its input parts.

    `body` is the merge of all of them. `parts` has at least one element: people's, then reports, each sorted by file.
    """

    id: ObjectId
    body: Tree
    parts: tuple[Part, ...]

    @property
    def kind(self) -> Kind:
        """The registry's entry."""
        return kind_of(self.id)

    @property
    def spec(self) -> dict[str, Tree]:
        """The spec, empty where there is none."""
        value = dig(self.body, "spec")
        return value if isinstance(value, dict) else {}

    @property
    def labels(self) -> dict[str, str]:
        """`metadata.labels`, empty where there are none."""
        value = dig(self.body, "metadata", "labels")
        return value if isinstance(value, dict) else {}

    @property
    def annotations(self) -> dict[str, str]:
        """`metadata.annotations`, empty where there are none."""
        value = dig(self.body, "metadata", "annotations")
        return value if isinstance(value, dict) else {}

    @property
    def written(self) -> bool:
        """Whether a file of the fleet holds any of it; else the built-in bundle alone does."""
        return any(part.layer is Layer.INPUT for part in self.parts)

    @property
    def deleting(self) -> bool:
        """Whether the object is marked for deletion."""
        return dig(self.body, "metadata", "deletionTimestamp") is not None


def with_params(obj: Object, params: Mapping[str, Tree]) -> Object:
    """Return a policy with some of its `spec.params` set; the object itself where there are none to set."""
    if not params:
        return obj
    spec = {**obj.spec, "params": {**(dig(obj.spec, "params") or {}), **params}}
    return replace(obj, body={**obj.body, "spec": spec})


def by_type(conditions: Iterable[Tree]) -> dict[str, Tree]:
    """Condition by its type; those without one are left out."""
    return {name: condition for condition in conditions if isinstance(name := condition.get("type"), str)}
