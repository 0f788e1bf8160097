"""The versions of one file over a branch's history, with the commits that made them: one `git log` over its paths.

Along the first parents: the states that the branch was in. However long a history is, only the commits that changed the
file are looked into.

The commits that changed derived files of some folders, the newest first: one `git log`, along the first parents.

It is read as git says it, and given up as soon as nobody wants more: what it costs follows how far somebody looks back.
A commit that was joined of people's files and a branch of derived ones has the history of that branch.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

from muster.git.apart import derived_of
from muster.git.enginecommits import EngineCommit, EngineCommits
from muster.git.entries import kept
from muster.git.errors import RepositoryError
from muster.git.objects import Objects
from muster.git.process import words_of
from muster.git.repository import LOG, Repository, cut_off_at

_START, _NEXT = b"\x01", b"\x02"
_DERIVED_FORMAT: Final = "%x02".join(("%x01%H", "%P", "%ct", "%s"))
_DERIVED_LOG: Final = (
    *LOG,
    "-z",
    "--raw",
    "--no-renames",
    "--no-abbrev",
    "-m",
    "--first-parent",
    f"--format={_DERIVED_FORMAT}",
)
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
class WalkRange:
    """Where a walk begins, and after which commit it ends: empty for at the first one there is. `cut`: where it
    would go on and is ended for its length, when that commit was made. `follows`: it ends at the commit that was known,
    or there is nothing new."""

    tip: str
    end: str
    cut: datetime | None
    follows: bool


def reach_of(repository: Repository, commit: str, known: str, most: int) -> WalkRange:
    """Return how far to look back from a commit: to the one that is `known` (empty: none) where that is among the first
    parents, and over `most` commits at the longest."""
    tip = derived_of(repository, commit)
    if known and known != tip:
        bound = f"--max-count={most}"
        since = repository.git.run("rev-list", "--first-parent", "--parents", bound, tip, f"^{known}", "--")
        _, *parents = since.stdout.decode().rstrip("\n").rpartition("\n")[2].split() or [""]
        if not since.status and parents[:1] == [known]:
            return WalkRange(tip, known, cut=None, follows=True)
    elif known:
        return WalkRange(tip, known, cut=None, follows=True)
    last = ("--max-count=1", f"--skip={most}", "--format=%H %ct")
    end = repository.git.line(*LOG, "--first-parent", *last, tip, "--") or ""
    commit, _, seconds = end.partition(" ")
    return WalkRange(tip, commit, cut=_time(commit, seconds) if commit else None, follows=False)


def derived_log(repository: Repository, reach: WalkRange, folders: Iterable[str]) -> Iterator[DerivedCommit]:
    """Yield the commits that changed anything below the folders, the newest first. RepositoryError where git fails."""
    cut_off = cut_off_at(repository)
    since = [f"^{reach.end}"] if reach.end else []
    named = [f":(top,literal){folder}" for folder in folders]
    header, files = b"", list[FileChange]()
    words = words_of(repository.git, *_DERIVED_LOG, reach.tip, *since, "--", *named)
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


#: Seconds for one line: a history may be very long, and nobody waits longer for what is told beside the answer.
_LIMIT: Final = 5.0


@dataclass(frozen=True, slots=True)
class LineAuthor:
    """The commit that wrote a line as it stands: its id in short, its author, and the time at which it was made."""

    commit: str
    author: str
    time: datetime


def written(repository: Repository, commit: str, path: str, line: int) -> LineAuthor | None:
    """Return who wrote a line (1-based; 0 for the first) of a file as it stands in a commit.

    None where git cannot tell in time: the file is not there, the clone is too shallow, or its history too long.
    """
    number = max(line, 1)
    try:
        done = repository.git.run(
            "-c", "core.quotePath=false", "blame", "--porcelain", "-L", f"{number},{number}",
            commit, "--", path, limit_seconds=_LIMIT,
        )  # fmt: skip
    except RepositoryError:
        return None
    if done.status:
        return None
    fields: dict[str, str] = {}
    lines = done.stdout.decode(errors="replace").splitlines()
    for text in lines[1:]:
        if text.startswith("\t"):
            break
        name, _, value = text.partition(" ")
        fields[name] = value
    if "author-time" not in fields or ("boundary" in fields and cut_off_at(repository)):
        return None
    moment = datetime.fromtimestamp(int(fields["author-time"]), UTC)
    return LineAuthor(lines[0].partition(" ")[0][:7], fields.get("author", ""), moment)


_GONE: Final = b"000000"
_FORMAT: Final = "%x02".join(("%x01%H", "%at", "%an", "%s"))
_LOG: Final = (*LOG, "-z", "--raw", "--no-renames", "--no-abbrev", "-m", "--first-parent", "--reverse",
               f"--format={_FORMAT}")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Version:
    """A file as a commit left it; `data` None: it was removed. `time` is as of when a run decided it, else when it was
    committed; `source` the commit that a run had decided, empty where no run made this one. `first`: the clone has no
    history before this commit, which may not be what wrote the file."""

    commit: str
    author: str
    subject: str
    time: datetime
    source: str
    data: bytes | None
    first: bool = False


def file_log(repository: Repository, commit: str, paths: Iterable[str]) -> Iterator[Version]:
    """Yield the versions of a file, which lay at one of these paths at a time, the oldest first."""
    named = [f":(top,literal){path}" for path in paths]
    words = iter(repository.git.output(*_LOG, commit, "--", *named).split(b"\0"))
    cut_off = cut_off_at(repository)
    found, oid = list[tuple[list[str], str]](), ""
    header: list[str] = []
    for word in words:
        text = word.removeprefix(b"\n")
        if text.startswith(_START):
            if header:
                found.append((header, oid))
            header, oid = text[1:].decode(errors="replace").split(_NEXT.decode(), 3), ""
        elif text.startswith(b":"):
            _, mode, _, changed, _ = text.split()
            next(words)
            if mode != _GONE:
                oid = changed.decode()
    if header:
        found.append((header, oid))
    with closing(Objects(repository.git)) as objects, closing(EngineCommits(repository, commit)) as engine:
        own = engine.among([header[0] for header, _ in found])
        for header, oid in found:
            yield _version(objects, header, oid, own.get(header[0]), cut_off)


def files_naming(repository: Repository, commit: str, text: str) -> list[str]:
    """Return the files of a commit, derived ones aside, that hold a text; none where git cannot tell."""
    found = repository.git.run(
        "grep", "-l", "-z", "-F", "-e", text, commit, "--", ":(top)", ":(top,exclude)derived"
    )  # fmt: skip
    names = found.stdout.decode(errors="surrogateescape").split("\0") if not found.status else []
    return sorted(name.removeprefix(f"{commit}:") for name in names if name and "\n" not in name)


def _version(
    objects: Objects, header: list[str], oid: str, own: EngineCommit | None, cut_off: frozenset[str]
) -> Version:  # fmt: skip
    commit, seconds, author, subject = header
    data = kept(f"a version of {commit[:12]}", partial(objects.blob, oid)) if oid else None
    time = own.now if own is not None else datetime.fromtimestamp(int(seconds), UTC)
    return Version(commit, author, subject, time, own.source if own is not None else "", data, commit in cut_off)
