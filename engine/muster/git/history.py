"""What git's history says about the last run: the files as it read them and since, and what commits since then allow.

The last run is the newest of the engine's own commits (`muster.git.enginecommits`); it read the files of its
`Muster-Source`. Later runs with nothing to commit left no trace, but may have read every version of a file that the
branch had since. If a run found that something in a file was lost or could not be read, its commit also says, as
`Muster-Whole`, at which commit every file was whole: an unrepaired mistake is compared with that commit and with what
came since, however many runs follow.

`Muster-Allow-Removal` in a person's commit is not the engine's word, and counts only for what that commit does.

Versions are those along the first parents: the states that the branch was in. Files that `.musterignore` named when a
version was committed were not read, nor were files that are too large.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from muster.data.snapshot import StatedRemovals
from muster.data.source import SourceFile
from muster.git.changes import Blob, PathChange, changed_paths, path_change
from muster.git.errors import LostObjectError, RepositoryError
from muster.git.log import read_log
from muster.git.repository import Repository, has_commit, has_derived, is_ancestor
from muster.git.store.entries import LINK, SUBMODULE, Entry, choose, read_ignored, required_file
from muster.git.store.objects import Objects
from muster.git.store.paths import IGNORE_FILE, MAX_BLOB_BYTES, Ignored, decode, is_data
from muster.git.trees import AT_ONCE, find_entries, list_tree

if TYPE_CHECKING:
    from muster.git.enginecommits import EngineCommit, EngineCommits

#: So many commits are searched, from the newest back.
_MOST_VERSIONS: Final = 10_000
_IGNORE_PATH: Final = IGNORE_FILE.encode()
_DERIVED: Final = "derived"


class Versions:
    """The versions of files after the commit `since`, up to `head`; without `since`, in all of this clone's history."""

    def __init__(self, repository: Repository, objects: Objects, since: str, head: str) -> None:
        """Look for them in `repository`; `since` and `head` are full ids."""
        self._repository, self._objects = repository, objects
        self._since, self._head = since, head

    def of(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """Return the ids of what was committed at each of these paths and below them, newest first; "" is the root."""
        named = sorted(set(paths))
        by_path: dict[str, list[str]] = {}
        for start in range(0, len(named), AT_ONCE):
            versions = list(self._read(named[start : start + AT_ONCE]))
            sizes = self._objects.sizes([oid for _, oid in versions])
            for (path, oid), size in zip(versions, sizes, strict=True):
                if size is None:
                    raise LostObjectError(path, f"object {oid}, a version of the file since the last run")
                if size <= MAX_BLOB_BYTES:
                    by_path.setdefault(path, []).insert(0, oid)
        return by_path

    def _read(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield path and id of what each commit wrote, oldest first."""
        ignored, start = self._ignored_at_start, [f"^{self._start}"] if self._start else []
        log = read_log(
            self._repository,
            self._head,
            *start,
            paths=(*paths, IGNORE_FILE),
            exclude=(_DERIVED,),
            first_parent=True,
            changes=True,
            oldest_first=True,
        )
        for commit in log:
            for change in commit.changes:
                if change.path == IGNORE_FILE:
                    ignored = self._ignored(change.new)
            for path, _, blob, raw in commit.changes:
                read = blob is not None and blob.mode.encode() not in (LINK, SUBMODULE) and is_data(raw)
                if blob is not None and read and not decode(raw)[1] and path not in ignored:
                    yield path, blob.oid

    @cached_property
    def _start(self) -> str:
        """The commit after which versions count."""
        since = [f"^{self._since}"] if self._since else []
        bound = read_log(self._repository, self._head, *since, first_parent=True, skip=_MOST_VERSIONS, most=1)
        return next((logged.commit for logged in bound), self._since)

    @cached_property
    def _ignored_at_start(self) -> Ignored:
        if not self._start:
            return Ignored()
        entries = find_entries(self._repository, self._objects, self._start, (IGNORE_FILE,))
        return read_ignored(tuple(entries), self._objects)[0]

    def _ignored(self, blob: Blob | None) -> Ignored:
        if blob is None:
            return Ignored()
        size = next(self._objects.sizes((blob.oid,)))
        return read_ignored((Entry(blob.mode.encode(), blob.oid, size, _IGNORE_PATH),), self._objects)[0]


#: The trailer with the clusters that its own commit may remove.
ALLOWED: Final = "Muster-Allow-Removal"

_MOST_COMMITS: Final = 10_000

#: The ids of what was at each path, newest first.
_Listing = Mapping[str, Sequence[str]]


class History:
    """The past of a commit, or of changes on top of it. Satisfies `muster.data.snapshot.Past`."""

    def __init__(self, repository: Repository, head: str, *, uncommitted: bool = False) -> None:
        """Look back from `head`, a full id. `uncommitted`: changes on top of it are evaluated, so it counts too."""
        self._repository, self._head, self._uncommitted = repository, head, uncommitted
        self._objects = repository.objects

    @property
    def commit(self) -> str:
        """The commit at which the last run found every file whole; empty if history does not tell."""
        return self._whole or self._source

    @property
    def lingers(self) -> bool:
        """Were there runs since that commit, which found files that were not whole?"""
        return self.commit != self._source

    @property
    def proven(self) -> bool:
        return self._engine.signers is not None

    @cached_property
    def allowances(self) -> tuple[StatedRemovals, ...]:
        """What commits since the last run allow, oldest first, each with what it changed."""
        last = self._last
        return self._allowances(self._head, [f"^{last.commit}", f"^{last.source}"] if last else [])

    @cached_property
    def earlier_allowances(self) -> tuple[StatedRemovals, ...]:
        """What commits before that allow, since an earlier run."""
        last, earlier = self._last, [*self._engine.recent()][-1:]
        if last is None or not earlier or earlier[0] == last:
            return ()
        return self._allowances(last.source, [f"^{earlier[0].commit}", f"^{earlier[0].source}"])

    def _allowances(self, head: str, since: Sequence[str]) -> tuple[StatedRemovals, ...]:
        log = read_log(
            self._repository,
            head,
            *since,
            oldest_first=True,
            most=_MOST_COMMITS,
            grep=f"^{ALLOWED}: ",
            trailer=ALLOWED,
        )
        return tuple(
            self._allowance(logged.commit, logged.parents, logged.trailers) for logged in log if logged.trailers
        )

    def _allowance(self, commit: str, parents: Sequence[str], text: str) -> StatedRemovals:
        """What a commit allows: of a merge, what it changes of its first parent."""
        parent = next(iter(parents), "")
        if not parent or not has_commit(self._repository.git, parent):
            return StatedRemovals(text, commit, (), (), ())
        changes = [change for change in changed_paths(self._repository, parent, commit) if _is_peoples(change.path)]
        later = Versions(self._repository, self._objects, commit, self._head).of(("",))
        return StatedRemovals(
            text,
            commit,
            tuple(self._file(change.path, change.old.oid) for change in changes if change.old),
            tuple(self._file(change.path, change.new.oid) for change in changes if change.new),
            tuple(self._file(path, oid) for path, oids in sorted(later.items()) for oid in oids),
        )

    def _file(self, path: str, oid: str) -> SourceFile:
        return required_file(self._objects, path, oid)

    def before(self, paths: Collection[str]) -> Mapping[str, Sequence[SourceFile]]:
        return self._versions(set(paths).__contains__, paths)

    def below(self, folder: str) -> Mapping[str, Sequence[SourceFile]]:
        prefix = f"{folder}/" if folder else ""
        return self._versions(lambda path: path.startswith(prefix), (folder,))

    def had(self, path: str, oid: str) -> bool:
        return self._trees[1].get(path) == (oid,)

    def replaced(self, paths: Collection[str]) -> Mapping[str, tuple[str, Sequence[SourceFile]]]:
        written = dict[str, list[tuple[str, str]]]()
        log = read_log(
            self._repository, self._head, paths=sorted(paths), first_parent=True, changes=True, most=_MOST_VERSIONS
        )
        for logged in log:
            for change in logged.changes:
                if change.new is not None and change.path in paths and is_data(change.raw):
                    written.setdefault(change.path, []).append((logged.commit, change.new.oid))
        return {
            path: (versions[0][0], [self._file(path, oid) for _, oid in versions[1:]])
            for path, versions in written.items()
            if len(versions) > 1
        }

    def changed_since(self, commit: str) -> Sequence[SourceFile]:
        changes = changed_paths(self._repository, commit, self._head)
        return [
            self._file(change.path, change.old.oid) for change in changes if change.old and _is_peoples(change.path)
        ]

    def _versions(self, wanted: Callable[[str], bool], paths: Iterable[str]) -> dict[str, list[SourceFile]]:
        newest, then = self._trees
        by_path: dict[str, list[SourceFile]] = {}
        for listing in (newest, self._since.of(paths) if self._since else {}, then):
            for path in filter(wanted, listing):
                versions = by_path.setdefault(path, [])
                for oid in listing[path]:
                    if not versions or versions[-1].oid != oid:
                        versions.append(self._file(path, oid))
        return by_path

    @cached_property
    def _engine(self) -> "EngineCommits":
        from muster.git.enginecommits import EngineCommits  # a run asks only if files are gone

        return EngineCommits(self._repository, self._head)

    @cached_property
    def _last(self) -> "EngineCommit | None":
        return self._engine.last()

    @property
    def _source(self) -> str:
        return self._last.source if self._last is not None else ""

    @cached_property
    def _whole(self) -> str:
        """The commit at which every file was whole, if the last run names one of this history."""
        whole = self._last.whole if self._last is not None else ""
        try:
            return whole if whole and is_ancestor(self._repository, whole, self._head) else ""
        except RepositoryError:
            return ""  # the history was cut off before it

    @cached_property
    def _ran(self) -> bool:
        return has_derived(self._repository, self._head)

    @cached_property
    def _since(self) -> Versions | None:
        """The versions since that commit, or in all of a history that is cut off; None before the first run."""
        return Versions(self._repository, self._objects, self.commit, self._head) if self._ran else None

    @cached_property
    def _trees(self) -> tuple[_Listing, _Listing]:
        """The files that were read, by path: at the head, if that is past too, and at that commit."""
        then = self._tree(self.commit) if self.commit else {}
        head = self._tree(self._head) if self._uncommitted and self._head != self.commit else {}
        return head, then

    def _tree(self, commit: str) -> _Listing:
        return {path: (oid,) for path, oid in choose(self._entries(commit), self._objects).chosen}

    def _entries(self, commit: str) -> Iterator[Entry]:
        """People's files, without derived ones."""
        return (e for e in list_tree(self._repository, commit) if not e.path.startswith(f"{_DERIVED}/".encode()))


def _is_peoples(path: str) -> bool:
    return is_data(path.encode("utf-8", "surrogateescape")) and not path.startswith(f"{_DERIVED}/")


def touched_between(repository: Repository, old: str, new: str) -> Iterator[PathChange]:
    """Yield what differs between a commit and a later one, and the paths that were changed and changed back.

    A merge counts for what differs from all its parents: other changes are in the commits that it brought.
    """
    changes = changed_paths(repository, old, new)
    yield from changes
    raw_paths = {change.raw for change in changes}
    log = read_log(repository, f"{old}..{new}", changes=True)
    touched = {change.raw for commit in log for change in commit.changes}
    yield from (path_change(raw, None, None) for raw in sorted(touched - raw_paths))


def has_run_trailers(repository: Repository, old: str, new: str) -> bool:
    """Does any commit after `old`, up to `new`, have a line that looks like a trailer by which people address runs?

    Trailers of runs are in commits that change derived/, or that only record an instant.
    """
    return any(read_log(repository, f"{old}..{new}", most=1, grep=f"^{ALLOWED}:"))
