"""What differs between two commits as a work tree sees it: paths as bytes, modes, and the entries of an index."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from muster.git.changes import raw_changes
from muster.git.process import Git
from muster.git.trees import list_paths


class Blob(NamedTuple):
    """What an entry of a tree or an index is: its mode as git writes it, six digits, and its object."""

    mode: str
    oid: str


class TreeChange(NamedTuple):
    """A path that differs; None where it does not exist."""

    path: bytes
    old: Blob | None
    new: Blob | None


#: What an index has at a path. `None` where it is unmerged.
Entries: TypeAlias = Mapping[bytes, Blob | None]


def changes_between(git: Git, old: str, new: str) -> list[TreeChange]:
    """Return what differs from commit `old` to `new`, by path. Renames are two changes."""
    listing = git.output("diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", old, new)
    found = (
        TreeChange(path, _blob(was, before), _blob(is_, after))
        for path, (was, is_), (before, after) in raw_changes(listing)
    )
    return sorted(found)


def entries_of_index(git: Git) -> Entries:
    """Return the entries of git's index."""
    found: dict[bytes, Blob | None] = {}
    for record in git.output("ls-files", "--stage", "-z").split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, oid, stage = head.decode().split()
            found[path] = Blob(mode, oid) if stage == "0" else None
    return found


def entries_of_commit(git: Git, commit: str, paths: Iterable[bytes]) -> Mapping[bytes, Blob]:
    """Return what a commit has at some paths."""
    return {entry.path: Blob(entry.mode.decode(), entry.oid) for entry in list_paths(git, commit, sorted(set(paths)))}


def folders_of(path: bytes) -> Iterator[bytes]:
    """Yield the folders that a path lies in, the innermost first."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _blob(mode: str, oid: str) -> Blob | None:
    return Blob(mode, oid) if mode.strip("0") else None
