"""The entries of a commit's tree: one `ls-tree`."""

import os
from collections.abc import Iterable, Iterator
from typing import Final

from muster.gitio.entries import Entry
from muster.gitio.repository import Repository

#: So many paths are asked for with one command line.
AT_ONCE: Final = 400


def list_tree(repository: Repository, commit: str, only: Iterable[str] | None = None) -> Iterator[Entry]:
    """Yield every entry of the commit's tree, recursively, in byte order of paths; or those of `only` that it has."""
    if only is None:
        yield from _entries(repository.git.output("ls-tree", "-r", "-z", "-l", "--full-tree", commit))
        return
    paths = sorted({path.encode("utf-8", "surrogateescape") for path in only})
    for start in range(0, len(paths), AT_ONCE):
        named = map(os.fsdecode, paths[start : start + AT_ONCE])
        yield from _entries(repository.git.output("ls-tree", "-z", "-l", "--full-tree", commit, "--", *named))


def _entries(listing: bytes) -> Iterator[Entry]:
    for record in listing.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, _, oid, size = head.split()
            yield Entry(mode, oid.decode(), int(size) if size.isdigit() else None, path)
