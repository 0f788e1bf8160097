"""Who wrote the files of a commit, or of changes on top of one: what policies see as `request.userInfo`.

A file's author is that of the last commit that changed it, so a decision about an object does not change with whoever
commits another file. Uncommitted changes are written by the user whom git is configured for.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

from muster.data.snapshot import Author
from muster.dataclass import dataclass
from muster.git.errors import IdentityError, RepositoryError, UnreadableError, require_library
from muster.git.log import read_log
from muster.git.repository import Repository, shallow_commits
from muster.git.store.paths import decode
from muster.git.trees import list_tree

_MOST_COMMITS: Final = 50_000
#: Seconds for one line: a history may be very long, and the answer does not wait longer for a detail.
_BLAME_SECONDS: Final = 5.0


class _LastChange(NamedTuple):
    """The last commit that changed a file. `number`: how many commits ago."""

    number: int
    author: Author
    commit: str


class CommitAuthors:
    """The authors of a commit's files. Satisfies `muster.data.snapshot.Authors`."""

    def __init__(self, repository: Repository, head: str | None, *, uncommitted: bool = False) -> None:
        """Look back from `head`, a full id; None before the first commit.

        `uncommitted`: the files are changes on top of it.
        """
        self._repository, self._head, self._uncommitted = repository, head, uncommitted

    def of(self, files: Mapping[str, str]) -> Author | None:
        """Return who changed any of these files last; None if that is not known."""
        if self._is_uncommitted(files):
            return self.at_work
        last = self._last_change(files)
        return last.author if last is not None else None

    def is_signed(self, files: Mapping[str, str], key: str) -> bool:
        """Is the last change of these files signed with an ssh key, given as an OpenSSH line? A change that is not
        committed has no signature yet: True. Raises RepositoryError if signatures cannot be checked here."""
        if self._is_uncommitted(files):
            return True
        last = self._last_change(files)
        try:
            require_library()
        except IdentityError as error:
            raise RepositoryError("the keys of Fleet.spec.groups cannot be checked here", str(error)) from error
        from muster.git.signatures.signature import signing_key, ssh_key  # few fleets have keys of people

        if last is None:
            return False
        answer = next(self._repository.objects.read((last.commit,)))
        signed_with = None if isinstance(answer, UnreadableError) else signing_key(answer.content)
        return signed_with is not None and signed_with == ssh_key(key)

    def _is_uncommitted(self, files: Mapping[str, str]) -> bool:
        return self._uncommitted and any(self._committed.get(path, "") != oid for path, oid in files.items())

    def _last_change(self, files: Mapping[str, str]) -> "_LastChange | None":
        return min((last for path in files if (last := self._last.get(path)) is not None), default=None)

    @cached_property
    def at_work(self) -> Author | None:
        """Who would commit, as configured or in the environment; None if it is set nowhere."""
        identity = self._repository.git.line("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
        name, _, rest = (identity or "").rpartition(" <")
        return Author(name, rest.partition(">")[0]) if identity else None

    @cached_property
    def _committed(self) -> Mapping[str, str]:
        entries = list_tree(self._repository, self._head) if self._head else ()
        return {decode(entry.path)[0]: entry.oid for entry in entries}

    @cached_property
    def _last(self) -> Mapping[str, "_LastChange"]:
        """Who changed each file last, and how many commits ago: in a merge, who resolved it. Derived files have no
        author."""
        last: dict[str, _LastChange] = {}
        if self._head is None:
            return last
        cut_off = shallow_commits(self._repository)
        log = read_log(
            self._repository,
            self._head,
            paths=("",),
            exclude=("derived",),
            changes=True,
            topological=True,
            most=_MOST_COMMITS,
        )
        for number, logged in enumerate(log):
            if logged.commit not in cut_off:
                for change in logged.changes:
                    last.setdefault(change.path, _LastChange(number, logged.author, logged.commit))
        return last


def written_since(repository: Repository, before: str, commit: str) -> frozenset[str] | None:
    """Return the files that a commit after another one wrote, also if a later one took that back: those whose author
    may be another one. None if that is not all: after a merge, and in a shallow clone, other files may have another
    author, too."""
    log = list(read_log(repository, f"{before}..{commit}", paths=("",), exclude=("derived",), changes=True))
    if shallow_commits(repository) or any(len(logged.parents) > 1 for logged in log):
        return None
    return frozenset(change.path for logged in log for change in logged.changes)


@dataclass(frozen=True, slots=True)
class LineAuthor:
    """The commit that wrote a line: its short id, its author and its time."""

    commit: str
    author: str
    time: datetime


def line_author(repository: Repository, commit: str, path: str, line: int) -> LineAuthor | None:
    """Return who wrote a line (1-based; 0 for the first) of a file as a commit has it.

    None if git cannot tell in time: the file does not exist, the clone is too shallow, or its history too long.
    """
    number = max(line, 1)
    try:
        done = repository.git.run(
            "-c",
            "core.quotePath=false",
            "blame",
            "--porcelain",
            "-L",
            f"{number},{number}",
            commit,
            "--",
            path,
            limit_seconds=_BLAME_SECONDS,
        )
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
    if "author-time" not in fields or ("boundary" in fields and shallow_commits(repository)):
        return None
    moment = datetime.fromtimestamp(int(fields["author-time"]), UTC)
    return LineAuthor(lines[0].partition(" ")[0][:7], fields.get("author", ""), moment)
