"""Refs that hold a single root commit and are replaced in place: memory that leaves no history behind.

An agent's ref is one, and so is what muster remembers of its pulses. Reading gives the files of the commit; replacing
compares and swaps, locally or on a remote, so that two writers never undo each other's work.
"""

import os
from collections.abc import Mapping
from typing import Final

from muster.gitio.errors import UnreadableError
from muster.gitio.importing import build_commit
from muster.gitio.objects import Objects
from muster.gitio.outcomes import Moved, Pushed, Rejected
from muster.gitio.paths import MAX_BLOB_BYTES
from muster.gitio.push import LIMIT_SECONDS, fetch_ref, push_ref, remote_tip
from muster.gitio.repository import Repository, ref_tip
from muster.gitio.trees import list_tree

_REGULAR: Final = (b"100644", b"100755")


def local_files(repository: Repository, ref: str) -> tuple[str | None, dict[str, bytes]]:
    """Return where the full ref name points, and the files there by path; None and none where there is no such ref.

    What is no plain file, or cannot be read, is left out.
    """
    tip = ref_tip(repository, ref)
    return tip, {} if tip is None else commit_files(repository, tip)


def remote_files(
    repository: Repository, *, remote: str, ref: str, limit_seconds: float = LIMIT_SECONDS
) -> tuple[str | None, dict[str, bytes]]:
    """The same of a remote's ref. RepositoryError where the remote cannot be read."""
    tip = remote_tip(repository, remote=remote, ref=ref, limit_seconds=limit_seconds)
    if tip is None:
        return None, {}
    tip = fetch_ref(repository, remote=remote, ref=ref, limit_seconds=limit_seconds)
    return tip, commit_files(repository, tip)


def commit_files(repository: Repository, commit: str) -> dict[str, bytes]:
    """Return the files of a commit by path."""
    entries = [entry for entry in list_tree(repository, commit) if entry.mode in _REGULAR]
    objects = Objects(repository.git, max_bytes=MAX_BLOB_BYTES)
    try:
        answers = list(objects.read([entry.oid for entry in entries]))
    finally:
        objects.close()
    found = {}
    for entry, answer in zip(entries, answers, strict=True):
        if not isinstance(answer, UnreadableError):
            found[os.fsdecode(entry.path)] = answer.content
    return found


def replace_local(
    repository: Repository, *, ref: str, expected: str | None, files: Mapping[str, bytes], message: str
) -> str | None:
    """Point a ref at a new root commit of `files` if it still is at `expected`; return the commit, or None if not."""
    commit = build_commit(repository, files, message, None)
    return commit if swap(repository, ref=ref, expected=expected, commit=commit) else None


def swap(repository: Repository, *, ref: str, expected: str | None, commit: str) -> bool:
    """Move a ref from `expected` (None: it does not exist) to a commit; whether it was there."""
    nothing = "0" * len(commit)
    done = repository.git.run("update-ref", "--no-deref", ref, commit, expected or nothing)
    return done.status == 0


def replace_remote(
    repository: Repository, *, remote: str, ref: str, expected: str | None, files: Mapping[str, bytes], message: str,
    limit_seconds: float = LIMIT_SECONDS,
) -> Pushed | Moved | Rejected:  # fmt: skip
    """The same on a remote."""
    commit = build_commit(repository, files, message, None)
    return push_ref(repository, remote=remote, ref=ref, new=commit, expected=expected, limit_seconds=limit_seconds)
