"""Refs that hold a single root commit and are replaced in place: memory that leaves no history behind.

An agent's ref is one, and so is what muster remembers of its pulses. Reading gives the files of the commit; replacing
compares and swaps, locally or on a remote, so that two writers never undo each other's work.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Protocol

from muster.data.printable import without_secrets
from muster.git.commit import swap_ref
from muster.git.errors import Committed, Moved, Pushed, Rejected, UnreadableError
from muster.git.importing import build_commit
from muster.git.objects import Objects
from muster.git.paths import is_dotgit
from muster.git.push import LIMIT_SECONDS, fetch_ref, push_ref, remote_tip
from muster.git.repository import Repository, ref_tip
from muster.git.trees import list_tree

_ATTEMPTS: Final = 8
_REGULAR: Final = (b"100644", b"100755")


@dataclass(frozen=True, slots=True)
class Standing:
    """What a ref points at (None: there is no such ref), and the files that this holds, by path.

    What is no plain file, or cannot be read, is left out.
    """

    commit: str | None
    files: Mapping[str, bytes]


NOTHING: Final = Standing(None, {})


class Replaceable(Protocol):
    """A ref whose files are replaced as a whole. RepositoryError where it cannot be reached."""

    def look(self, known: Standing = NOTHING) -> Standing:
        """Return what the ref holds; `known` itself where it still points there."""

    def replace(self, standing: Standing, files: Mapping[str, bytes], message: str) -> Standing | Moved | Rejected:
        """Replace what the ref holds by `files` and return that; Moved where it is not at `standing` any more."""


class Seal(Protocol):
    """The hand of whoever replaces a ref: signs its commits, and knows them again."""

    def sealed(self, commit: bytes) -> bytes:
        """Return the text of a commit with a signature in it; the text itself where there is nothing to sign with."""

    def vouches(self, commit: bytes) -> bool:
        """Whether a commit bears this hand's signature."""


@dataclass(frozen=True, slots=True)
class RootRef:
    """A ref by its full name: of the repository or, through it, of a remote. Satisfies `Replaceable`.

    With a `seal` its commits are signed, and what others left there is not taken over: whoever signs a commit vouches
    for all that is in it.
    """

    repository: Repository
    name: str
    remote: str | None = None
    limit_seconds: float = LIMIT_SECONDS
    seal: Seal | None = None

    def look(self, known: Standing = NOTHING) -> Standing:
        """As `Replaceable` has it."""
        limit = self.limit_seconds
        if self.remote is None:
            tip = ref_tip(self.repository, self.name)
        else:
            tip = remote_tip(self.repository, remote=self.remote, ref=self.name, limit_seconds=limit)
        if tip is None:
            return NOTHING
        if tip == known.commit:
            return known
        if self.remote is not None:
            tip = fetch_ref(self.repository, remote=self.remote, ref=self.name, limit_seconds=limit)
        if self.seal is not None and not self.seal.vouches(self.repository.git.output("cat-file", "commit", tip)):
            return Standing(tip, {})
        return Standing(tip, files_of(self.repository, tip))

    def replace(self, standing: Standing, files: Mapping[str, bytes], message: str) -> Standing | Moved | Rejected:
        """As `Replaceable` has it."""
        commit = build_commit(self.repository, files, message, None)
        if self.seal is not None:
            text = self.seal.sealed(self.repository.git.output("cat-file", "commit", commit))
            made = self.repository.git.output("hash-object", "-t", "commit", "-w", "--stdin", stdin=text)
            commit = made.decode().strip()
        done: Committed | Pushed | Moved | Rejected
        if self.remote is None:
            done = swap_ref(self.repository, self.name, commit, standing.commit, reason="muster: renew")
        else:
            done = push_ref(
                self.repository, remote=self.remote, ref=self.name, new=commit, expected=standing.commit,
                limit_seconds=self.limit_seconds,
            )  # fmt: skip
        return done if isinstance(done, Moved | Rejected) else Standing(commit, files)


def update(
    ref: Replaceable, make: Callable[[Standing], Mapping[str, bytes] | None], message: str, *,
    attempts: Iterable[int], standing: Standing | None = None,
) -> Standing | Moved | Rejected:  # fmt: skip
    """Put on a ref what `make` makes of what it holds, made anew on what others left there where they were faster.

    `make` returns None where there is nothing to put; `standing`, where given, is taken for what the ref holds. Moved
    when `attempts` have run out.
    """
    done: Standing | Moved | Rejected = Moved(None)
    for _ in attempts:
        standing = standing or ref.look()
        files = make(standing)
        if files is None:
            return standing
        done = ref.replace(standing, files, message)
        if not isinstance(done, Moved):
            break
        standing = None
    return done


def store(
    repository: Repository, ref: str, make: Callable[[Standing], Mapping[str, bytes] | None], message: str,
    remote: str | None,
) -> str:  # fmt: skip
    """Put on a ref here, and then on that of a remote, what `make` makes of what each holds (see `update`). Return why
    that could not be, or nothing."""
    for place in (None, remote) if remote is not None else (None,):
        done = update(RootRef(repository, ref, place), make, message, attempts=range(_ATTEMPTS))
        if isinstance(done, Rejected):
            return without_secrets(f"{place} does not take {ref}: {done.reason}")
        if isinstance(done, Moved):
            return without_secrets(f"{ref}{f' of {place}' if place else ''} keeps moving")
    return ""


def files_of(repository: Repository, commit: str) -> dict[str, bytes]:
    """Return the plain files of a commit, or a tree, that can be read, and written elsewhere."""
    entries = [
        entry for entry in list_tree(repository, commit)
        if entry.mode in _REGULAR and not any(map(is_dotgit, entry.path.split(b"/")))
    ]  # fmt: skip
    with closing(Objects(repository.git)) as objects:
        answers = list(objects.read([entry.oid for entry in entries]))
    return {
        os.fsdecode(entry.path): answer.content
        for entry, answer in zip(entries, answers, strict=True) if not isinstance(answer, UnreadableError)
    }  # fmt: skip
