"""Repairs a work tree whose update from one commit to another was interrupted.

It only changes what the update can have left: of the paths that differ between the two commits, those whose index entry
is one of theirs, and whose file is one of theirs, the beginning of one, or missing. They become what the work tree's
HEAD has now. All else is a person's, and stays.
"""

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from muster.git.changes import Blob, PathChange, changes_between, entries_of_commit, entries_of_index, folders_of
from muster.git.conversion import ContentConverter
from muster.git.errors import UnreadableError
from muster.git.index import LentIndex
from muster.git.store.process import Git

_LINK: Final = "120000"
_SUBMODULE: Final = "160000"
_EXECUTABLE: Final = "100755"
#: Larger files count as a person's.
_MOST_BYTES: Final = 1 << 28


def settle(lent: LentIndex, old: str, new: str, object_format: str) -> int:
    """Repair the work tree and its index; return the number of repaired paths.

    RepositoryError or OSError if that is not possible now: a commit is gone, the disk is full.
    """
    git = lent.git
    changes = [change for change in changes_between(git, old, new) if not _is_submodule(change)]
    head = git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if head is None:
        return 0
    wanted = entries_of_commit(git, head, (change.raw for change in changes))
    settled, put = _put_index_right(git, changes, wanted)
    with ContentConverter(git, object_format, _MOST_BYTES) as stored:
        stored.expect(change.raw for change in settled)
        files = _Files(git, stored)
        remove = [change.raw for change in settled if change.raw not in wanted and files.may_be_replaced(change, None)]
        for path in remove:  # first, so that a file can take the place of a folder, and a folder that of a file
            _remove(os.fsencode(git.directory), path)
        write = [
            change.raw
            for change in settled
            if change.raw in wanted and files.may_be_replaced(change, wanted[change.raw])
        ]
    if write:
        git.output("checkout-index", "--force", "--quiet", "--index", "-z", "--stdin", stdin=_listed(write))
    git.run("update-index", "-q", "--refresh")
    lent.put_back()
    return len({*write, *remove, *put})


def _is_submodule(change: PathChange) -> bool:
    return any(blob is not None and blob.mode == _SUBMODULE for blob in (change.old, change.new))


def _put_index_right(
    git: Git, changes: list[PathChange], wanted: Mapping[bytes, Blob]
) -> tuple[list[PathChange], set[bytes]]:
    """Set index entries that are one of the two commits' to HEAD's.

    Return the changes at whose paths the index then equals HEAD, and the paths where it did not before.
    """
    entries = entries_of_index(git)
    settled, lines, put = list[PathChange](), list[bytes](), set[bytes]()
    for change in changes:
        path, aim = change.raw, wanted.get(change.raw)
        if path in entries and entries[path] is None:
            continue  # unmerged
        entry = entries.get(path)
        if entry not in (change.old, change.new, aim):
            continue
        settled.append(change)
        if entry != aim:
            put.add(path)
            mode, oid = aim or ("0", "0" * len((change.old or change.new or Blob("", "")).oid))
            lines.append(f"{mode} {oid}\t".encode() + path)
    if lines:
        git.output("update-index", "-z", "--index-info", stdin=_listed(lines))
    return settled, put


class _WorkTreeState(NamedTuple):
    """A file in the work tree."""

    mode: str
    content: bytes


class _Files:
    """The files of a work tree, compared with those of commits."""

    def __init__(self, git: Git, stored: ContentConverter) -> None:
        self._git, self._stored = git, stored
        self._root = os.fsencode(git.directory)
        self._modes = git.line("config", "--type=bool", "--get", "core.fileMode") != "false"

    def may_be_replaced(self, change: PathChange, wanted: Blob | None) -> bool:
        """Does the file at a path differ from the wanted one, and is it nothing of a person's?"""
        try:
            state = _file_at(self._root, change.raw)
            if state is None:
                return wanted is not None
            oid = self._oid(change.raw, state)
        except (OSError, UnreadableError):
            return False
        blobs = [blob for blob in (change.old, change.new, wanted) if blob and self._same_kind(blob, state)]
        if wanted in blobs and wanted is not None and oid == wanted.oid:
            return self._modes and wanted.mode != state.mode
        return any(oid == blob.oid or self._begins(state, blob) for blob in blobs)

    def _oid(self, path: bytes, state: _WorkTreeState) -> str:
        if state.mode == _LINK:
            return self._stored.id_of(state.content)
        return self._stored.id_of(self._stored.content(path, state.content))

    def _same_kind(self, blob: Blob, state: _WorkTreeState) -> bool:
        return (blob.mode == _LINK) == (state.mode == _LINK)

    def _begins(self, state: _WorkTreeState, blob: Blob) -> bool:
        """Is a file the beginning of a blob, as if writing it was cut short?"""
        if state.mode == _LINK:
            return False
        return not state.content or self._git.output("cat-file", "blob", blob.oid).startswith(state.content)


def _file_at(root: bytes, path: bytes) -> _WorkTreeState | None:
    """The file at a path; None if there is none. OSError for something that git does not write."""
    for folder in reversed(list(folders_of(path))):
        try:
            mode = os.lstat(root + b"/" + folder).st_mode
        except FileNotFoundError:
            return None
        if not stat.S_ISDIR(mode):
            raise NotADirectoryError(errno.ENOTDIR, "in the way of a folder")
    full = root + b"/" + path
    try:
        status = os.lstat(full)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(status.st_mode) and not any(names for _, _, names in os.walk(full)):
        return None  # git makes a folder before the file in it
    if stat.S_ISLNK(status.st_mode):
        return _WorkTreeState(_LINK, os.readlink(full))  # noqa: PTH115 - paths are bytes here
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
        raise OSError(errno.EINVAL, "no file that git has written")
    with os.fdopen(os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return _WorkTreeState(_EXECUTABLE if status.st_mode & stat.S_IXUSR else "100644", file.read())


def _remove(root: bytes, path: bytes) -> None:
    """Remove a file, and the folders that are empty then."""
    os.unlink(root + b"/" + path)  # noqa: PTH108
    with suppress(OSError):
        for folder in folders_of(path):
            os.rmdir(root + b"/" + folder)  # noqa: PTH106


def _listed(records: list[bytes]) -> bytes:
    return b"".join(record + b"\0" for record in records)
