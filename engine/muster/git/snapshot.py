"""The snapshot of a commit: one `ls-tree`, and blobs through one persistent `cat-file` process."""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from muster.data.snapshot import Agents, Skipped, Snapshot
from muster.data.source import SourceFile
from muster.git.agents import AgentFiles
from muster.git.authors import CommitAuthors
from muster.git.entries import choose
from muster.git.history import History
from muster.git.objects import Objects
from muster.git.paths import IGNORE_FILE
from muster.git.repository import Repository
from muster.git.trees import find_entries, list_tree

if TYPE_CHECKING:
    from muster.git.agents import AgentRef


class CommitSnapshot(Snapshot):
    """The data files of a commit and of agent refs.

    Contents are fetched when read, in order and ahead of the reader; none are kept. What was `skipped` and why, and
    what `.musterignore` names (`ignored`), is complete once `files` has been exhausted.
    """

    commit: str = ""
    skipped: tuple[Skipped, ...] = ()
    ignored: tuple[SourceFile, ...] = ()
    agents: Agents = Agents()

    def __init__(
        self,
        repository: Repository,
        commit: str,
        agent_refs: "Sequence[AgentRef]" = (),
        agents: Agents | None = None,
        only: Collection[str] | None = None,
    ) -> None:
        """Read `commit`, a full id (see `repository.resolve`), and `agent_refs` (see `agents.agent_refs`).

        `agents` says which of them could be heard; without it, those that are given and nothing of the others. `only`:
        the paths of the commit that are looked at, where not all are.
        """
        self._repository = repository
        self.commit = commit
        self._agent_refs = agent_refs
        self._only = None if only is None else {*only, IGNORE_FILE}
        self.agents = agents or Agents(frozenset(ref.cluster for ref in agent_refs if ref.cluster and not ref.refused))
        self._objects = Objects(repository.git)

    @cached_property
    def past(self) -> History:
        """What history says of the last run."""
        return History(self._repository, self.commit)

    @cached_property
    def authors(self) -> CommitAuthors:
        """Who wrote the files."""
        return CommitAuthors(self._repository, self.commit)

    def files(self) -> Iterator[SourceFile]:
        """Yield the data files: the commit's by path, then the agents' by ref and path."""
        entries = (
            list_tree(self._repository, self.commit) if self._only is None
            else find_entries(self._repository, self._objects, self.commit, self._only)
        )  # fmt: skip
        choice = choose(entries, self._objects)
        self.skipped = choice.skipped
        self.ignored = choice.ignored_files(self._objects)
        yield from choice.files(self._objects)
        if self._agent_refs:
            agents = AgentFiles(self._objects, self._agent_refs, self.agents.limits)
            self.skipped += agents.skipped
            yield from agents.files()

    def close(self) -> None:
        """End the git processes. Reading a file afterwards starts them again."""
        self._objects.close()
