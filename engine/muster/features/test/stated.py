"""What a test states: the objects that people have committed, and those that agents have pushed to their refs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from muster.data.ids import ObjectId
from muster.data.kinds import BY_GROUP_KIND, BY_NAME
from muster.data.source import SourceFile
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.features.test.memory import MemorySnapshot, input_texts
from muster.fleet.merge import overlay

#: Objects by id, as a test states them.
Objects: TypeAlias = Mapping[ObjectId, Tree]


@dataclass(frozen=True, slots=True)
class Stated:
    """The objects in files, and those on the refs of agents by cluster."""

    files: Objects = field(default_factory=dict)
    refs: Mapping[str, Objects] = field(default_factory=dict)

    def after(self, change: Tree) -> "Stated":
        """Lay `objects` and `agents` over what there is, field by field."""
        pushed = {
            cluster: objects_of(self.refs.get(cluster, {}), mappings_at(change, "agents", cluster))
            for cluster in mapping_at(change, "agents")
        }
        return Stated(objects_of(self.files, mappings_at(change, "objects")), {**self.refs, **pushed})

    def without(self, names: Collection[str]) -> "Stated":
        """Remove objects, wherever they are."""

        def left(objects: Objects) -> Objects:
            return {id_: body for id_, body in objects.items() if str(id_) not in names}

        return Stated(left(self.files), {cluster: left(objects) for cluster, objects in self.refs.items()})

    def snapshot(self, derived: Mapping[str, str], further: tuple[SourceFile, ...]) -> MemorySnapshot:
        """The repository in which this is committed and pushed, with what was derived so far and further files."""
        pushed = {cluster: input_texts(objects) for cluster, objects in self.refs.items()}
        return MemorySnapshot({**input_texts(self.files), **derived}, further, of_agents=pushed)


def objects_of(known: Objects, bodies: Iterable[Tree]) -> dict[ObjectId, Tree]:
    """Lay objects over those that are known, field by field."""
    laid = dict(known)
    for body in bodies:
        kind = BY_GROUP_KIND.get((str(body["apiVersion"]).rpartition("/")[0], body["kind"])) or BY_NAME.get(
            body["kind"]
        )
        if kind is None:
            continue
        id_ = kind.id(body["metadata"]["name"], dig(body, "metadata", "namespace") or "")
        laid[id_] = overlay(laid[id_], body, kind.list_keys) if id_ in laid else body
    return laid
