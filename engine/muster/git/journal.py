"""Notes of work in progress in a repository: what a killed run may have left there, and whether it has ended.

Before git changes refs or a work tree for muster, a note is put into `muster/` in the git directory. muster and every
process that it starts for this hold a lock on the note's file (`flock`, through the inherited descriptor): if the lock
is free, the run is dead with all its processes. Process ids would not tell: other containers have other ones, and they
are reused; and git continues for a while if only muster is killed.
"""

import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import Final

from muster.data.codec import from_tree
from muster.data.tree import read_json
from muster.dataclass import dataclass
from muster.git.clock import seconds_since
from muster.git.errors import RepositoryError
from muster.git.repository import Repository, common_directory
from muster.git.store.process import Completed, Git

_FOLDER: Final = "muster"
#: After this time, a note without its final name belongs to a run that was killed while writing it.
_UNNAMED_SECONDS: Final = 60.0
_MOST_BYTES: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class JournalNote:
    """What is about to change.

    `ref` moves to `new`; if it ends in a slash, refs below it are fetched. The locks for that are taken within
    `seconds`. `worktree` goes from commit `old` to `new`; empty for none.
    """

    ref: str = ""
    new: str = ""
    seconds: float = 0.0
    worktree: str = ""
    old: str = ""


@dataclass(slots=True)
class Journal:
    """A held note in its file. `unfinished` keeps the note for a later run when it is released; `lock` is a lock with
    its content, which is removed first."""

    path: Path
    note: JournalNote
    text: bytes = field(repr=False)
    _descriptor: int
    unfinished: bool = False
    lock: Path | None = None

    @property
    def index(self) -> Path:
        """The path of the index that git works on instead of the work tree's own."""
        return self.path.with_suffix(".index")

    @property
    def begun(self) -> float:
        """When the note was written, by the clock of its file system."""
        return os.fstat(self._descriptor).st_mtime

    def after(self, done: Completed) -> Completed:
        """Keep the note if git was killed by a signal; return its result."""
        self.unfinished = self.unfinished or done.status < 0
        return done

    def holding(self, git: Git) -> Git:
        """Return `git` whose processes also hold the note."""
        return replace(git, inherited=(self._descriptor,))

    def is_in(self, lock: Path) -> bool:
        """Does a lock contain this note?"""
        try:
            return lock.read_bytes() == self.text
        except OSError:
            return False

    def unlock(self) -> None:
        """Remove the lock. Also called on closing, so that no interrupt leaves a lock without its note."""
        if self.lock is not None and self.is_in(self.lock):
            self.lock.unlink(missing_ok=True)

    def close(self) -> None:
        """Release the note, and remove it unless it is `unfinished`."""
        self.unlock()
        if not self.unfinished:
            for left in (self.index, self.index.with_name(f"{self.index.name}.lock"), self.path):
                left.unlink(missing_ok=True)
        os.close(self._descriptor)


@contextmanager
def noted(repository: Repository, note: JournalNote) -> Iterator[Journal]:
    """Hold a note while the block runs; a note of refs stays if the block ends in an exception. RepositoryError if it
    cannot be written."""
    folder = common_directory(repository) / _FOLDER
    name = uuid.uuid4().hex
    text = json.dumps({"name": name, **asdict(note)}).encode()
    unnamed, path = folder / f"{name}.new", folder / f"{name}.note"
    try:
        folder.mkdir(exist_ok=True)
        descriptor = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with suppress(OSError):  # a file system without locks: dead runs cannot be recognised there
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, text)
            if note.worktree:
                os.fsync(descriptor)  # files are about to change, and a power cut must not leave them unexplained
            unnamed.rename(path)  # only now can others see it
        except BaseException:
            unnamed.unlink(missing_ok=True)
            os.close(descriptor)
            raise
    except OSError as error:
        raise RepositoryError(
            f"{folder} cannot be written: {error.strerror or error}", "free some space, or see who may write there"
        ) from error
    journal = Journal(path, note, text, descriptor)
    try:
        yield journal
    except BaseException:
        # git was ended, if it was still at work, and may have left its locks of refs.
        journal.unfinished = journal.unfinished or bool(note.ref)
        raise
    finally:
        journal.close()


def left_by_the_dead(repository: Repository) -> Iterator[Journal]:
    """Yield the notes of dead runs, each held until the next one is requested."""
    folder = common_directory(repository) / _FOLDER
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return
    for name in names:
        path = folder / name
        if path.suffix not in (".note", ".new"):
            continue
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue
        journal = _taken(path, descriptor)
        if journal is None:
            os.close(descriptor)
            continue
        try:
            yield journal
        finally:
            journal.close()


def _taken(path: Path, descriptor: int) -> Journal | None:
    """Take the note over; None if it is held, is gone, or is not ours."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held, at_path = os.fstat(descriptor), path.lstat()
        if not os.path.samestat(held, at_path) or held.st_uid != os.geteuid():
            return None
        if path.suffix == ".new":
            if seconds_since(held.st_mtime) > _UNNAMED_SECONDS:
                path.unlink()
            return None
        text = os.read(descriptor, _MOST_BYTES)
    except OSError:
        return None
    return Journal(path, _read(text), text, descriptor)


def _read(text: bytes) -> JournalNote:
    """The note as it was written; an empty one if it is not ours."""
    with suppress(ValueError):
        return from_tree(JournalNote, read_json(text))
    return JournalNote()
