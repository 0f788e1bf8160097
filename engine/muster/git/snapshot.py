"""Snapshots of a repository: a commit or the index, with agents' refs or a separate branch of derived files laid over.

A commit costs one `ls-tree`, and one persistent `cat-file` process reads the blobs. Contents are fetched when read, in
order and ahead of the reader; none are kept. A work tree is in `muster.git.directory`.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from muster.data.locations import FOLDER
from muster.data.snapshot import Agents, Over, Skipped, Snapshot
from muster.data.source import SourceFile
from muster.git.authors import CommitAuthors
from muster.git.derivedbranch import evaluated_commit
from muster.git.history import History
from muster.git.repository import Repository, ref_tip
from muster.git.store.entries import Entry, choose, is_relevant
from muster.git.store.paths import IGNORE_FILE, printable
from muster.git.trees import find_entries, list_index, list_tree

if TYPE_CHECKING:
    from muster.git.agents.listing import AgentRefs
    from muster.git.agents.refs import AgentRef

#: Up to so many paths, git is asked for them by name: it compares every entry of the index with each of them.
_FEW: Final = 50


class _EntriesSnapshot(Snapshot):
    """The data files among the entries of a tree or an index. `skipped` and `ignored` are complete once `files` has
    been exhausted."""

    skipped: tuple[Skipped, ...] = ()
    ignored: tuple[SourceFile, ...] = ()

    def __init__(self, repository: Repository, only: Collection[str] | None) -> None:
        """`only`: the paths that are looked at, if not all are."""
        self._repository, self._objects = repository, repository.objects
        self._only = None if only is None else {*only, IGNORE_FILE}

    def _files(self, entries: Iterable[Entry], conflicts: Iterable[bytes] = ()) -> Iterator[SourceFile]:
        choice = choose(entries, self._objects)
        skipped = [
            *choice.skipped,
            *(Skipped(printable(path), "conflict", "unmerged in the index") for path in conflicts),
        ]
        self.skipped = tuple(sorted(skipped, key=lambda skip: skip.path))
        self.ignored = choice.ignored_files(self._objects)
        yield from choice.files(self._objects)


class CommitSnapshot(_EntriesSnapshot):
    """The data files of a commit and of agent refs."""

    commit: str = ""
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

        `agents` says which of them are known; by default, those that are given and no others. `only`: the paths of the
        commit that are looked at, if not all are.
        """
        super().__init__(repository, only)
        self.commit, self._agent_refs = commit, agent_refs
        self.agents = agents or Agents(frozenset(ref.cluster for ref in agent_refs if ref.is_agent))

    @cached_property
    def past(self) -> History:
        return History(self._repository, self.commit)

    @cached_property
    def authors(self) -> CommitAuthors:
        return CommitAuthors(self._repository, self.commit)

    def files(self) -> Iterator[SourceFile]:
        """Yield the data files: the commit's by path, then the agents' by ref and path."""
        yield from self._files(
            list_tree(self._repository, self.commit)
            if self._only is None
            else find_entries(self._repository, self._objects, self.commit, self._only)
        )
        if self._agent_refs:
            from muster.git.agents.refs import AgentFiles

            agents = AgentFiles(self._objects, self._agent_refs, self.agents.limits)
            self.skipped += agents.skipped
            yield from agents.files()


