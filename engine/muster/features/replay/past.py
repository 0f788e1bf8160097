"""The runs of a range of commits, and what else changed derived files there."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import CSR, id_of_body, kind_of
from muster.data.locations import FOLDER, is_projected
from muster.data.snapshot import Author
from muster.data.tree import Tree, dig
from muster.data.yaml.loader import first_body
from muster.dataclass import dataclass
from muster.fleet.approvals import CERTIFICATE, DECIDED, SIGNED
from muster.git.changes import Blob, PathChange, changed_paths
from muster.git.derivedbranch import derived_commit_of, evaluated_then
from muster.git.enginecommits import EngineCommit, EngineCommits
from muster.git.errors import RepositoryError, TooLargeError
from muster.git.log import LoggedCommit, read_log
from muster.git.repository import Repository, is_ancestor, resolve
from muster.git.store.entries import SUBMODULE, required_file
from muster.git.store.objects import Objects
from muster.run.transitions.transitions import leaves

#: What `muster sign` writes into the derived part of a request.
_OF_SIGNING: Final = (".".join(CERTIFICATE), ".".join((*DECIDED, SIGNED)), "metadata.labels")
#: The field of a difference in the whole of a file: it is there on one side only, or only its layout differs.
WHOLE_FILE: Final = "(the file)"


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run that committed something: what its commit says of it, and the derived files that it changed."""

    engine: EngineCommit
    changes: Sequence[PathChange]

    @property
    def commit(self) -> str:
        """The full id of its commit."""
        return self.engine.commit


@dataclass(frozen=True, slots=True)
class OtherCommit:
    """A commit that changed derived files and is no run's."""

    commit: str
    author: Author
    subject: str
    changes: Sequence[PathChange]


def ends_of(repository: Repository, commits: str) -> tuple[str, str]:
    """Return the evaluated commits at both ends of `A..B`; B is HEAD if it is not given. ValueError for any other text;
    RepositoryError for an unknown revision."""
    start, dots, end = commits.partition("..")
    if not dots or not start:
        raise ValueError(f"{commits!r} is not a range of commits such as HEAD~100..HEAD.")
    first = evaluated_then(repository, resolve(repository, start), undecided=True)
    return first, evaluated_then(repository, resolve(repository, end or "HEAD"))


@dataclass(frozen=True, slots=True)
class PastRange:
    """The runs of a range, oldest first, and the other commits that changed derived files."""

    runs: Sequence[PastRun]
    others: Sequence[OtherCommit]


def past_between(repository: Repository, start: str, end: str) -> PastRange:
    """Return what happened to derived files after the commit `start` up to `end`, along the history that made them: at
    a merge, that of the parent with the same derived files. RepositoryError if `end` does not follow from `start`.

    Where derived files are on a branch of their own, both are commits of it or joined with one (`evaluated_then`).
    Commits that only add certificates to requests (`muster sign`) are left out: no run decides those. A merge is left
    out unless it drops what was derived on one side, or holds what neither side has.
    """
    engine, span = EngineCommits(repository, end), _derived_span(repository, start, end)
    log = read_log(repository, span, paths=(FOLDER,), oldest_first=True, topological=True, changes=True)
    commits = [logged for logged in log if len(logged.parents) < 2]
    of_runs = engine.among([logged.commit for logged in commits])
    runs = [PastRun(of_runs[logged.commit], logged.changes) for logged in commits if logged.commit in of_runs]
    others = [
        OtherCommit(logged.commit, logged.author, logged.subject, logged.changes)
        for logged in commits
        if logged.commit not in of_runs and not _adds_certificates(repository.objects, logged)
    ]
    merges = [logged for logged in read_log(repository, span, oldest_first=True) if len(logged.parents) > 1]
    others += [
        OtherCommit(logged.commit, logged.author, logged.subject, changes)
        for logged in merges
        if (changes := _dropped(repository, engine, logged))
    ]
    return PastRange(runs, others)


