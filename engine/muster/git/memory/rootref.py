"""Refs that hold a single root commit and are replaced in place: memory without history.

Agents' refs are such refs, and so is the memory of pulses. Reading returns the files of the commit; replacing compares
and swaps, locally or on a remote, so that two writers never undo each other's work.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

from muster.data.printable import without_secrets
from muster.dataclass import dataclass
from muster.git.errors import Committed, Moved, Pushed, Rejected, UnreadableError
from muster.git.fastimport import build_commit
from muster.git.landing.commit import swap_ref
from muster.git.push import LIMIT_SECONDS, fetch_ref, push_ref, remote_tip
from muster.git.repository import Repository, ref_tip
from muster.git.store.entries import REGULAR
from muster.git.store.paths import is_dotgit
from muster.git.trees import list_tree

_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class RefContents:
    """The commit that a ref points at (None: there is no such ref), and its files by path.

    Links, submodules and unreadable files are left out.
    """

    commit: str | None
    files: Mapping[str, bytes]


NO_CONTENTS: Final = RefContents(None, {})


class ReplaceableRef(Protocol):
    """A ref whose files are replaced as a whole. RepositoryError if it cannot be reached."""

    def look(self, known: RefContents = NO_CONTENTS) -> RefContents:
        """Return what the ref holds; `known` itself if it still points there."""

    def replace(self, known: RefContents, files: Mapping[str, bytes], message: str) -> RefContents | Moved | Rejected:
        """Replace what the ref holds with `files` and return the result; Moved if it is not at `known` any more."""


class Seal(Protocol):
    """Signs the commits of a ref's writer, and recognises them."""

    def sealed(self, commit: bytes) -> bytes:
        """Return the text of a commit with a signature in it; the text itself without a key to sign with."""

    def vouches(self, commit: bytes) -> bool:
        """Is a commit signed by this writer?"""


@dataclass(frozen=True, slots=True)
class RootRef:
    """A ref by its full name, of the repository or, through it, of a remote. Satisfies `ReplaceableRef`.

    With a `seal` its commits are signed, and files of other writers are not taken over: a signature covers all files
    of a commit.
    """

    repository: Repository
    name: str
    remote: str | None = None
    limit_seconds: float = LIMIT_SECONDS
    seal: Seal | None = None

    def look(self, known: RefContents = NO_CONTENTS) -> RefContents:
        limit = self.limit_seconds
        if self.remote is None:
            tip = ref_tip(self.repository, self.name)
        else:
            tip = remote_tip(self.repository, remote=self.remote, ref=self.name, limit_seconds=limit)
        if tip is None:
            return NO_CONTENTS
        if tip == known.commit:
            return known
        if self.remote is not None:
            tip = fetch_ref(self.repository, remote=self.remote, ref=self.name, limit_seconds=limit)
        if self.seal is not None and not self.seal.vouches(self.repository.git.output("cat-file", "commit", tip)):
            return RefContents(tip, {})
        return RefContents(tip, files_of(self.repository, tip))

    def replace(self, known: RefContents, files: Mapping[str, bytes], message: str) -> RefContents | Moved | Rejected:
        commit = build_commit(self.repository, files, message, None)
        if self.seal is not None:
            text = self.seal.sealed(self.repository.git.output("cat-file", "commit", commit))
            made = self.repository.git.output("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
            commit = made.decode().strip()
        done: Committed | Pushed | Moved | Rejected
        if self.remote is None:
            done = swap_ref(self.repository, self.name, commit, known.commit, reason="muster: renew")
        else:
            done = push_ref(
                self.repository,
                remote=self.remote,
                ref=self.name,
                new=commit,
                expected=known.commit,
                limit_seconds=self.limit_seconds,
            )
        return done if isinstance(done, Moved | Rejected) else RefContents(commit, files)


def update(
    ref: ReplaceableRef,
    make: Callable[[RefContents], Mapping[str, bytes] | None],
    message: str,
    *,
    attempts: Iterable[int],
    known: RefContents | None = None,
) -> RefContents | Moved | Rejected:
    """Replace what a ref holds with what `make` returns for it; if other writers were faster, call `make` again.

    `make` returns None to leave the ref as it is. `known` is what the ref is believed to hold: it is not read first.
    Moved when `attempts` have run out.
    """
    done: RefContents | Moved | Rejected = Moved(None)
    for _ in attempts:
        known = known or ref.look()
        files = make(known)
        if files is None:
            return known
        done = ref.replace(known, files, message)
        if not isinstance(done, Moved):
            break
        known = None
    return done


def store_files(
    repository: Repository,
    ref: str,
    make: Callable[[RefContents], Mapping[str, bytes] | None],
    message: str,
    remote: str | None,
) -> str:
    """Update a ref here, and then that of a remote, with what `make` returns for each (see `update`). Return why that
    failed, or nothing."""
    for place in (None, remote) if remote is not None else (None,):
        done = update(RootRef(repository, ref, place), make, message, attempts=range(_ATTEMPTS))
        if isinstance(done, Rejected):
            return without_secrets(f"{place} does not take {ref}: {done.reason}")
        if isinstance(done, Moved):
            return without_secrets(f"{ref}{f' of {place}' if place else ''} keeps moving")
    return ""


def files_of(repository: Repository, commit: str) -> dict[str, bytes]:
    """Return the plain files of a commit or a tree that can be read, and written on any file system."""
    entries = [
        entry
        for entry in list_tree(repository, commit)
        if entry.mode in REGULAR and not any(map(is_dotgit, entry.path.split(b"/")))
    ]
    answers = list(repository.objects.read([entry.oid for entry in entries]))
    return {
        os.fsdecode(entry.path): answer.content
        for entry, answer in zip(entries, answers, strict=True)
        if not isinstance(answer, UnreadableError)
    }
