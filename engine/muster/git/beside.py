"""A work tree together with the agents' refs: what a commit of it would be evaluated with."""

from collections.abc import Collection, Iterator
from dataclasses import replace

from muster.data.snapshot import Agents, Over, Skipped, Snapshot
from muster.data.source import SourceFile
from muster.git.agents import AgentFiles, AgentRef
from muster.git.besidederived import BesideDerived, joined_head
from muster.git.changes import PathChange
from muster.git.directory import DirectorySnapshot, WorkTreeListing
from muster.git.hearing import Heard
from muster.git.objects import Objects
from muster.git.repository import Repository


class BesideAgents(Over):
    """The files of another snapshot, then those of the repository's agent refs."""

    def __init__(self, below: Snapshot, repository: Repository, heard: Heard) -> None:
        """Lay the agent refs of `repository` that were `heard` beside `below`."""
        self.below, self._heard = below, heard
        self._objects = Objects(repository.git)
        self._skipped: tuple[Skipped, ...] = ()

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out and why. Complete once `files` has been exhausted."""
        return (*self.below.skipped, *self._skipped)

    @property
    def agents(self) -> Agents:
        """Which agents could be heard."""
        return self._heard.agents

    def close(self) -> None:
        """End the git processes. Reading a file afterwards starts them again."""
        self._objects.close()

    def files(self) -> Iterator[SourceFile]:
        """Yield the data files: those below by path, then the agents' by ref and path."""
        yield from self.below.files()
        if self._heard.refs:
            agents = AgentFiles(self._objects, self._heard.refs, self._heard.agents.limits)
            self._skipped = agents.skipped
            yield from agents.files()


def work_tree_snapshot(
    repository: Repository, heard: Heard, changes: Collection[PathChange] = (), only: Collection[str] | None = None,
    refs: Collection[AgentRef] | None = None,
) -> BesideAgents:  # fmt: skip
    """Return a repository's work tree with the agents that were heard beside it; of the paths and refs named, where not
    all are looked at. `changes` are then all that it changes of HEAD: a path that these take away is not looked at,
    even if something lies there that git ignores."""
    listing = None
    if only is not None:
        gone = {change.path for change in changes if change.new is None}
        listing = WorkTreeListing.of({*only} - gone, repository.object_format)
    files = DirectorySnapshot(repository.git.directory, repository.git.environ, listing, repository)
    joined = joined_head(repository)
    below = files if joined is None else BesideDerived(files, repository, joined, only)
    return BesideAgents(below, repository, heard if refs is None else replace(heard, refs=tuple(refs)))
