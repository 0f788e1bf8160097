"""Chooses among the entries of a tree or an index: which files are read, and why the others are not."""

import posixpath
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from muster.data.snapshot import Skipped
from muster.data.source import SourceFile
from muster.git.errors import LostObjectError, TooLargeError, UnreadableError
from muster.git.store.objects import BlobSequence, Objects
from muster.git.store.paths import IGNORE_FILE, MAX_BLOB_BYTES, MAX_IGNORE_BYTES, Ignored, decode, is_data, printable

DIRECTORY: Final = b"40000"
REGULAR: Final = (b"100644", b"100755")
LINK: Final = b"120000"
SUBMODULE: Final = b"160000"
_IGNORE_PATH: Final = IGNORE_FILE.encode()


class Entry(NamedTuple):
    """One entry of a tree or an index. `size` is None if the object is missing or of unknown size."""

    mode: bytes
    oid: str
    size: int | None
    path: bytes


class ChosenEntries(NamedTuple):
    """The files of a revision that are read, as (path, blob id) sorted by path; those that are not; those that
    `.musterignore` names."""

    chosen: Sequence[tuple[str, str]]
    skipped: tuple[Skipped, ...]
    ignored: tuple[tuple[str, str], ...] = ()

    def files(self, objects: Objects) -> Iterator[SourceFile]:
        blobs = BlobSequence(objects, [oid for _, oid in self.chosen])
        for index, (path, oid) in enumerate(self.chosen):
            yield SourceFile(path, oid, partial(read_required, path, partial(blobs.read, index)))

    def ignored_files(self, objects: Objects) -> tuple[SourceFile, ...]:
        return tuple(required_file(objects, path, oid) for path, oid in self.ignored)


def required_file(objects: Objects, path: str, oid: str) -> SourceFile:
    """Return a file of a commit, which the repository must have."""
    return SourceFile(path, oid, partial(read_required, path, partial(objects.blob, oid)))


def read_required(path: str, read: Callable[[], bytes]) -> bytes:
    """Return what `read` returns for a file of a commit. LostObjectError if the repository has lost it."""
    try:
        return read()
    except TooLargeError:
        raise
    except UnreadableError as error:
        raise LostObjectError(path, str(error)) from error


def choose(entries: Iterable[Entry], objects: Objects) -> ChosenEntries:
    """Divide `entries` (in byte order of paths) into files that are read, skipped and ignored.

    A symbolic link is reported if it could stand for data: by its name, because it points at a directory with data, or
    because it points outside. LostObjectError if the repository has lost an object that matters.
    """
    mattering = [entry for entry in entries if is_relevant(entry)]
    for entry in mattering:
        if entry.size is None and entry.mode != SUBMODULE:
            raise LostObjectError(decode(entry.path)[0], f"object {entry.oid}")
    ignored, skipped = read_ignored(mattering, objects)
    chosen: list[tuple[str, str]] = []
    links: list[tuple[str, str]] = []
    named: list[tuple[str, str]] = []
    for entry in mattering:
        path, fault = decode(entry.path)
        if path in ignored or (entry.path == _IGNORE_PATH and not fault):
            if is_data(entry.path) and not fault and obstacle_to(entry.mode, entry.oid, entry.size) is None:
                named.append((path, entry.oid))
            continue
        obstacle = (fault, "") if fault else obstacle_to(entry.mode, entry.oid, entry.size)
        if obstacle is None:
            chosen.append((path, entry.oid))
        elif obstacle[0] == "symlink":
            links.append((path, entry.oid))
        else:
            skipped.append(Skipped(path, *obstacle))
    skipped.extend(_reported_links(links, chosen, objects))
    return ChosenEntries(chosen, tuple(sorted(skipped, key=lambda skip: skip.path)), tuple(named))


def points_outside(path: str, target: str) -> bool:
    """Does a link at `path` (relative to the root) to `target` point out of the repository?"""
    where = _destination(path, target)
    return where is None or where == ".." or where.startswith("../")


def describe_link(path: str, target: str) -> str:
    """Return the `Skipped.detail` of a link."""
    return f"{target} (outside the repository)" if points_outside(path, target) else target


def is_relevant(entry: Entry) -> bool:
    """Can the entry be read, reported, or say what is ignored?"""
    return is_data(entry.path) or entry.mode in (LINK, SUBMODULE) or entry.path == _IGNORE_PATH


def obstacle_to(mode: bytes, oid: str, size: int | None) -> tuple[str, str] | None:
    """Return the reason and detail of why an entry cannot be read; None if it can. `size`: see `Entry`."""
    if mode == LINK:
        return ("symlink", "")
    if mode == SUBMODULE:
        return ("submodule", oid)
    if size is None:
        return ("unreadable", f"the repository has lost object {oid}")
    if size > MAX_BLOB_BYTES:
        return ("too-large", f"{size} bytes, more than {MAX_BLOB_BYTES}")
    return None


def read_ignored(entries: Sequence[Entry], objects: Objects) -> tuple[Ignored, list[Skipped]]:
    """Return what the root's `.musterignore` among `entries` names, and the faults in it."""
    for entry in entries:
        if entry.path == _IGNORE_PATH:
            if entry.mode in (LINK, SUBMODULE) or (entry.size or 0) > MAX_IGNORE_BYTES:
                detail = f"not a file of at most {MAX_IGNORE_BYTES} bytes, so it names nothing"
                return Ignored(), [Skipped(IGNORE_FILE, "unreadable", detail)]
            ignored = Ignored(read_required(IGNORE_FILE, partial(objects.blob, entry.oid)))
            return ignored, [Skipped(IGNORE_FILE, "unreadable", fault) for fault in ignored.faults]
    return Ignored(), []


def _reported_links(
    links: Sequence[tuple[str, str]], chosen: Sequence[tuple[str, str]], objects: Objects
) -> Iterator[Skipped]:
    answers = objects.read([oid for _, oid in links])
    for (path, _), answer in zip(links, answers, strict=True):
        if isinstance(answer, TooLargeError):
            yield Skipped(path, "unreadable", str(answer))
            continue
        if isinstance(answer, UnreadableError):
            raise LostObjectError(path, str(answer))
        target = printable(answer.content)
        if is_data(path.encode()) or points_outside(path, target) or _holds_data(_destination(path, target), chosen):
            yield Skipped(path, "symlink", describe_link(path, target))


def _destination(path: str, target: str) -> str | None:
    """Return where a link at `path` points, relative to the root; None if the target is absolute."""
    if posixpath.isabs(target):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _holds_data(directory: str | None, chosen: Sequence[tuple[str, str]]) -> bool:
    if directory is None:
        return False
    prefix = "" if directory == "." else f"{directory}/"
    index = bisect_left(chosen, (prefix, ""))
    return index < len(chosen) and chosen[index][0].startswith(prefix)
