"""The snapshot of a directory: the work tree as it stands now, or any directory without git.

Symbolic links are not followed, and only regular files are opened: a FIFO or a device would block or never end.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from muster.gitio.entries import describe_link
from muster.gitio.errors import RepositoryError
from muster.gitio.paths import IGNORE_FILE, MAX_BLOB_BYTES, MAX_IGNORE_BYTES, Ignored, decode, is_data, printable
from muster.gitio.process import Git, without_location
from muster.model.snapshot import Skipped
from muster.model.source import SourceFile


class DirectorySnapshot:
    """The data files below a directory. Satisfies `muster.model.snapshot.Snapshot`.

    Inside a git work tree what git ignores is left out; elsewhere everything counts. Each file is read when
    it is yielded, so that its id (always the SHA-1 one) and its content are of the same instant.
    """

    def __init__(self, path: Path, environ: Mapping[str, str]) -> None:
        """Read below `path`; git, where it is used, runs with `environ`. RepositoryError if it is no directory."""
        if not path.is_dir():
            raise RepositoryError(f"{path} is not a directory", "give the fleet's directory")
        self._root = os.fsencode(path) + b"/"  # paths are bytes here: they need not be UTF-8
        self._git = Git(path, without_location(environ))
        self._skipped: list[Skipped] = []

    @property
    def commit(self) -> None:
        """None: a directory is no commit."""
        return None

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out and why. Complete once `files` has been exhausted."""
        return tuple(sorted(self._skipped, key=lambda one: one.path))

    def files(self) -> Iterator[SourceFile]:
        """Yield the data files, sorted by path."""
        self._skipped = []
        ignored = self._ignored()
        listed = self._listed_by_git()
        for raw in sorted(self._walk() if listed is None else listed):
            path, fault = decode(raw)
            if path in ignored or path == IGNORE_FILE:
                continue
            if fault:
                self._skip(path, fault)
            else:
                yield from self._file(path, raw)

    def _file(self, path: str, raw: bytes) -> Iterator[SourceFile]:
        """Yield the file at `path` if it can be read, else say why not."""
        full = self._root + raw
        try:
            status = os.lstat(full)
            if stat.S_ISLNK(status.st_mode):
                self._link(path, full)
            elif stat.S_ISDIR(status.st_mode):
                self._directory(path, full)
            elif not stat.S_ISREG(status.st_mode):
                if is_data(raw):
                    self._skip(path, "not-a-file", _kind(status.st_mode))
            elif is_data(raw):
                yield self._read(path, full)
        except FileNotFoundError:
            pass  # deleted but still in the index, or just now
        except _TooLargeError as error:
            self._skip(path, "too-large", str(error))
        except OSError as error:
            self._skip(path, "unreadable", error.strerror or str(error))

    def _read(self, path: str, full: bytes) -> SourceFile:
        content = _read_regular(full, MAX_BLOB_BYTES)
        return SourceFile(path, blob_id(content), lambda: content)

    def _directory(self, path: str, full: bytes) -> None:
        """Report a repository inside this one: git lists it, as a submodule or as untracked, but not what is in it."""
        if (Path(os.fsdecode(full)) / ".git").exists():
            self._skip(path.rstrip("/"), "submodule", "a repository of its own")

    def _link(self, path: str, full: bytes) -> None:
        link = Path(os.fsdecode(full))
        if is_data(full) or link.is_dir():
            self._skip(path, "symlink", describe_link(path, printable(os.fsencode(link.readlink()))))

    def _ignored(self) -> Ignored:
        try:
            content = _read_regular(self._root + IGNORE_FILE.encode(), MAX_IGNORE_BYTES)
        except FileNotFoundError:
            return Ignored()
        except OSError as error:
            self._skip(IGNORE_FILE, "unreadable", error.strerror or str(error))
            return Ignored()
        ignored = Ignored(content)
        for fault in ignored.faults:
            self._skip(IGNORE_FILE, "unreadable", fault)
        return ignored

    def _listed_by_git(self) -> set[bytes] | None:
        """Return what git tracks, and what it neither tracks nor ignores; None where git has no say.

        It has none outside a work tree, without git, and in a directory that is itself ignored.
        """
        try:
            inside = self._git.line("rev-parse", "--is-inside-work-tree")
            if inside != "true" or self._git.run("check-ignore", "--quiet", ".").status == 0:
                return None
            listing = self._git.output("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        except RepositoryError:
            return None
        return {path for path in listing.split(b"\0") if path}

    def _walk(self) -> Iterator[bytes]:
        """Yield the paths of everything below the root that is no directory, without following links."""
        pending = [b""]
        while pending:
            directory = pending.pop()
            try:
                with os.scandir(self._root + directory) as entries:
                    for entry in entries:
                        path = directory + entry.name
                        if not entry.is_dir(follow_symlinks=False):
                            yield path
                        elif entry.name != b".git":
                            pending.append(path + b"/")
            except OSError as error:
                self._skip(printable(directory), "unreadable", error.strerror or str(error))

    def _skip(self, path: str, reason: str, detail: str = "") -> None:
        self._skipped.append(Skipped(path, reason, detail))


class _TooLargeError(OSError):
    """A file beyond the limit."""


def blob_id(content: bytes) -> str:
    """Return git's id of a blob with this content, in a SHA-1 repository."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _read_regular(path: bytes, limit: int) -> bytes:
    """Return the content of a regular file; OSError for anything else, without blocking on it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, f"it is a {_kind(status.st_mode)}, not a file")
        content = b"" if status.st_size > limit else file.read(limit + 1)
        if status.st_size > limit or len(content) > limit:
            raise _TooLargeError(f"{max(status.st_size, len(content))} bytes, more than {limit}")
        return content


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "directory"), (stat.S_ISFIFO, "FIFO"), (stat.S_ISSOCK, "socket"), (stat.S_ISLNK, "link"))
    return next((name for test, name in kinds if test(mode)), "device")
