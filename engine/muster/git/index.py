"""The snapshot of the index: what is staged, for the pre-commit hook.

The index of a work tree, locked, and a copy of it that git works on instead.

The lock is what git takes, `index.lock`, but it holds our note (see `journal`): whoever finds it can tell whose it is.
git's own lock is an empty file that says nothing, and stays when git is killed. What git writes while it works goes
beside the copy, where it is in nobody's way, and the copy takes the index's place in one step.
"""

import os
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from muster.data.snapshot import Skipped, Snapshot
from muster.data.source import SourceFile
from muster.git.authors import CommitAuthors, authors_on_head
from muster.git.entries import Entry, choose, matters
from muster.git.errors import LockedError
from muster.git.history import History, history_of
from muster.git.journal import Journal
from muster.git.objects import Objects
from muster.git.paths import IGNORE_FILE, printable
from muster.git.process import Git
from muster.git.repository import Repository

#: People's commands hold the lock for a moment.
_TRIES: Final = 6
_PAUSE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class LentIndex:
    """The copy at `path`; `git` works on it, in the work tree."""

    path: Path
    git: Git
    _own: Path

    def put_back(self) -> None:
        """Put the copy in the place of the index."""
        if self.path.exists():
            self.path.replace(self._own)


@contextmanager
def lent_index(journal: Journal, git: Git, git_dir: Path) -> Iterator[LentIndex]:
    """Lock the index of the work tree in which `git` runs and that has `git_dir`, and lend a copy of it.

    LockedError where somebody else holds it. The lock goes with the block.
    """
    lock, own = git_dir / "index.lock", git_dir / "index"
    journal.lock = lock
    _take(journal, lock)
    try:
        for stale in (journal.index, journal.index.with_name(f"{journal.index.name}.lock")):
            stale.unlink(missing_ok=True)
        lent = LentIndex(journal.index, _working_on(journal, git), own)
        try:
            os.link(own, journal.index)  # git writes a new file and never into this one
        except FileNotFoundError:
            lent.git.output("read-tree", "--empty")
        except OSError:
            shutil.copy2(own, journal.index)  # with its time: by that git knows which files to doubt
        yield lent
    finally:
        journal.unlock()


def _take(journal: Journal, lock: Path) -> None:
    for number in range(_TRIES):
        try:
            os.link(journal.path, lock)
        except FileExistsError:
            if journal.is_in(lock):
                return
        except OSError:  # no hard links here; killed within the next lines, a lock would stay that is nobody's
            try:
                with lock.open("xb") as file:
                    file.write(journal.text)
            except FileExistsError:
                pass
            else:
                return
        else:
            return
        if number + 1 < _TRIES:
            time.sleep(_PAUSE_SECONDS)
    raise LockedError(f"another git process holds {lock}", "wait for it to end; if it was killed, delete that file")


def _working_on(journal: Journal, git: Git) -> Git:
    held = journal.holding(git)
    environ = {**git.environ, "GIT_INDEX_FILE": str(journal.index), "GIT_LITERAL_PATHSPECS": "1"}
    return Git(held.directory, environ, held.inherited)


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
