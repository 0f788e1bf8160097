"""What git's history says of the last run: the files as it read them, and what the commits since then allow.

The last run is the newest commit with the trailer `Muster-Source`. Where a run found a file in which something was lost
or could not be read, its commit also says, as `Muster-Whole`, at which one every file was whole: a slip that is not
mended is compared with that one, however many runs come after it.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Final

from muster.gitio.entries import Entry, choose
from muster.gitio.errors import RepositoryError
from muster.gitio.objects import Objects
from muster.gitio.paths import MAX_BLOB_BYTES
from muster.gitio.repository import Repository, is_ancestor
from muster.gitio.trees import list_tree
from muster.model.source import SourceFile

#: The commit that a run evaluated; the commit at which every file was whole; how many clusters may be removed.
SOURCE: Final = "Muster-Source"
WHOLE: Final = "Muster-Whole"
ALLOWED: Final = "Muster-Allow-Removal"

#: What is asked is not a matter of anybody's configuration.
_LOG: Final = ("-c", "log.showSignature=false", "-c", "trailer.separators=:", "log", "--no-color", "--no-notes")
_DERIVED: Final = "derived"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_COMMITS: Final = 10_000


def history_of(repository: Repository) -> "History | None":
    """Return the past of what lies on top of HEAD, in the work tree or the index; None before the first commit."""
    head = repository.git.line("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return History(repository, head, uncommitted=True) if head else None


class History:
    """The past of a commit, or of what is to be committed on top of it. Satisfies `muster.model.snapshot.Past`."""

    def __init__(self, repository: Repository, head: str, *, uncommitted: bool = False) -> None:
        """Look back from `head`, a full id. `uncommitted`: what is evaluated lies on top of it, so it counts too."""
        self._repository, self._head, self._uncommitted = repository, head, uncommitted
        self._objects = Objects(repository.git, max_bytes=MAX_BLOB_BYTES)

    @property
    def commit(self) -> str:
        """The commit of the last run that found every file whole; empty where it is not to be found."""
        return self._runs[1]

    @property
    def lingers(self) -> bool:
        """Whether there were runs since that commit, which found files that were not whole."""
        return self._runs[0] != self._runs[1]

    @cached_property
    def allowances(self) -> tuple[str, ...]:
        """What the commits since the last run say of removals, oldest first."""
        last = self._runs[0]
        since = [f"^{last}"] if last else []
        listing = self._repository.git.output(
            *_LOG, "--reverse", f"--max-count={_MOST_COMMITS}",
            f"--format=%(trailers:key={ALLOWED},valueonly,unfold)%x00", self._head, *since, "--",
        )  # fmt: skip
        told = listing.decode(errors="replace").replace("\0", "\n").splitlines()
        return tuple(text for line in told if (text := line.strip()))

    def before(self, path: str, oid: str = "") -> SourceFile | None:
        """Return the file at `path` as it was read then; None where none was, or one of the same id."""
        for files in self._trees:
            if (found := files.get(path)) is not None:
                return None if found == oid else self._file(path, found)
        return None

    def had(self, path: str, oid: str) -> bool:
        """Return whether the last run read a file of this id there."""
        return any(files.get(path) == oid for files in self._trees[:1])

    def changed(self, files: Mapping[str, str]) -> Iterator[SourceFile]:
        """Yield the files that were read then and are not among `files`, id by path, as they were."""
        seen: set[str] = set()
        for tree in self._trees:
            for path, oid in tree.items():
                if path not in seen and files.get(path) != oid:
                    yield self._file(path, oid)
                seen.add(path)

    def below(self, folder: str) -> Iterator[SourceFile]:
        """Yield every file that was read under a folder then."""
        for files in self._trees[:1]:
            for path, oid in files.items():
                if path.startswith(f"{folder}/"):
                    yield self._file(path, oid)

    def _file(self, path: str, oid: str) -> SourceFile:
        return SourceFile(path, oid, partial(self._objects.blob, oid))

    @cached_property
    def _runs(self) -> tuple[str, str]:
        """The commit of the last run, and of the last that found every file whole; empty where there is none."""
        git = self._repository.git
        if git.line("rev-parse", "--verify", "--quiet", "--end-of-options", f"{self._head}:{_DERIVED}") is None:
            return "", ""  # nothing was ever derived
        found = git.output(
            *_LOG, "--max-count=1", "--extended-regexp", f"--grep=^{SOURCE}: [0-9a-f]{{40,64}}$",
            f"--format=%H%n%(trailers:key={WHOLE},valueonly)", self._head, "--",
        ).decode(errors="replace").split()  # fmt: skip
        if not found:
            return "", ""
        last, whole = found[0], found[1] if len(found) > 1 else ""
        return last, whole if self._is_past(whole) else last

    def _is_past(self, commit: str) -> bool:
        if not _COMMIT.fullmatch(commit):
            return False
        try:
            return is_ancestor(self._repository, commit, self._head)
        except RepositoryError:
            return False  # the history was cut off before it

    @cached_property
    def _trees(self) -> tuple[dict[str, str], ...]:
        """The files that were read, by path: at the last run and, where that is past too, at the head."""
        commits = dict.fromkeys(commit for commit in (self.commit, self._head if self._uncommitted else "") if commit)
        return tuple(dict(choose(self._entries(commit), self._objects).chosen) for commit in commits)

    def _entries(self, commit: str) -> Iterator[Entry]:
        """What people wrote: not what was derived from it."""
        return (e for e in list_tree(self._repository, commit) if not e.path.startswith(f"{_DERIVED}/".encode()))
