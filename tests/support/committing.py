"""A commit made and landed at once, as an act does it in two steps."""

from muster.git.errors import Committed, Moved, Refused
from muster.git.fastimport import Files, build_commit
from muster.git.landing.commit import advance
from muster.git.repository import Repository


def commit_files(
    repository: Repository, *, branch: str, expected: str, files: Files, message: str
) -> Committed | Moved | Refused:
    """Commit `files` on `branch` if it is still at `expected`."""
    commit = build_commit(repository, files, message, expected)
    return advance(repository, branch=branch, expected=expected, commit=commit)
