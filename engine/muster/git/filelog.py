"""The commits that changed files: of one file with its versions, or of the derived files below some folders.

Both walk along the first parents, which are the states that the branch was in.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from typing import Final

from muster.dataclass import dataclass
from muster.git.changes import PathChange
from muster.git.derivedbranch import derived_commit_of
from muster.git.enginecommits import EngineCommits
from muster.git.errors import RepositoryError
from muster.git.log import read_log
from muster.git.repository import Repository, shallow_commits
from muster.git.store.entries import read_required

_LONGEST_SUBJECT: Final = 200


@dataclass(frozen=True, slots=True)
class DerivedCommit:
    """A commit that changed any of the files. `time` is the run's `now` if a run made it (`by_run`), else when it was
    committed. `first`: the clone has nothing from before it, so it looks as if it had written every file."""

    commit: str
    time: datetime
    by_run: bool
    subject: str
    first: bool
    files: tuple[PathChange, ...]


@dataclass(frozen=True, slots=True)
class WalkRange:
    """Where a walk begins, and the commit before which it ends: empty for the first one there is. `cut`: when that
    commit was made, if the walk ends there for its length. `follows`: the walk ends at the commit that was known, or
    there is nothing new."""

    tip: str
    end: str
    cut: datetime | None
    follows: bool


def walk_range(repository: Repository, commit: str, known: str, most: int) -> WalkRange:
    """Return how far to look back from a commit: to the `known` one (empty: none) if that is among the first parents,
    and over `most` commits at the longest."""
    tip = derived_commit_of(repository, commit)
    if known and (known == tip or _is_first_parent(repository, known, tip, most)):
        return WalkRange(tip, known, cut=None, follows=True)
    end = next(read_log(repository, tip, first_parent=True, most=1, skip=most), None)
    return WalkRange(tip, end.commit if end else "", cut=end.committed if end else None, follows=False)


def _is_first_parent(repository: Repository, known: str, tip: str, most: int) -> bool:
    try:
        *_, oldest = [None, *read_log(repository, tip, f"^{known}", first_parent=True, most=most)]
    except RepositoryError:
        return False  # it is not in this clone
    return oldest is not None and oldest.parents[:1] == (known,)


def derived_log(repository: Repository, walk: WalkRange, folders: Iterable[str]) -> Iterator[DerivedCommit]:
    """Yield the commits that changed anything below the folders, newest first. RepositoryError if git fails.

    The log is streamed, so the cost follows how far the caller looks back. A joined commit (see `derivedbranch`) has
    the history of the branch of derived files.
    """
    cut_off = shallow_commits(repository)
    since = [f"^{walk.end}"] if walk.end else []
    log = read_log(repository, walk.tip, *since, paths=folders, first_parent=True, changes=True, streamed=True)
    engine = EngineCommits(repository, walk.tip)
    for logged in log:
        run = next(engine.of((logged.commit,)))
        time = run.now if run is not None else logged.committed
        first = not logged.parents or logged.commit in cut_off
        yield DerivedCommit(
            logged.commit, time, run is not None, logged.subject[:_LONGEST_SUBJECT], first, logged.changes
        )


@dataclass(frozen=True, slots=True)
class Version:
    """A file as a commit left it; `data` None: it was removed. `time` is the run's `now` if a run made the commit, else
    when it was written; `source` is the commit that the run evaluated, empty if no run made this one. `first`: the
    clone has no history before this commit, which may not be the one that wrote the file."""

    commit: str
    author: str
    subject: str
    time: datetime
    source: str
    data: bytes | None
    first: bool = False


def file_log(repository: Repository, commit: str, paths: Iterable[str]) -> Iterator[Version]:
    """Yield the versions of a file that lay at one of these paths at a time, oldest first."""
    log = tuple(read_log(repository, commit, paths=paths, first_parent=True, changes=True, oldest_first=True))
    cut_off = shallow_commits(repository)
    runs = EngineCommits(repository, commit).among([logged.commit for logged in log])
    for logged in log:
        oid = next((change.new.oid for change in reversed(logged.changes) if change.new), "")
        data = (
            read_required(f"a version of {logged.commit[:12]}", partial(repository.objects.blob, oid)) if oid else None
        )
        run = runs.get(logged.commit)
        time, source = (run.now, run.source) if run else (logged.authored, "")
        yield Version(logged.commit, logged.author.name, logged.subject, time, source, data, logged.commit in cut_off)


def files_containing(repository: Repository, commit: str, text: str) -> list[str]:
    """Return the files of a commit, except derived ones, that contain a text; none if git cannot tell."""
    done = repository.git.run("grep", "-l", "-z", "-F", "-e", text, commit, "--", ":(top)", ":(top,exclude)derived")
    names = done.stdout.decode(errors="surrogateescape").split("\0") if not done.status else []
    return sorted(name.removeprefix(f"{commit}:") for name in names if name and "\n" not in name)
