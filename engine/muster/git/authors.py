"""Who wrote the files of a commit, or of what lies on top of one: what policies see as `request.userInfo`.

A file's author is that of the last commit that changed it, so that what was decided of an object does not turn with
whoever commits next to it. What is not committed yet is written by whoever git is configured for.
"""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Final

from muster.data.snapshot import Author
from muster.git.paths import decode
from muster.git.repository import LOG, Repository, cut_off_at, ref_tip
from muster.git.trees import list_tree

#: A merge says who resolved it (`-c`): only what differs from all of its sides. Derived files are nobody's.
_LOG: Final = (*LOG, "--topo-order", "-c", "-z", "--no-renames", "--name-only", "--max-count=50000",
               "--format=%x00//%x00%H%x00%an%x00%ae%x00")  # fmt: skip
#: What begins a commit in the listing: no path of git does.
_COMMIT: Final = b"//"
_BELOW: Final = ("--", ":(top)", ":(top,exclude)derived")


class CommitAuthors:
    """The authors of a commit's files. Satisfies `muster.data.snapshot.Authors`."""

    def __init__(self, repository: Repository, head: str | None, *, uncommitted: bool = False) -> None:
        """Look back from `head`, a full id; None before the first commit.

        `uncommitted`: the files lie on top of it.
        """
        self._repository, self._head, self._uncommitted = repository, head, uncommitted

    def of(self, files: Mapping[str, str]) -> Author | None:
        """Return who changed any of these files last; None where that is not known."""
        if self._uncommitted and any(self._committed.get(path, "") != oid for path, oid in files.items()):
            return self.at_work
        found = [last for path in files if (last := self._last.get(path)) is not None]
        return min(found)[1] if found else None

    @cached_property
    def at_work(self) -> Author | None:
        """Who would commit, as configured or in the environment; None where it is set nowhere."""
        found = self._repository.git.line("-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT")
        name, _, rest = (found or "").rpartition(" <")
        return Author(name, rest.partition(">")[0]) if found else None

    @cached_property
    def _committed(self) -> Mapping[str, str]:
        """The files of the head, id by path."""
        entries = list_tree(self._repository, self._head) if self._head else ()
        return {decode(entry.path)[0]: entry.oid for entry in entries}

    @cached_property
    def _last(self) -> Mapping[str, tuple[int, Author]]:
        """Who changed each file last, and how many commits ago."""
        last: dict[str, tuple[int, Author]] = {}
        for number, (author, paths) in enumerate(self._walk()):
            for path in paths:
                last.setdefault(decode(path)[0], (number, author))
        return last

    def _walk(self) -> Iterator[tuple[Author, list[bytes]]]:
        """Yield the author and the changed paths of every commit, the newest first."""
        if self._head is None:
            return
        cut_off = cut_off_at(self._repository)
        words = iter(self._repository.git.output(*_LOG, self._head, *_BELOW).split(b"\0"))
        author, paths = None, list[bytes]()
        for word in words:
            if word != _COMMIT:
                paths.append(word.removeprefix(b"\n"))
                continue
            if author is not None:
                yield author, paths
            commit, name, mail = (next(words).decode(errors="replace") for _ in range(3))
            author, paths = (None if commit in cut_off else Author(name, mail)), []
        if author is not None:
            yield author, paths


def authors_on_head(repository: Repository) -> CommitAuthors:
    """Return the authors of what lies on top of HEAD, in the work tree or the index."""
    return CommitAuthors(repository, ref_tip(repository, "HEAD^{commit}"), uncommitted=True)
