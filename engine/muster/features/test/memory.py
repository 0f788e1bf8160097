"""A snapshot in memory: the objects of a test, as if they were committed, or pushed by agents."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from muster.data.agentref import agent_ref, short_name
from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME, kind_of_body
from muster.data.locations import derived_path
from muster.data.snapshot import Agents, Skipped, Snapshot
from muster.data.source import SourceFile
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.data.yaml.emitter import emit
from muster.dataclass import dataclass
from muster.fleet.derived import content_id
from muster.fleet.merge import overlay


@dataclass(frozen=True, slots=True)
class MemorySnapshot(Snapshot):
    """Texts of files by path, of files on agent refs by cluster, and further files from another snapshot."""

    texts: Mapping[str, str]
    further: tuple[SourceFile, ...] = ()
    commit: str | None = None
    skipped: tuple[Skipped, ...] = field(default=())
    of_agents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def agents(self) -> Agents:
        """The agents; those without files are gone."""
        present = frozenset(name for name, texts in self.of_agents.items() if texts)
        return Agents(present, asked=bool(self.of_agents), gone=frozenset(self.of_agents) - present)

    def files(self) -> Iterator[SourceFile]:
        """Yield all files, sorted by path, then those of agents."""
        sources = [_source(path, text.encode()) for path, text in self.texts.items()]
        for cluster, texts in self.of_agents.items():
            ref = short_name(agent_ref(cluster))
            sources += [_source(path, text.encode(), ref) for path, text in texts.items()]
        yield from sorted((*sources, *self.further), key=lambda source: (source.ref, source.path))


def _source(path: str, data: bytes, ref: str = "") -> SourceFile:
    return SourceFile(path, content_id(data), lambda: data, ref)


def input_texts(objects: Mapping[ObjectId, Tree]) -> dict[str, str]:
    """One input file per object."""
    return {
        f"given/{id_.kind}/{id_.namespace}/{id_.name}.yaml".replace("//", "/"): emit(body)
        for id_, body in objects.items()
    }


def derived_texts(objects: Iterable[tuple[ObjectId, Tree]]) -> dict[str, str]:
    """One derived file per object, at the path where a run writes it."""
    return {derived_path(id_, 1): emit(body) for id_, body in objects}


#: Objects of a test, by id.
Objects: TypeAlias = Mapping[ObjectId, Tree]


@dataclass(frozen=True, slots=True)
class Stated:
    """The objects of a test in files, and on agent refs by cluster."""

    files: Objects = field(default_factory=dict)
    refs: Mapping[str, Objects] = field(default_factory=dict)

    def after(self, change: Tree) -> "Stated":
        """Merge `objects` and `agents` into the present objects, field by field."""
        pushed = {
            cluster: objects_of(self.refs.get(cluster, {}), mappings_at(change, "agents", cluster))
            for cluster in mapping_at(change, "agents")
        }
        return Stated(objects_of(self.files, mappings_at(change, "objects")), {**self.refs, **pushed})

    def without(self, names: Collection[str]) -> "Stated":
        """Remove objects from files and refs."""

        def left(objects: Objects) -> Objects:
            return {id_: body for id_, body in objects.items() if str(id_) not in names}

        return Stated(left(self.files), {cluster: left(objects) for cluster, objects in self.refs.items()})

    def why_absent(self, name: str) -> str:
        """Why muster has no object of this name, and what to do."""
        if any(str(id_) == name for objects in (self.files, *self.refs.values()) for id_ in objects):
            return "it is given without a spec, so nothing declares it; give it a spec in given.objects"
        return "it is neither given nor derived; add it to given.objects, or correct the name"

    def snapshot(self, derived: Mapping[str, str], further: tuple[SourceFile, ...]) -> MemorySnapshot:
        """The snapshot with these objects, the derived files so far, and further files."""
        pushed = {cluster: input_texts(objects) for cluster, objects in self.refs.items()}
        return MemorySnapshot({**input_texts(self.files), **derived}, further, of_agents=pushed)


def objects_of(objects: Objects, bodies: Iterable[Tree]) -> dict[ObjectId, Tree]:
    """Merge objects into known ones, field by field."""
    laid = dict(objects)
    for body in bodies:
        kind = kind_of_body(body) or BY_NAME.get(body["kind"])
        if kind is None:
            continue
        id_ = kind.id(body["metadata"]["name"], dig(body, "metadata", "namespace") or "")
        laid[id_] = overlay(laid[id_], body, kind.list_keys) if id_ in laid else body
    return laid
