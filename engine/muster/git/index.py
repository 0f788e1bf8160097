"""The index of a work tree, locked, and a copy of it that git works on instead.

The lock is what git takes, `index.lock`, but it holds our note (see `journal`): whoever finds it can tell whose it is.
git's own lock is an empty file that says nothing, and stays when git is killed. What git writes while it works goes
beside the copy, where it is in nobody's way, and the copy takes the index's place in one step.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from muster.git.errors import LockedError
from muster.git.journal import Journal
from muster.git.process import Git

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
