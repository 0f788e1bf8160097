"""Objects as assembled from their input parts."""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from muster.data.ids import ObjectId
from muster.data.kinds import Kind, kind_or_other
from muster.data.source import Layer, Part
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass

#: The annotation with the digest of the spec that a generation counts.
SPEC_DIGEST = "muster.dev/spec-digest"


@dataclass(frozen=True, slots=True)
class Object:
    """One object as assembled from its input parts.

    `body` is the merge of all of them. `parts` is not empty: people's first, then reports, each sorted by file.
    """

    id: ObjectId
    body: Tree
    parts: tuple[Part, ...]
    #: The kind's registry entry, OTHER for an object of another program. It is read seventy times in a run.
    kind: Kind = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Look up the kind."""
        object.__setattr__(self, "kind", kind_or_other(self.id))

    @property
    def spec(self) -> dict[str, Tree]:
        """The spec, empty if missing."""
        value = self.body.get("spec")
        return value if isinstance(value, dict) else {}

    @property
    def labels(self) -> dict[str, str]:
        """`metadata.labels`, empty if missing."""
        metadata = self.body.get("metadata")
        value = metadata.get("labels") if isinstance(metadata, dict) else None
        return value if isinstance(value, dict) else {}

    @property
    def annotations(self) -> dict[str, str]:
        """`metadata.annotations`, empty if missing."""
        value = dig(self.body, "metadata", "annotations")
        return value if isinstance(value, dict) else {}

    @property
    def written(self) -> bool:
        """Is any part in a file of the fleet, not only in the built-in bundle?"""
        return any(part.layer is Layer.INPUT for part in self.parts)

    @property
    def deleting(self) -> bool:
        """Is the object marked for deletion?"""
        metadata = self.body.get("metadata")
        return isinstance(metadata, dict) and metadata.get("deletionTimestamp") is not None


def with_params(obj: Object, params: Mapping[str, Tree]) -> Object:
    """Return a policy with these values in `spec.params`."""
    if not params:
        return obj
    spec = {**obj.spec, "params": {**(dig(obj.spec, "params") or {}), **params}}
    return replace(obj, body={**obj.body, "spec": spec})


def by_type(conditions: Iterable[Tree]) -> dict[str, Tree]:
    """Conditions by type, without those that have none."""
    return {name: condition for condition in conditions if (name := condition.get("type")).__class__ is str}
