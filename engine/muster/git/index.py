"""The index of a work tree, locked, and a copy of it that git works on instead.

The lock is the file that git locks, `index.lock`, but it contains our note (see `journal`), so its owner is known.
git's own lock is an empty file that names no owner, and stays if git is killed. While git works it writes next to the
copy, where nothing else is, and the copy replaces the index in one step.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from muster.dataclass import dataclass
from muster.git.errors import LockedError
from muster.git.journal import Journal
from muster.git.store.process import Git

#: Other commands hold the lock for a moment.
_TRIES: Final = 6
_PAUSE_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class LentIndex:
    """The copy at `path`; `git` works on it, in the work tree."""

    path: Path
    git: Git
    _own: Path

    def put_back(self) -> None:
        """Replace the index with the copy."""
        if self.path.exists():
            self.path.replace(self._own)


@contextmanager
def lent_index(journal: Journal, git: Git, git_dir: Path) -> Iterator[LentIndex]:
    """Lock the index of the work tree in which `git` runs and that has `git_dir`, and lend a copy of it.

    LockedError if another process holds it. The lock is removed with the end of the block.
    """
    lock, index = git_dir / "index.lock", git_dir / "index"
    journal.lock = lock
    _take(journal, lock)
    try:
        for stale in (journal.index, journal.index.with_name(f"{journal.index.name}.lock")):
            stale.unlink(missing_ok=True)
        lent = LentIndex(journal.index, _working_on(journal, git), index)
        try:
            os.link(index, journal.index)  # git writes a new file and never into this one
        except FileNotFoundError:
            lent.git.output("read-tree", "--empty")
        except OSError:
            shutil.copy2(index, journal.index)  # with its time, by which git knows which files to compare again
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
        except OSError:  # no hard links here; if killed within the next lines, a lock without an owner stays
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
