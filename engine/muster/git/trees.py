"""The entries of a commit's tree: all of them by one `ls-tree`, or some, found by walking down the trees.

`ls-tree` compares each entry of the directories that it reads with each requested path: a few hundred paths are slow in
large directories.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from muster.git.errors import UnreadableError, explain
from muster.git.repository import Repository
from muster.git.store.entries import DIRECTORY, SUBMODULE, Entry
from muster.git.store.objects import Objects, raw_entries
from muster.git.store.process import Git

#: So many paths fit into one command line.
AT_ONCE: Final = 400
_DIRECTORY_LISTED: Final = b"040000"

#: Names of directories and files, and what is searched below each.
_Wanted: TypeAlias = "dict[bytes, _Wanted]"


def list_tree(repository: Repository, commit: str) -> Iterator[Entry]:
    """Yield every entry of the commit's tree, recursively, in byte order of paths."""
    yield from _entries(_listing(repository, commit))


def count_entries(repository: Repository, commit: str) -> int:
    """Return the number of entries of the commit's tree, without looking at them."""
    return _listing(repository, commit).count(b"\0")


def _listing(repository: Repository, commit: str) -> bytes:
    done = repository.kept.run(repository.git, "ls-tree", "-r", "-z", "-l", "--full-tree", commit, commit=commit)
    if done.status:
        raise explain("ls-tree", done.stderr, done.status)
    return done.stdout


def find_entries(repository: Repository, objects: Objects, commit: str, paths: Iterable[str]) -> Iterator[Entry]:
    """Yield the entries at some paths in the commit's tree, without directories, in byte order."""
    named = sorted({path.encode("utf-8", "surrogateescape") for path in paths})
    try:
        walked = _walk(objects, commit, named, repository.id_bytes)
    except (UnreadableError, ValueError):  # a tree that is lost, damaged or too large: git itself reports it
        yield from list_paths(repository.git, commit, named)
        return
    blobs = [oid for mode, oid in walked.values() if mode != SUBMODULE]
    sizes = dict(zip(blobs, objects.sizes(blobs), strict=True))
    for path, (mode, oid) in sorted(walked.items()):
        yield Entry(mode, oid, sizes.get(oid), path)


def _walk(objects: Objects, commit: str, paths: Collection[bytes], id_bytes: int) -> dict[bytes, tuple[bytes, str]]:
    entries: dict[bytes, tuple[bytes, str]] = {}
    asked, level = frozenset(paths), [(b"", f"{commit}^{{tree}}", _wanted(paths))]
    while level:
        below = []
        answers = objects.read([name for _, name, _ in level])
        for (folder, _, wanted), answer in zip(level, answers, strict=True):
            if isinstance(answer, UnreadableError):
                raise answer
            for mode, name, oid in raw_entries(answer.content, id_bytes, wanted):
                if mode == DIRECTORY:
                    below.append((folder + name + b"/", oid, wanted[name]))
                elif folder + name in asked:
                    entries[folder + name] = (mode.rjust(6, b"0"), oid)
        level = below
    return entries


def _wanted(paths: Iterable[bytes]) -> _Wanted:
    root: _Wanted = {}
    for path in paths:
        node = root
        for name in path.split(b"/"):
            node = node.setdefault(name, {})
    return root


def list_paths(git: Git, commit: str, paths: Sequence[bytes]) -> Iterator[Entry]:
    """Yield the entries at some paths in the commit's tree, without directories, found by `ls-tree`."""
    for start in range(0, len(paths), AT_ONCE):
        named = paths[start : start + AT_ONCE]
        listing = git.output("ls-tree", "-z", "-l", "--full-tree", commit, "--", *map(os.fsdecode, named))
        wanted = frozenset(named)  # for a directory with a trailing slash, git lists its content
        yield from (entry for entry in _entries(listing) if entry.path in wanted and entry.mode != _DIRECTORY_LISTED)


def _entries(listing: bytes) -> Iterator[Entry]:
    for record in listing.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, _, oid, size = head.split()
            yield Entry(mode, oid.decode(), int(size) if size.isdigit() else None, path)


def list_index(
    git: Git, paths: Iterable[bytes] = (), env: Mapping[str, str] | None = None
) -> Iterator[tuple[Entry, bool]]:
    """Yield the entries of git's index, without sizes, at some paths or all, and whether each is merged."""
    for record in git.output("ls-files", "--stage", "-z", "--", *map(os.fsdecode, paths), env=env).split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, oid, stage = head.split()
            yield Entry(mode, oid.decode(), None, path), stage == b"0"


class AgentEntry(NamedTuple):
    """A tree entry of an agent ref: `path` from the ref's root, `mode` as git writes it. `size` of a file, in bytes;
    None if it is not known, or the repository has lost it."""

    ref: str
    path: bytes
    mode: bytes
    oid: str
    size: int | None = None
