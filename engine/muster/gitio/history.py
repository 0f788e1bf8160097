"""What git's history says of the last run: the files as it read them and since, and what the commits since then allow.

The last run is the newest commit with the trailer `Muster-Source`. Those that came after it and had nothing to commit
left no trace, but may have read every version of a file that the branch had since. Where a run found a file in which
something was lost or could not be read, its commit also says, as `Muster-Whole`, at which one every file was whole: a
slip that is not mended is compared with that one, and what came since, however many runs come after it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Final

from muster.gitio.entries import Entry, choose
from muster.gitio.errors import RepositoryError
from muster.gitio.objects import Objects
from muster.gitio.repository import LOG, Repository, has_derived, is_ancestor, ref_tip
from muster.gitio.trees import list_tree
from muster.gitio.versions import Versions
from muster.model.source import SourceFile

#: The commit that a run evaluated; the commit at which every file was whole; how many clusters may be removed.
SOURCE: Final = "Muster-Source"
WHOLE: Final = "Muster-Whole"
ALLOWED: Final = "Muster-Allow-Removal"

_DERIVED: Final = "derived"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_COMMITS: Final = 10_000

#: The ids of what was at each path, newest first.
_Listing = Mapping[str, Sequence[str]]


def history_of(repository: Repository) -> "History | None":
    """Return the past of what lies on top of HEAD, in the work tree or the index; None before the first commit."""
    head = ref_tip(repository, "HEAD^{commit}")
    return History(repository, head, uncommitted=True) if head else None


class History:
    """The past of a commit, or of what is to be committed on top of it. Satisfies `muster.model.snapshot.Past`."""

    def __init__(self, repository: Repository, head: str, *, uncommitted: bool = False) -> None:
        """Look back from `head`, a full id. `uncommitted`: what is evaluated lies on top of it, so it counts too."""
        self._repository, self._head, self._uncommitted = repository, head, uncommitted
        self._objects = Objects(repository.git)

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
            *LOG, "--reverse", f"--max-count={_MOST_COMMITS}",
            f"--format=%(trailers:key={ALLOWED},valueonly,unfold)%x00", self._head, *since, "--",
        )  # fmt: skip
        told = listing.decode(errors="replace").replace("\0", "\n").splitlines()
        return tuple(text for line in told if (text := line.strip()))

    def before(self, paths: Collection[str]) -> Mapping[str, Sequence[SourceFile]]:
        """Return what was read at these paths then and since, newest first; nothing for one at which nothing was."""
        return self._versions(set(paths).__contains__, paths)

    def below(self, folder: str) -> Mapping[str, Sequence[SourceFile]]:
        """Return the same of every file under a folder; an empty one is the root."""
        prefix = f"{folder}/" if folder else ""
        return self._versions(lambda path: path.startswith(prefix), (folder,))

    def had(self, path: str, oid: str) -> bool:
        """Return whether a file of this id was read there then."""
        return self._trees[1].get(path) == (oid,)

    def _versions(self, wanted: Callable[[str], bool], paths: Iterable[str]) -> dict[str, list[SourceFile]]:
        newest, then = self._trees
        found: dict[str, list[SourceFile]] = {}
        for listing in (newest, self._since.of(paths) if self._since else {}, then):
            for path in filter(wanted, listing):
                versions = found.setdefault(path, [])
                for oid in listing[path]:
                    if not versions or versions[-1].oid != oid:
                        versions.append(SourceFile(path, oid, partial(self._objects.blob, oid)))
        return found

    @cached_property
    def _runs(self) -> tuple[str, str]:
        """The commit of the last run, and of the last that found every file whole; empty where there is none."""
        if not self._ran:
            return "", ""
        found = self._repository.git.output(
            *LOG, "--max-count=1", "--extended-regexp", f"--grep=^{SOURCE}: [0-9a-f]{{40,64}}$",
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
    def _ran(self) -> bool:
        """Whether anything was ever derived."""
        return has_derived(self._repository, self._head)

    @cached_property
    def _since(self) -> Versions | None:
        """The versions since that commit, or in what history there is where it was cut off; None before the first."""
        return Versions(self._repository, self._objects, self.commit, self._head) if self._ran else None

    @cached_property
    def _trees(self) -> tuple[_Listing, _Listing]:
        """The files that were read, by path: at the head, where that is past too, and at that commit."""
        then = self._tree(self.commit) if self.commit else {}
        head = self._tree(self._head) if self._uncommitted and self._head != self.commit else {}
        return head, then

    def _tree(self, commit: str) -> _Listing:
        return {path: (oid,) for path, oid in choose(self._entries(commit), self._objects).chosen}

    def _entries(self, commit: str) -> Iterator[Entry]:
        """What people wrote: not what was derived from it."""
        return (e for e in list_tree(self._repository, commit) if not e.path.startswith(f"{_DERIVED}/".encode()))
