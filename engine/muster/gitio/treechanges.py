"""What differs between two commits as a work tree sees it: paths as bytes, modes, and the entries of an index."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from muster.gitio.process import Git

#: So many paths are asked for with one command line.
_AT_ONCE: Final = 400


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
    fields = listing.split(b"\0")
    found = []
    for head, path in zip(fields[0::2], fields[1::2], strict=False):
        was, is_, before, after, _ = head.decode().split()
        found.append(TreeChange(path, _blob(was.removeprefix(":"), before), _blob(is_, after)))
    return sorted(found)


def entries_of_index(git: Git) -> Entries:
    """Return the entries of git's index."""
    found: dict[bytes, Blob | None] = {}
    for head, path in _records(git.output("ls-files", "--stage", "-z")):
        mode, oid, stage = head.split()
        found[path] = Blob(mode, oid) if stage == "0" else None
    return found


def entries_of_commit(git: Git, commit: str, paths: Iterable[bytes]) -> Mapping[bytes, Blob]:
    """Return what a commit has at some paths."""
    wanted = sorted(set(paths))
    found = {}
    for start in range(0, len(wanted), _AT_ONCE):
        named = [path.decode("utf-8", "surrogateescape") for path in wanted[start : start + _AT_ONCE]]
        for head, path in _records(git.output("ls-tree", "-z", "--full-tree", commit, "--", *named)):
            mode, kind, oid = head.split()
            if kind != "tree":
                found[path] = Blob(mode, oid)
    return found


def _records(listing: bytes) -> Iterator[tuple[str, bytes]]:
    for record in listing.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            yield head.decode(), path


def _blob(mode: str, oid: str) -> Blob | None:
    return Blob(mode, oid) if mode.strip("0") else None
