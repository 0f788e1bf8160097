"""A snapshot that lies in memory: objects that a test states, as if they had been committed, or pushed by agents."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from muster.data.agentref import agent_ref, short_name
from muster.data.ids import ObjectId
from muster.data.locations import derived_path
from muster.data.snapshot import Agents, Skipped, Snapshot
from muster.data.source import SourceFile
from muster.data.tree import Tree
from muster.data.yaml.emitter import emit
from muster.fleet.derived import content_id


@dataclass(frozen=True, slots=True)
class MemorySnapshot(Snapshot):
    """Files by path: their texts, those of the agents' refs by cluster, and further files that are taken over from
    another snapshot as they are."""

    texts: Mapping[str, str]
    further: tuple[SourceFile, ...] = ()
    commit: str | None = None
    skipped: tuple[Skipped, ...] = field(default=())
    of_agents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def agents(self) -> Agents:
        """Agents that have nothing to say any more are gone."""
        present = frozenset(name for name, texts in self.of_agents.items() if texts)
        return Agents(present, asked=bool(self.of_agents), gone=frozenset(self.of_agents) - present)

    def files(self) -> Iterator[SourceFile]:
        """Yield all files, sorted by path, and then those of agents."""
        own = [_source(path, text.encode()) for path, text in self.texts.items()]
        for cluster, texts in self.of_agents.items():
            ref = short_name(agent_ref(cluster))
            own += [_source(path, text.encode(), ref) for path, text in texts.items()]
        yield from sorted((*own, *self.further), key=lambda source: (source.ref, source.path))


def _source(path: str, data: bytes, ref: str = "") -> SourceFile:
    return SourceFile(path, content_id(data), lambda: data, ref)


def input_texts(objects: Mapping[ObjectId, Tree]) -> dict[str, str]:
    """One file per object, named after it."""
    return {
        f"given/{id_.kind}/{id_.namespace}/{id_.name}.yaml".replace("//", "/"): emit(body)
        for id_, body in objects.items()
    }


def derived_texts(objects: Iterable[tuple[ObjectId, Tree]]) -> dict[str, str]:
    """One derived file per object, where a run would have written it."""
    return {derived_path(id_, 1): emit(body) for id_, body in objects}
