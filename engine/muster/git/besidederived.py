"""What is not committed yet, together with what is derived on a branch of its own."""

from collections.abc import Collection, Iterator
from functools import cached_property

from muster.data.locations import FOLDER
from muster.data.snapshot import Over, Skipped, Snapshot
from muster.data.source import SourceFile
from muster.git.apart import seen
from muster.git.history import History
from muster.git.index import IndexSnapshot
from muster.git.repository import Repository, ref_tip
from muster.git.snapshot import CommitSnapshot


class BesideDerived(Over):
    """People's files of a snapshot that is built on HEAD, and what is derived on a branch of its own."""

    def __init__(self, below: Snapshot, repository: Repository, commit: str, only: Collection[str] | None) -> None:
        """Lay what `commit`, HEAD joined with that branch, has under `derived/` beside `below`; of the paths `only`,
        where not all are looked at."""
        self.below, self._repository, self._head = below, repository, commit
        self._derived = CommitSnapshot(repository, commit, only=only)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """What was left out and why. Complete once `files` has been exhausted."""
        below = (one for one in self.below.skipped if not one.path.startswith(FOLDER))
        derived = (one for one in self._derived.skipped if one.path.startswith(FOLDER))
        return tuple(sorted((*below, *derived), key=lambda one: one.path))

    @cached_property
    def past(self) -> History:
        """What history says of the last run."""
        return History(self._repository, self._head, uncommitted=True)

    def close(self) -> None:
        """End the git processes."""
        self._derived.close()
        self.below.close()

    def files(self) -> Iterator[SourceFile]:
        """Yield people's files by path, then those that are derived."""
        yield from (file for file in self.below.files() if not file.path.startswith(FOLDER))
        yield from (file for file in self._derived.files() if file.path.startswith(FOLDER))


def staged_snapshot(repository: Repository, only: Collection[str] | None = None) -> Snapshot:
    """Return what is staged; of the paths named, where not all are looked at."""
    staged, joined = IndexSnapshot(repository, only), joined_head(repository)
    return staged if joined is None else BesideDerived(staged, repository, joined, only)


def joined_head(repository: Repository) -> str | None:
    """HEAD as a fleet is read from it; None where that is HEAD itself."""
    head = ref_tip(repository, "HEAD^{commit}")
    commit = seen(repository, head) if head else None
    return None if commit == head else commit
