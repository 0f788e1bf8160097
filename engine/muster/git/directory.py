"""The snapshot of a directory: the work tree as it is now, or any directory without git.

Symbolic links are not followed, and only regular files are opened: a FIFO or a device would block or never end. In a
git work tree every file counts as git would store it (see `conversion`), and files that a sparse checkout leaves out
count as the index has them, so that findings about the work tree are those of its commit.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from muster.data.snapshot import Skipped, Snapshot
from muster.data.source import SourceFile
from muster.git.authors import CommitAuthors
from muster.git.conversion import ContentConverter
from muster.git.errors import LostObjectError, RepositoryError
from muster.git.history import History
from muster.git.repository import Repository, open_repository, ref_tip
from muster.git.store.entries import REGULAR, describe_link, obstacle_to, read_required
from muster.git.store.objects import Objects, object_id
from muster.git.store.paths import IGNORE_FILE, MAX_BLOB_BYTES, MAX_IGNORE_BYTES, Ignored, decode, is_data, printable
from muster.git.store.process import lies_in_repository
from muster.git.store.restricted import restricted_git


class WorkTreeListing(NamedTuple):
    """What git tracks, and what it neither tracks nor ignores.

    `absent` are the files, with their blob ids, that a sparse checkout leaves out; `object_format` is the repository's.
    """

    paths: set[bytes]
    absent: Mapping[bytes, str]
    object_format: str

    @classmethod
    def of(cls, paths: Iterable[str], object_format: str) -> "WorkTreeListing":
        """Only these paths, as they are on the disk."""
        return cls({os.fsencode(path) for path in paths}, {}, object_format)


class DirectorySnapshot(Snapshot):
    """The data files below a directory.

    Inside a git work tree files that git ignores are left out; elsewhere all count. Each file is read when it is
    yielded, so that its id and its content are of the same instant.
    """

    def __init__(
        self,
        path: Path,
        environ: Mapping[str, str],
        listing: WorkTreeListing | None = None,
        repository: Repository | None = None,
    ) -> None:
        """Read below `path`; git, if it is used, runs with `environ`. RepositoryError if it is no directory.

        `listing`: the paths to look at, if they are known without asking git. `repository`: the one it lies in, if that
        is open already.
        """
        if not path.is_dir():
            raise RepositoryError(f"{path} is not a directory", "give the fleet's directory")
        self._path, self._environ = path, environ
        self._root = os.fsencode(path) + b"/"  # paths are bytes here: they need not be UTF-8
        self._opened, self._git = repository, repository.git if repository else restricted_git(path, environ)
        self._objects = repository.objects if repository else Objects(self._git)
        self._skipped: list[Skipped] = []
        self._absent: Mapping[bytes, str] = {}
        self._stored: ContentConverter | None = None
        self._named: list[SourceFile] = []
        self._listing = listing

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return tuple(sorted(self._skipped, key=lambda skip: skip.path))

    @property
    def ignored(self) -> tuple[SourceFile, ...]:
        return tuple(self._named)

    @cached_property
    def head(self) -> str | None:
        """The commit that they are changes of; None outside a work tree and before the first commit."""
        return None if self._repository is None else ref_tip(self._repository, "HEAD^{commit}")

    @cached_property
    def past(self) -> History | None:
        """What history says of the last run; None outside a work tree, and in a folder of another repository."""
        return History(self._repository, self.head, uncommitted=True) if self._repository and self.head else None

    @cached_property
    def authors(self) -> CommitAuthors | None:
        """Who wrote the files; uncommitted changes, the configured user. None as for `past`."""
        return CommitAuthors(self._repository, self.head, uncommitted=True) if self._repository else None

    @cached_property
    def _repository(self) -> Repository | None:
        try:
            repository = self._opened or open_repository(self._path, self._environ)
        except RepositoryError:
            return None
        same = repository.worktree is not None and repository.worktree.resolve() == self._path.resolve()
        return repository if same else None

    def files(self) -> Iterator[SourceFile]:
        self._skipped, self._named = [], []
        listing = self._listing or self._listed_by_git()
        self._absent = {} if listing is None else listing.absent
        ignored = self._ignored()
        with ExitStack() as stack:
            self._stored = None
            if listing is not None:
                self._stored = stack.enter_context(ContentConverter(self._git, listing.object_format, MAX_BLOB_BYTES))
                self._stored.expect(path for path in listing.paths if is_data(path))
            for raw in sorted(self._walk() if listing is None else listing.paths):
                path, fault = decode(raw)
                if path in ignored or path == IGNORE_FILE:
                    if is_data(raw) and not fault:
                        self._named.append(SourceFile(path, "", partial(_read_if_regular, self._root + raw)))
                    continue
                if fault:
                    self._skip(path, fault)
                else:
                    yield from self._file(path, raw)

    def _file(self, path: str, raw: bytes) -> Iterator[SourceFile]:
        """Yield the file at `path` if it can be read, else report why not."""
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
                yield self._read(path, raw)
        except FileNotFoundError:
            yield from self._sparse_file(path, raw)  # or deleted but still in the index, or just now
        except _TooLargeError as error:
            self._skip(path, "too-large", str(error))
        except OSError as error:
            self._skip(path, "unreadable", error.strerror or str(error))

    def _read(self, path: str, raw: bytes) -> SourceFile:
        content = _read_regular(self._root + raw, MAX_BLOB_BYTES)
        if self._stored is None:
            return SourceFile(path, object_id("blob", content), lambda: content)
        content = self._stored.content(raw, content)
        return SourceFile(path, self._stored.id_of(content), lambda: content)

    def _sparse_file(self, path: str, raw: bytes) -> Iterator[SourceFile]:
        """Yield a file that a sparse checkout leaves out: a commit has it all the same."""
        oid = self._absent.get(raw)
        if oid is None or not is_data(raw):
            return
        (size,) = self._objects.sizes((oid,))
        if size is None:
            raise LostObjectError(path, f"object {oid}")
        if (obstacle := obstacle_to(REGULAR[0], oid, size)) is not None:
            self._skip(path, *obstacle)
        else:
            yield SourceFile(path, oid, partial(read_required, path, partial(self._objects.blob, oid)))

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
            oid = self._absent.get(IGNORE_FILE.encode())
            content = b"" if oid is None else read_required(IGNORE_FILE, partial(self._objects.blob, oid))
        except OSError as error:
            self._skip(IGNORE_FILE, "unreadable", error.strerror or str(error))
            return Ignored()
        ignored = Ignored(content)
        for fault in ignored.faults:
            self._skip(IGNORE_FILE, "unreadable", fault)
        return ignored

    def _listed_by_git(self) -> WorkTreeListing | None:
        """Return what git tracks here; None if git does not apply: outside a work tree, without git, in an ignored
        directory."""
        if not lies_in_repository(self._path):
            return None
        try:
            answer = self._git.line("rev-parse", "--is-inside-work-tree", "--show-object-format")
            inside, _, object_format = (answer or "").partition("\n")
            if inside != "true" or self._git.run("check-ignore", "--quiet", ".").status == 0:
                return None
            listing = self._git.output("ls-files", "-z", "-t", "--stage", "--others", "--exclude-standard")
        except RepositoryError:
            return None
        paths: set[bytes] = set()
        absent: dict[bytes, str] = {}
        for record in listing.split(b"\0"):
            if not record:
                continue
            head, tab, path = record.partition(b"\t")
            if record.startswith(b"? ") or not tab:
                paths.add(record[2:])
                continue
            tag, mode, oid, _ = head.split()
            paths.add(path)
            if tag == b"S" and mode in REGULAR:
                absent[path] = oid.decode()
        return WorkTreeListing(paths, absent, object_format)

    def _walk(self) -> Iterator[bytes]:
        """Yield the paths of everything below the root except directories, without following links."""
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
    """A file that exceeds the limit."""


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


def _read_if_regular(path: bytes) -> bytes:
    """Return the content of a file; empty if it cannot be read."""
    try:
        return _read_regular(path, MAX_BLOB_BYTES)
    except OSError:
        return b""


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISDIR, "directory"), (stat.S_ISFIFO, "FIFO"), (stat.S_ISSOCK, "socket"), (stat.S_ISLNK, "link"))
    return next((name for test, name in kinds if test(mode)), "device")