class IndexSnapshot(_EntriesSnapshot):
    """The data files that are staged, for the pre-commit hook.

    In a hook the index is the one that git names there (`GIT_INDEX_FILE`): for `git commit <path>` and `git commit
    --all` that is a temporary one. Files with an unresolved merge conflict are skipped.
    """

    def __init__(self, repository: Repository, only: Collection[str] | None = None) -> None:
        """Read what is staged in `repository`; `only` these paths, if not all are looked at."""
        super().__init__(repository, only)

    @cached_property
    def head(self) -> str | None:
        """The commit that they are changes of; None before the first commit."""
        return ref_tip(self._repository, "HEAD^{commit}")

    @cached_property
    def past(self) -> History | None:
        return History(self._repository, self.head, uncommitted=True) if self.head else None

    @cached_property
    def authors(self) -> CommitAuthors:
        """Who wrote the files: of staged changes, whoever commits them."""
        return CommitAuthors(self._repository, self.head, uncommitted=True)

    def files(self) -> Iterator[SourceFile]:
        yield from self._files(*self._list())

    def _list(self) -> tuple[list[Entry], list[bytes]]:
        """Return the entries that matter, with their sizes, and the paths that are in conflict."""
        index = {"GIT_INDEX_FILE": str(self._repository.staged_index), "GIT_LITERAL_PATHSPECS": "1"}
        only = None if self._only is None else {os.fsencode(path) for path in self._only}
        named = sorted(only) if only and len(only) <= _FEW else ()
        staged: list[Entry] = []
        conflicts: set[bytes] = set()
        for entry, merged in list_index(self._repository.git, named, index):
            if is_relevant(entry) and (only is None or entry.path in only):
                if merged:
                    staged.append(entry)
                else:
                    conflicts.add(entry.path)
        sizes = self._objects.sizes([entry.oid for entry in staged])
        return [listed._replace(size=size) for listed, size in zip(staged, sizes, strict=True)], sorted(conflicts)


class WithAgents(Over):
    """The files of another snapshot, then those of the repository's agent refs."""

    def __init__(self, below: Snapshot, repository: Repository, heard: "AgentRefs") -> None:
        self.below, self._heard = below, heard
        self._objects = repository.objects
        self._skipped: tuple[Skipped, ...] = ()

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return (*self.below.skipped, *self._skipped)

    @property
    def agents(self) -> Agents:
        return self._heard.agents

    def files(self) -> Iterator[SourceFile]:
        """Yield the data files: those below by path, then the agents' by ref and path."""
        yield from self.below.files()
        if self._heard.refs:
            from muster.git.agents.refs import AgentFiles

            agents = AgentFiles(self._objects, self._heard.refs, self._heard.agents.limits)
            self._skipped = agents.skipped
            yield from agents.files()


class WithDerived(Over):
    """People's files of a snapshot that is built on HEAD, and the derived files of a branch of their own."""

    def __init__(self, below: Snapshot, repository: Repository, commit: str, only: Collection[str] | None) -> None:
        """Lay what `commit`, HEAD joined with that branch, has under `derived/` over `below`; `only` these paths, if
        not all are looked at."""
        self.below, self._repository, self._head = below, repository, commit
        self._derived = CommitSnapshot(repository, commit, only=only)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        below = (skip for skip in self.below.skipped if not skip.path.startswith(FOLDER))
        derived = (skip for skip in self._derived.skipped if skip.path.startswith(FOLDER))
        return tuple(sorted((*below, *derived), key=lambda skip: skip.path))

    @cached_property
    def past(self) -> History:
        return History(self._repository, self._head, uncommitted=True)

    def files(self) -> Iterator[SourceFile]:
        """Yield people's files by path, then the derived ones."""
        yield from (file for file in self.below.files() if not file.path.startswith(FOLDER))
        yield from (file for file in self._derived.files() if file.path.startswith(FOLDER))


def staged_snapshot(repository: Repository, only: Collection[str] | None = None) -> Snapshot:
    """Return what is staged; `only` these paths, if not all are looked at."""
    files = IndexSnapshot(repository, only)
    return with_derived(files, repository, files.head, only)


def with_derived(files: Snapshot, repository: Repository, head: str | None, only: Collection[str] | None) -> Snapshot:
    """Return changes of the commit `head` with the derived files, if these are on a branch of their own."""
    commit = evaluated_commit(repository, head) if head else None
    return files if commit in (None, head) else WithDerived(files, repository, commit or "", only)
