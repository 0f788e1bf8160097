"""A work tree or the index together with the agents' refs: what a commit of it would be evaluated with."""

from collections.abc import Iterator

from muster.gitio.agents import AgentFiles, agent_refs
from muster.gitio.objects import Objects
from muster.gitio.paths import MAX_BLOB_BYTES
from muster.gitio.repository import Repository
from muster.model.snapshot import Skipped, Snapshot
from muster.model.source import SourceFile


class BesideAgents:
    """The files of another snapshot, then those of the repository's agent refs. Satisfies `Snapshot`."""

    def __init__(self, below: Snapshot, repository: Repository) -> None:
        """Lay the agent refs of `repository` beside `below`."""
        self._below, self._repository = below, repository
        self._objects = Objects(repository.git, max_bytes=MAX_BLOB_BYTES)
        self._skipped: tuple[Skipped, ...] = ()

    @property
    def commit(self) -> str | None:
        """The commit of the snapshot below."""
        return self._below.commit

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out and why. Complete once `files` has been exhausted."""
        return (*self._below.skipped, *self._skipped)

    def files(self) -> Iterator[SourceFile]:
        """Yield the data files: those below by path, then the agents' by ref and path."""
        yield from self._below.files()
        if refs := agent_refs(self._repository):
            agents = AgentFiles(self._objects, refs)
            self._skipped = agents.skipped
            yield from agents.files()
