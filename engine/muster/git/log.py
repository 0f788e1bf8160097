"""Runs and parses `git log`: the only reader of a repository's history.

The options and settings that change what git prints are pinned, so no user's configuration changes an answer. Fields
are separated by NUL, which neither a commit nor a path can contain.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from muster.data.snapshot import Author
from muster.git.changes import PathChange, parse_raw_change
from muster.git.errors import RepositoryError
from muster.git.repository import Repository
from muster.git.store.process import stream_output

_LOG: Final = (
    *("-c", "log.showSignature=false", "-c", "log.showRoot=true", "-c", "log.follow=false"),
    *("-c", "log.diffMerges=separate", "-c", "trailer.separators=:"),
    *("log", "-z", "--no-color", "--no-notes", "--encoding=UTF-8"),
)
#: Begins a commit. No path begins with a slash.
_COMMIT: Final = b"//"
_FIELDS: Final = ("%P", "%at", "%ct", "%an", "%ae", "%s")


class LoggedCommit(NamedTuple):
    """A commit as `git log` lists it. `trailers` has the values of the trailer that was asked for, joined by commas;
    `changes` the paths that the commit touched, if they were asked for."""

    commit: str
    parents: tuple[str, ...]
    author_seconds: str
    committer_seconds: str
    author: Author
    subject: str
    trailers: str
    changes: tuple[PathChange, ...]

    @property
    def authored(self) -> datetime:
        """When it was written. RepositoryError for a time that no calendar has."""
        return self._instant(self.author_seconds)

    @property
    def committed(self) -> datetime:
        """When it was committed. RepositoryError for a time that no calendar has."""
        return self._instant(self.committer_seconds)

    def _instant(self, seconds: str) -> datetime:
        try:
            return datetime.fromtimestamp(int(seconds), UTC)
        except (ValueError, OverflowError, OSError) as error:
            raise RepositoryError(f"commit {self.commit} has an impossible time: {seconds}") from error


def read_log(
    repository: Repository,
    *revisions: str,
    paths: Iterable[str] = (),
    exclude: Iterable[str] = (),
    first_parent: bool = False,
    changes: bool = False,
    oldest_first: bool = False,
    topological: bool = False,
    roots: bool = False,
    full_history: bool = False,
    no_merges: bool = False,
    most: int | None = None,
    skip: int = 0,
    grep: str = "",
    trailer: str = "",
    streamed: bool = False,
) -> Iterator[LoggedCommit]:
    """Yield the commits that `revisions` select (`A..B`, `^A`, ...), newest first.

    `paths` keeps the commits that touch one of these files or folders; the empty path is the root. `exclude` leaves
    out what lies below some folders. `changes` also lists the paths that a commit touches: with `first_parent`, a
    merge touches what it changes of its first parent; without, only what differs from all of its parents. `roots`
    keeps commits without parents. `full_history`: with `paths`, branches that were merged without effect are not left
    out. `grep` is an extended regular expression that a line of the message must match.
    `trailer` names a trailer to read. A `streamed` log is read while git prints it, and git ends when no more commits
    are wanted; otherwise git runs to its end first. RepositoryError if git fails.
    """
    diff = ("--raw", "--no-renames", "--no-abbrev", "-m" if first_parent else "-c")
    fields = (*_FIELDS, f"%(trailers:key={trailer},valueonly,unfold,separator=%x2C)") if trailer else _FIELDS
    options = (
        *(diff if changes else ()),
        *(["--first-parent"] if first_parent else ()),
        *(["--reverse"] if oldest_first else ()),
        *(["--topo-order"] if topological else ()),
        *(["--max-parents=0"] if roots else ()),
        *(["--full-history"] if full_history else ()),
        *(["--no-merges"] if no_merges else ()),
        *([] if most is None else [f"--max-count={most}"]),
        *([f"--skip={skip}"] if skip else ()),
        *(["--extended-regexp", f"--grep={grep}"] if grep else ()),
        "--format=" + "%x00".join((f"{_COMMIT.decode()}%H", *fields)),
    )
    named = [f":(top,literal){path}" if path else ":(top)" for path in paths]
    named += [f":(top,exclude){path}" for path in exclude]
    arguments = (*_LOG, *options, *revisions, "--", *named)
    words = (
        stream_output(repository.git, *arguments) if streamed else iter(repository.git.output(*arguments).split(b"\0"))
    )
    header, file_changes = list[str](), list[PathChange]()
    for word in words:
        text = word.removeprefix(b"\n")
        if text.startswith(_COMMIT):
            if header:
                yield _commit(header, file_changes)
            header = [(text if index < 0 else next(words)).decode(errors="replace") for index in range(-1, len(fields))]
            file_changes = []
        elif text.startswith(b":"):
            file_changes.append(parse_raw_change(text, next(words)))
    if header:
        yield _commit(header, file_changes)


def count_commits(repository: Repository, *revisions: str) -> int:
    """Return how many commits `revisions` select. RepositoryError if git fails."""
    return int(repository.git.output("rev-list", "--count", *revisions))


def _commit(header: Sequence[str], changes: Iterable[PathChange]) -> LoggedCommit:
    commit, parents, authored, committed, name, mail, subject, *trailers = header
    return LoggedCommit(
        commit.removeprefix(_COMMIT.decode()),
        tuple(parents.split()),
        authored,
        committed,
        Author(name, mail),
        subject,
        "".join(trailers).strip(),
        tuple(changes),
    )