def _derived_span(repository: Repository, start: str, end: str) -> str:
    """The range of the commits that made derived files, which may be on a branch of their own."""
    first, last = (derived_commit_of(repository, commit) for commit in (start, end))
    if last != end and first == start and is_ancestor(repository, start, end):  # from before that branch began
        first = repository.git.line("rev-list", "--max-parents=0", last) or first
    if not is_ancestor(repository, first, last):
        raise RepositoryError(
            f"{end[:12]} does not follow from {start[:12]}",
            "give a commit and a later one; if the branch was there once, its history was rewritten",
        )
    return f"{first}..{last}"


def _dropped(repository: Repository, engine: EngineCommits, merge: LoggedCommit) -> Sequence[PathChange]:
    """The derived files in which a merge differs from a side that had changed them; nothing if it holds those of one
    side, and all others still had theirs from before."""
    tree, *trees = engine.derived_trees((merge.commit, *merge.parents))
    kept = next(
        (parent for parent, tree_of_parent in zip(merge.parents, trees, strict=True) if tree_of_parent == tree), ""
    )
    for parent, tree_of_parent in zip(merge.parents, trees, strict=True):
        if tree_of_parent == tree:
            continue
        base = repository.git.line("merge-base", kept, parent) if kept else ""
        if not base or engine.derived_trees((base,)) != [tree_of_parent]:
            changes = changed_paths(repository, parent, merge.commit)
            return [change for change in changes if change.raw.startswith(FOLDER.encode())]
    return ()


def _adds_certificates(objects: Objects, commit: LoggedCommit) -> bool:
    return all(_adds_certificate(objects, change) for change in commit.changes)


def _adds_certificate(objects: Objects, change: PathChange) -> bool:
    was, now = (_body_of(change.path, version_of(objects, change.path, blob)) for blob in (change.old, change.new))
    id_ = id_of_body(now)
    if id_ is None or not CSR.has(id_) or was is None or dig(now, *CERTIFICATE) is None:
        return False
    return all(path.startswith(_OF_SIGNING) for path, _, _ in differing_fields(id_, was, now))


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A derived file as a commit has it: its mode, six digits, and its content, empty for what is not read."""

    mode: str
    content: bytes


def version_of(objects: Objects, path: str, blob: Blob | None) -> FileVersion | None:
    """Return the file of an entry; None for none. LostObjectError if the repository has lost it."""
    if blob is None:
        return None
    try:
        content = b"" if blob.mode.encode() == SUBMODULE else required_file(objects, path, blob.oid).read()
    except TooLargeError:
        content = b""
    return FileVersion(blob.mode, content)


def _body_of(path: str, version: FileVersion | None) -> Tree:
    """The object in a derived file; None for none, or one that cannot be parsed."""
    return None if version is None else first_body(version.content, path)


def fields_between(
    path: str, one: FileVersion | None, other: FileVersion | None
) -> tuple[ObjectId | None, Sequence[tuple[str, str, str]]]:
    """Return the object of a derived file, and each field in which two versions differ, as `differing_fields` has
    them."""
    bodies = [_body_of(path, version) for version in (one, other)]
    id_ = object_of(path, reversed(bodies))
    if one is None or other is None:
        there, again = ("" if version is None else "there" for version in (one, other))
        return id_, [] if there == again else [(WHOLE_FILE, there, again)]
    fields = [] if one.content == other.content else [*differing_fields(id_, *bodies)]
    if one.mode != other.mode:
        fields.append((WHOLE_FILE, f"mode {one.mode}", f"mode {other.mode}"))
    return id_, fields or ([] if one == other else [(WHOLE_FILE, "its bytes", "its bytes")])


def differing_fields(id_: ObjectId | None, one: Tree, other: Tree) -> Iterator[tuple[str, str, str]]:
    """Yield path and short values of each field in which two versions of an object differ; an empty text where it is
    missing."""
    keys = kind_of(id_).list_keys if id_ is not None else {}
    old, new = dict(leaves(one, keys)), dict(leaves(other, keys))
    paths = [path for path in sorted({*old, *new}) if old.get(path) != new.get(path)]
    yield from ((path or WHOLE_FILE, old.get(path, ""), new.get(path, "")) for path in paths)


def object_of(path: str, bodies: Iterable[Tree]) -> ObjectId | None:
    """The object that a derived file is about; None for a Projection's file, or one that says nothing."""
    if is_projected(path):
        return None
    return next((id_ for body in bodies if (id_ := id_of_body(body)) is not None), None)
