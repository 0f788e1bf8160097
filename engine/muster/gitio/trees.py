"""The entries of a commit's tree: one `ls-tree`."""

from collections.abc import Iterator

from muster.gitio.entries import Entry
from muster.gitio.repository import Repository


def list_tree(repository: Repository, commit: str) -> Iterator[Entry]:
    """Yield every entry of the commit's tree, recursively, in byte order of paths."""
    listing = repository.git.output("ls-tree", "-r", "-z", "-l", "--full-tree", commit)
    for record in listing.split(b"\0"):
        if record:
            head, _, path = record.partition(b"\t")
            mode, _, oid, size = head.split()
            yield Entry(mode, oid.decode(), int(size) if size.isdigit() else None, path)
