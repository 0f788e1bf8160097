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
from muster.git.changes import Blob, PathChange
from muster.git.enginecommits import EngineCommit, EngineCommits
from muster.git.entries import required_file
from muster.git.log import LoggedCommit, read_log
from muster.git.objects import Objects
from muster.git.repository import Repository
from muster.run.changes import leaves

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


@dataclass(frozen=True, slots=True)
class PastRange:
    """The runs of a range, oldest first, and the other commits that changed derived files."""

    runs: Sequence[PastRun]
    others: Sequence[OtherCommit]


def past_between(repository: Repository, start: str, end: str) -> PastRange:
    """Return what happened to derived files after the commit `start` up to `end`, along first parents.

    Commits that only add certificates to requests (`muster sign`) are left out: no run decides those.
    """
    log = read_log(
        repository, f"{start}..{end}", paths=(FOLDER,), first_parent=True, oldest_first=True, changes=True
    )  # fmt: skip
    commits = list(log)
    engine = EngineCommits(repository, end).among([one.commit for one in commits])
    runs, others = list[PastRun](), list[OtherCommit]()
    for one in commits:
        if one.commit in engine:
            runs.append(PastRun(engine[one.commit], one.changes))
        elif not _adds_certificates(repository.objects, one):
            others.append(OtherCommit(one.commit, one.author, one.subject, one.changes))
    return PastRange(runs, others)


def _adds_certificates(objects: Objects, commit: LoggedCommit) -> bool:
    return all(_adds_certificate(objects, change) for change in commit.changes)


def _adds_certificate(objects: Objects, change: PathChange) -> bool:
    was, now = (derived_at(objects, change.path, blob) for blob in (change.old, change.new))
    id_ = id_of_body(now)
    if id_ is None or not CSR.has(id_) or was is None or dig(now, *CERTIFICATE) is None:
        return False
    return all(path.startswith(_OF_SIGNING) for path, _, _ in differing_fields(id_, was, now))


def derived_at(objects: Objects, path: str, blob: Blob | None) -> Tree:
    """The object in a derived file; None for none, or one that cannot be parsed."""
    return None if blob is None else first_body(required_file(objects, path, blob.oid).read(), path)


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
