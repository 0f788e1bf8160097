"""The versions that people's files had since a commit, as far as they were read then: one `git log` over some paths.

Along the first parents: the states that the branch was in. What `.musterignore` named when a version was committed was
not read, nor what was too large.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from muster.git.entries import LINK, SUBMODULE, Entry, read_ignored
from muster.git.errors import LostObjectError
from muster.git.objects import Objects
from muster.git.paths import IGNORE_FILE, MAX_BLOB_BYTES, Ignored, decode, is_data
from muster.git.repository import LOG, Repository
from muster.git.trees import AT_ONCE, find_entries

_RAW: Final = ("-z", "--raw", "--no-renames", "--no-abbrev", "-m", "--first-parent", "--reverse", "--format=%H")
#: So many commits are looked through, from the newest back.
_MOST_COMMITS: Final = 10_000
_IGNORE_PATH: Final = IGNORE_FILE.encode()
_GONE: Final = b"000000"


class _Change(NamedTuple):
    mode: bytes
    oid: str
    path: bytes


class Versions:
    """The versions of files after the commit `since`, up to `head`; without `since`, in all the history there is."""

    def __init__(self, repository: Repository, objects: Objects, since: str, head: str) -> None:
        """Look for them in `repository`; `since` and `head` are full ids."""
        self._repository, self._objects = repository, objects
        self._since, self._head = since, head

    def of(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """Return the ids of what was committed at each of these paths and below them, newest first; "" is the root."""
        named = sorted({f":(top,literal){path}" if path else ":(top)" for path in paths})
        found: dict[str, list[str]] = {}
        for start in range(0, len(named), AT_ONCE):
            versions = list(self._read(named[start : start + AT_ONCE]))
            sizes = self._objects.sizes([oid for _, oid in versions])
            for (path, oid), size in zip(versions, sizes, strict=True):
                if size is None:
                    raise LostObjectError(path, f"object {oid}, a version of the file since the last run")
                if size <= MAX_BLOB_BYTES:
                    found.setdefault(path, []).insert(0, oid)
        return found

    def _read(self, named: Sequence[str]) -> Iterator[tuple[str, str]]:
        ignored = self._ignored_at_start
        for changes in self._log(named):
            for change in changes:
                if change.path == _IGNORE_PATH:
                    ignored = self._ignored(change)
            for change in changes:
                path, fault = decode(change.path)
                read = change.mode not in (_GONE, LINK, SUBMODULE) and is_data(change.path)
                if read and not fault and path not in ignored:
                    yield path, change.oid

    def _log(self, named: Sequence[str]) -> Iterator[list[_Change]]:
        """Yield what each commit changed, the oldest first."""
        start = [f"^{self._start}"] if self._start else []
        listing = self._repository.git.output(
            *LOG, *_RAW, self._head, *start, "--", *named, f":(top,literal){IGNORE_FILE}", ":(top,exclude)derived"
        )
        words = iter(listing.split(b"\0"))
        changes: list[_Change] = []
        for word in words:
            head = word.removeprefix(b"\n")
            if head.startswith(b":"):
                _, mode, _, oid, _ = head.split()
                changes.append(_Change(mode, oid.decode(), next(words)))
            else:  # a commit begins
                yield changes
                changes = []
        yield changes

    @cached_property
    def _start(self) -> str:
        """The commit from which on versions count."""
        since = [f"^{self._since}"] if self._since else []
        bound = self._repository.git.output(
            "rev-list", "--first-parent", f"--skip={_MOST_COMMITS}", "--max-count=1", self._head, *since, "--"
        )
        return bound.decode().strip() or self._since

    @cached_property
    def _ignored_at_start(self) -> Ignored:
        if not self._start:
            return Ignored()
        entries = find_entries(self._repository, self._objects, self._start, (IGNORE_FILE,))
        return read_ignored(tuple(entries), self._objects)[0]

    def _ignored(self, change: _Change) -> Ignored:
        if change.mode == _GONE:
            return Ignored()
        size = next(self._objects.sizes((change.oid,)))
        return read_ignored((Entry(change.mode, change.oid, size, change.path),), self._objects)[0]
