"""What people did between two commits: every path that any commit touched, also where a later one took it back."""

from collections.abc import Iterator
from typing import Final

from muster.git.changes import PathChange, changed_paths
from muster.git.history import ALLOWED
from muster.git.paths import decode
from muster.git.repository import LOG, Repository

#: A merge is what it changes of all of its sides: what these brought, their own commits say.
_NAMES: Final = ("-c", "-z", "--no-renames", "--name-only", "--format=")


def touched_between(repository: Repository, old: str, new: str) -> Iterator[PathChange]:
    """Yield what differs between a commit and a later one, and the paths that were changed and changed back."""
    found = changed_paths(repository, old, new)
    yield from found
    known = {change.path for change in found}
    listing = repository.git.output(*LOG, *_NAMES, f"{old}..{new}", "--")
    names = {decode(name.removeprefix(b"\n"))[0] for name in listing.split(b"\0")}
    yield from (PathChange(name, None, None) for name in sorted(names - known - {""}))


def speaks_to_runs(repository: Repository, old: str, new: str) -> bool:
    """Whether any commit after `old`, up to `new`, has a line that looks like a trailer by which people speak to runs.

    What runs say themselves changes derived/, or is the last run's instant."""
    asked = ("--max-count=1", "--extended-regexp", f"--grep=^{ALLOWED}:", "--format=%H", f"{old}..{new}", "--")
    return bool(repository.git.output(*LOG, *asked).strip())
