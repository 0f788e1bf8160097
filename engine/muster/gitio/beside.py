"""A work tree or the index together with the agents' refs: what a commit of it would be evaluated with."""

from collections.abc import Iterator

from muster.gitio.agents import AgentFiles
from muster.gitio.hearing import Heard
from muster.gitio.objects import Objects
from muster.gitio.paths import MAX_BLOB_BYTES
from muster.gitio.repository import Repository
from muster.model.snapshot import Agents, Authors, Past, Skipped, Snapshot, authors_of, ignored_of, past_of
from muster.model.source import SourceFile


class BesideAgents:
    """The files of another snapshot, then those of the repository's agent refs. Satisfies `Snapshot`."""

    def __init__(self, below: Snapshot, repository: Repository, heard: Heard) -> None:
        """Lay the agent refs of `repository` that were `heard` beside `below`."""
        self._below, self._heard = below, heard
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

    @property
    def agents(self) -> Agents:
        """Which agents could be heard."""
        return self._heard.agents

    def close(self) -> None:
        """End the git processes. Reading a file afterwards starts them again."""
        self._objects.close()

    @property
    def ignored(self) -> tuple[SourceFile, ...]:
        """What `.musterignore` names below. Complete once `files` has been exhausted."""
        return ignored_of(self._below)

    @property
    def past(self) -> Past | None:
        """What history says of the last run."""
        return past_of(self._below)

    @property
    def authors(self) -> Authors | None:
        """Who wrote the files of the snapshot below."""
        return authors_of(self._below)

    def files(self) -> Iterator[SourceFile]:
        """Yield the data files: those below by path, then the agents' by ref and path."""
        yield from self._below.files()
        if self._heard.refs:
            agents = AgentFiles(self._objects, self._heard.refs)
            self._skipped = agents.skipped
            yield from agents.files()
