"""Which work trees a repository has, and what each has checked out."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from muster.git.process import Git
from muster.git.repository import Repository

_AFTER_PATH = re.compile(r"HEAD [0-9a-f]+|bare")


@dataclass(frozen=True, slots=True)
class Worktree:
    """A work tree: the main one or a linked one. `branch` is None where it is bare or its HEAD is detached."""

    path: Path
    branch: str | None
    locked: bool


def worktrees(repository: Repository) -> tuple[Worktree, ...]:
    """Return all work trees of the repository, the main one first, also those whose directory is away."""
    listing = os.fsdecode(repository.git.output("worktree", "list", "--porcelain"))
    return tuple(_parsed(record) for record in _records(listing))


def checkouts(repository: Repository, branch: str) -> tuple[Worktree, ...]:
    """Return the work trees that have `branch` checked out.

    One whose directory is gone does not count unless it is locked, which says that it will come back.
    """
    return tuple(
        tree for tree in worktrees(repository) if tree.branch == branch and (tree.locked or tree.path.is_dir())
    )


def git_directory(repository: Repository, tree: Worktree) -> Path:
    """Return the git directory of a work tree, which has its HEAD and index. RepositoryError where it is away."""
    if tree.path == repository.worktree:
        return repository.git_dir
    found = Git(tree.path, repository.git.environ).output("rev-parse", "--absolute-git-dir")
    return Path(os.fsdecode(found).removesuffix("\n"))


def _records(listing: str) -> Iterator[list[str]]:
    """Split the listing into records. A path may have newlines, which git before 2.36 cannot quote: it ends where
    the next attribute begins.
    """
    record: list[str] = []
    path_ended = False
    for line in listing.split("\n"):
        if not record:
            if line:
                record, path_ended = [line], False
        elif not path_ended and not _AFTER_PATH.fullmatch(line):
            record[0] += f"\n{line}"
        elif line:
            record.append(line)
            path_ended = True
        else:
            yield record
            record = []


def _parsed(record: list[str]) -> Worktree:
    attributes = dict(line.partition(" ")[::2] for line in record)
    branch = attributes.get("branch", "")
    return Worktree(
        Path(attributes["worktree"]),
        branch.removeprefix("refs/heads/") if branch.startswith("refs/heads/") else None,
        "locked" in attributes,
    )
