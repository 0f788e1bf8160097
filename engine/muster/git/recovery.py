"""Repairs what killed runs have left, and touches nothing that another process can have left.

A dead run, all of whose git processes are dead too, is known by its note (see `journal`). Its lock of an index contains
that note. git's locks of refs do not name their owner: one counts as the run's if it contains the commit that the run
was about to store there, or if it was taken at that time, is still empty, and does not change.
"""

import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from muster.git.clock import seconds_since
from muster.git.errors import LockedError, RepositoryError
from muster.git.index import lent_index
from muster.git.journal import Journal, left_by_the_dead
from muster.git.repository import Repository, common_directory, git_directory, has_commit, worktrees
from muster.git.settling import settle
from muster.git.store.objects import is_object_id
from muster.git.store.process import Git

#: A lock whose owner lives stays no longer than this.
_STILL_SECONDS: Final = 1.0
_MOST_BYTES: Final = 1 << 12
_REFS: Final = "refs/"


def recover(repository: Repository) -> tuple[str, ...]:
    """Repair what dead runs left in the repository and its work trees; return what was done, a line each.

    What cannot be repaired now, because a lock is held or the disk is full, is left for the next time.
    """
    return tuple(line for journal in left_by_the_dead(repository) if (line := _repair(repository, journal)))


def _repair(repository: Repository, journal: Journal) -> str:
    note = journal.note
    journal.unfinished = True
    freed = [lock for lock in _ref_locks(repository, journal) if _is_left_over(lock, journal)]
    for lock in freed:
        lock.unlink(missing_ok=True)
    files = 0
    if note.worktree:
        index = _index_locks(repository, journal)
        try:
            files = _repair_work_tree(repository, journal)
        except (LockedError, OSError):
            return ""
        except RepositoryError as error:
            return f"a run was killed while it wrote to {note.worktree}, which cannot be repaired yet: {error.message}"
        finally:
            for lock in index:
                lock.unlink(missing_ok=True)
            freed += index
    journal.unfinished = False
    return _report_line(journal, files, len(freed))


def _repair_work_tree(repository: Repository, journal: Journal) -> int:
    """Repair the work tree, if it still belongs to the repository; return in how many files it was wrong."""
    note = journal.note
    tree = next((tree for tree in worktrees(repository) if str(tree.path) == note.worktree), None)
    if tree is None or not tree.path.is_dir() or not (is_object_id(note.old) and is_object_id(note.new)):
        return 0
    git = Git(tree.path, repository.git.environ)
    if not all(has_commit(git, commit) for commit in (note.old, note.new)):
        return 0  # so long ago that git has deleted the commits: whose the files are cannot be told any more
    with lent_index(journal, git, git_directory(repository, tree)) as lent:
        return settle(lent, note.old, note.new, repository.object_format)


def _report_line(journal: Journal, files: int, locks: int) -> str:
    counted = ((files, "file"), (locks, "lock"))
    left = [f"{number} {what}{'s' if number > 1 else ''}" for number, what in counted if number]
    if not left:
        return ""
    where = journal.note.worktree or journal.note.ref.rstrip("/")
    return f"a run was killed while it wrote to {where}: {' and '.join(left)} repaired"


def _git_directories(repository: Repository) -> Iterator[Path]:
    common = common_directory(repository)
    yield common
    yield from sorted(common.glob("worktrees/*/"))


def _index_locks(repository: Repository, journal: Journal) -> list[Path]:
    locks = (folder / "index.lock" for folder in _git_directories(repository))
    return [lock for lock in locks if journal.is_in(lock)]


def _ref_locks(repository: Repository, journal: Journal) -> Iterable[Path]:
    """The lock files that git may have left for the ref of the note."""
    ref, common = journal.note.ref, common_directory(repository)
    if not ref.startswith(_REFS) or ref == _REFS or ".." in ref or "\0" in ref:
        return ()
    if not ref.endswith("/"):
        return [common / f"{ref}.lock", *(folder / "HEAD.lock" for folder in _git_directories(repository))]
    # `packed-refs.new` goes with its lock: git does not write over it.
    shared = (common / name for name in ("packed-refs.new", "packed-refs.lock", "shallow.lock"))
    return [*shared, *sorted((common / ref).glob("**/*.lock"))]


def _is_left_over(lock: Path, journal: Journal) -> bool:
    """Did the dead run, and no other process, leave this lock?"""
    holder = _read_lock(lock)
    if holder is None:
        return False
    status, content = holder
    text = content.decode("ascii", "replace").strip()
    if journal.note.new and text == journal.note.new:
        return True
    fetched = journal.note.ref.endswith("/")
    if text and not fetched:
        return False
    # Times of the file system's clock, which ticks in steps.
    if not journal.begun - 0.1 <= status.st_ctime <= journal.begun + journal.note.seconds:
        return False
    time.sleep(min(_STILL_SECONDS, max(0.0, _STILL_SECONDS - seconds_since(status.st_ctime))))
    again = _read_lock(lock)
    return again is not None and os.path.samestat(status, again[0]) and again[1] == content


def _read_lock(lock: Path) -> tuple[os.stat_result, bytes] | None:
    try:
        status = lock.lstat()
        with lock.open("rb") as file:
            return status, file.read(_MOST_BYTES)
    except OSError:
        return None
