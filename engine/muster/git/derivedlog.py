"""The commits that changed derived files of some folders, the newest first: one `git log`, along the first parents.

It is read as git says it, and given up as soon as nobody wants more: what it costs follows how far somebody looks back.
A commit that was joined of people's files and a branch of derived ones has the history of that branch.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from muster.git.apart import derived_of
from muster.git.enginecommits import EngineCommits
from muster.git.errors import RepositoryError
from muster.git.process import words_of
from muster.git.repository import LOG, Repository, cut_off_at

_START, _NEXT = b"\x01", b"\x02"
_FORMAT: Final = "%x02".join(("%x01%H", "%P", "%ct", "%s"))
_LOG: Final = (*LOG, "-z", "--raw", "--no-renames", "--no-abbrev", "-m", "--first-parent", f"--format={_FORMAT}")
_LONGEST_SUBJECT: Final = 200


class FileChange(NamedTuple):
    """A file that a commit changed: its path, and the ids of what it was and became; empty where there is none."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class DerivedCommit:
    """A commit that changed any of the files. `time` is as of when a run decided it (`by_run`), else when it was
    committed; `first`: nothing is here from before it, and it looks as if it had written every file."""

    commit: str
    time: datetime
    by_run: bool
    subject: str
    first: bool
    files: tuple[FileChange, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """Where a walk begins, and after which commit it ends: empty for at the first one there is. `cut`: where it
    would go on and is ended for its length, when that commit was made. `follows`: it ends at the commit that was known,
    or there is nothing new."""

    tip: str
    end: str
    cut: datetime | None
    follows: bool


def reach_of(repository: Repository, commit: str, known: str, most: int) -> Reach:
    """Return how far to look back from a commit: to the one that is `known` (empty: none) where that is among the first
    parents, and over `most` commits at the longest."""
    tip = derived_of(repository, commit)
    if known and known != tip:
        bound = f"--max-count={most}"
        since = repository.git.run("rev-list", "--first-parent", "--parents", bound, tip, f"^{known}", "--")
        _, *parents = since.stdout.decode().rstrip("\n").rpartition("\n")[2].split() or [""]
        if not since.status and parents[:1] == [known]:
            return Reach(tip, known, cut=None, follows=True)
    elif known:
        return Reach(tip, known, cut=None, follows=True)
    last = ("--max-count=1", f"--skip={most}", "--format=%H %ct")
    end = repository.git.line(*LOG, "--first-parent", *last, tip, "--") or ""
    commit, _, seconds = end.partition(" ")
    return Reach(tip, commit, cut=_time(commit, seconds) if commit else None, follows=False)


def derived_log(repository: Repository, reach: Reach, folders: Iterable[str]) -> Iterator[DerivedCommit]:
    """Yield the commits that changed anything below the folders, the newest first. RepositoryError where git fails."""
    cut_off = cut_off_at(repository)
    since = [f"^{reach.end}"] if reach.end else []
    named = [f":(top,literal){folder}" for folder in folders]
    header, files = b"", list[FileChange]()
    words = words_of(repository.git, *_LOG, reach.tip, *since, "--", *named)
    with closing(EngineCommits(repository, reach.tip)) as engine:
        for word in words:
            text = word.removeprefix(b"\n")
            if text.startswith(_START):
                if header:
                    yield _commit(engine, header, files, cut_off)
                header, files = text[1:], []
            elif text.startswith(b":"):
                _, _, old, new, _ = text.split()
                files.append(FileChange(next(words).decode(errors="surrogateescape"), _oid(old), _oid(new)))
        if header:
            yield _commit(engine, header, files, cut_off)


def _commit(
    engine: EngineCommits, header: bytes, files: list[FileChange], cut_off: frozenset[str]
) -> DerivedCommit:  # fmt: skip
    commit, parents, seconds, subject = header.decode(errors="replace").split(_NEXT.decode(), 3)
    own = next(engine.of((commit,)))
    time = own.now if own is not None else _time(commit, seconds)
    first = not parents or commit in cut_off
    return DerivedCommit(commit, time, own is not None, subject[:_LONGEST_SUBJECT], first, tuple(files))


def _time(commit: str, seconds: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise RepositoryError(f"commit {commit} has no time that there is: {seconds}") from error


def _oid(text: bytes) -> str:
    return text.decode() if text.strip(b"0") else ""
