"""The snapshot of the index: what is staged, for the pre-commit hook."""

import os
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Final

from muster.data.snapshot import Skipped, Snapshot
from muster.data.source import SourceFile
from muster.git.authors import CommitAuthors, authors_on_head
from muster.git.entries import Entry, choose, matters
from muster.git.history import History, history_of
from muster.git.objects import Objects
from muster.git.paths import IGNORE_FILE, printable
from muster.git.repository import Repository

#: So many paths git is asked for by name: it compares every entry of the index with each of them.
_FEW: Final = 50


class IndexSnapshot(Snapshot):
    """The data files that are staged.

    In a hook the index is the one that git names there (`GIT_INDEX_FILE`): for `git commit <path>` and `git commit
    --all` that is a temporary one. Files with an unresolved merge conflict are skipped. What was `skipped` and why, and
    what `.musterignore` names (`ignored`), is complete once `files` has been exhausted.
    """

    skipped: tuple[Skipped, ...] = ()
    ignored: tuple[SourceFile, ...] = ()

    def __init__(self, repository: Repository, only: Collection[str] | None = None) -> None:
        """Read what is staged in `repository`; of the paths `only`, where not all are looked at."""
        self._repository = repository
        self._only = None if only is None else {os.fsencode(path) for path in (*only, IGNORE_FILE)}
        self._objects = Objects(repository.git)

    @cached_property
    def past(self) -> History | None:
        """What history says of the last run."""
        return history_of(self._repository)

    @cached_property
    def authors(self) -> CommitAuthors:
        """Who wrote the files: what is staged, whoever commits it."""
        return authors_on_head(self._repository)

    def files(self) -> Iterator[SourceFile]:
        """Yield the staged data files, sorted by path."""
        staged, conflicts = self._list()
        choice = choose(staged, self._objects)
        skipped = [*choice.skipped, *(Skipped(path, "conflict", "unmerged in the index") for path in conflicts)]
        self.skipped = tuple(sorted(skipped, key=lambda one: one.path))
        self.ignored = choice.ignored_files(self._objects)
        yield from choice.files(self._objects)

    def close(self) -> None:
        """End the git processes. Reading a file afterwards starts them again."""
        self._objects.close()

    def _list(self) -> tuple[list[Entry], list[str]]:
        """Return the entries that matter, with their sizes, and the paths that are in conflict."""
        index = {"GIT_INDEX_FILE": str(self._repository.staged_index), "GIT_LITERAL_PATHSPECS": "1"}
        named = map(os.fsdecode, sorted(self._only or ())) if self._only and len(self._only) <= _FEW else ()
        listing = self._repository.git.output("ls-files", "--stage", "--full-name", "-z", "--", *named, env=index)
        staged: list[Entry] = []
        conflicts: set[bytes] = set()
        for record in listing.split(b"\0"):
            if not record:
                continue
            head, _, path = record.partition(b"\t")
            if self._only is not None and path not in self._only:
                continue
            mode, oid, stage = head.split()
            entry = Entry(mode, oid.decode(), None, path)
            if not matters(entry):
                continue
            if stage == b"0":
                staged.append(entry)
            else:
                conflicts.add(path)
        sizes = self._objects.sizes([entry.oid for entry in staged])
        sized = [entry._replace(size=size) for entry, size in zip(staged, sizes, strict=True)]
        return sized, [printable(path) for path in sorted(conflicts)]
