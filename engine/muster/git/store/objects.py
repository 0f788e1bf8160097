"""Reads git objects by name through persistent `cat-file` processes: one for contents, one for many sizes.

Requests are pipelined in windows that fit into the smallest pipe buffer there is (4 KiB), so writing them can
never block while git waits for us to read: no feeding thread is needed, and any order of access works.
"""

import hashlib
import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, NamedTuple

from muster.git.errors import KilledError, TooLargeError, UnreadableError, complaint, was_killed
from muster.git.store.paths import MAX_BLOB_BYTES
from muster.git.store.process import Git, Process, StderrTail, reap

SHA1: Final = "sha1"


def object_id(kind: str, content: bytes, object_format: str = SHA1) -> str:
    """Return git's id of an object: a `blob`, `tree` or `commit` with this content."""
    digest = hashlib.new(object_format, usedforsecurity=False)
    digest.update(b"%b %d\0%b" % (kind.encode(), len(content), content))
    return digest.hexdigest()


def format_of(id_: str) -> str:
    """Return the object format of an id: `sha1` or `sha256`."""
    return "sha256" if len(id_) == hashlib.sha256().digest_size * 2 else SHA1


def tree_id(files: Mapping[str, bytes], object_format: str = SHA1) -> str:
    """Return git's id of a tree that holds plain files, by path."""
    blobs = {path: (b"100644", object_id("blob", content, object_format)) for path, content in files.items()}
    return tree_of(blobs, object_format)


def tree_of(blobs: Mapping[str, tuple[bytes, str]], object_format: str = SHA1) -> str:
    """Return git's id of a tree that holds files, by path: the mode and the id of each."""
    files, folders = dict[str, tuple[bytes, str]](), dict[str, dict[str, tuple[bytes, str]]]()
    for path, blob in blobs.items():
        name, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(name, {})[rest] = blob
        else:
            files[name] = blob
    # git sorts a directory as if its name ended with a slash.
    entries = [(name.encode(), mode, oid) for name, (mode, oid) in files.items()]
    entries += [(f"{name}/".encode(), b"40000", tree_of(below, object_format)) for name, below in folders.items()]
    raw = b"".join(
        b"%b %b\0%b" % (mode, name.removesuffix(b"/"), bytes.fromhex(oid)) for name, mode, oid in sorted(entries)
    )
    return object_id("tree", raw, object_format)


def raw_entries(
    tree: bytes, id_bytes: int, names: Collection[bytes] | None = None
) -> Iterator[tuple[bytes, bytes, str]]:
    """Yield mode, name and id of each entry of a raw tree, `<mode> <name> NUL <binary id>`, or of those with some
    `names`. ValueError if the tree is damaged."""
    at, end = 0, len(tree)
    while at < end:
        stop = tree.index(b"\0", at)
        mode, space, name = tree[at:stop].partition(b" ")
        if not space:
            raise ValueError("an entry has no name")
        at = stop + 1 + id_bytes
        if names is None or name in names:
            yield mode, name, tree[stop + 1 : at].hex()


def commit_text(files: Mapping[str, bytes], who: str, at: datetime, message: str, object_format: str = SHA1) -> bytes:
    """Return a commit of plain files without parents, as git stores it. `who`: `Name <mail>`."""
    tree, stamp = tree_id(files, object_format), f"{who} {int(at.timestamp())} +0000"
    return f"tree {tree}\nauthor {stamp}\ncommitter {stamp}\n\n{message}\n".encode()


_HEX: Final = "0123456789abcdef"


def is_object_id(text: str) -> bool:
    """Is this a full object id, of SHA-1 or SHA-256?"""
    return len(text) in (40, 64) and not text.strip(_HEX)


def commit_header(commit: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield the names and values of the header of a commit, given as git stores it, line by line.

    The lines of a signature after its first begin with a blank: their name is empty.
    """
    at = 0
    while line := commit[at : end if (end := commit.find(b"\n", at)) >= 0 else len(commit)]:
        name, _, value = line.partition(b" ")
        yield name, value.decode(errors="replace")
        at += len(line) + 1


def commit_tree(commit: bytes) -> str:
    """Return the tree of a commit, given as git stores it; empty if it is no commit."""
    name, tree = next(commit_header(commit), (b"", ""))
    return tree if name == b"tree" and is_object_id(tree) else ""


def first_parent(commit: bytes) -> str:
    """Return the first parent of a commit, given as git stores it; empty if it has none."""
    name, parent = next(islice(commit_header(commit), 1, None), (b"", ""))
    return parent if name == b"parent" and is_object_id(parent) else ""


def committer_seconds(commit: bytes) -> int | None:
    """Return the committer date of a commit, given as git stores it, in seconds; None if it has none."""
    who = next((value for name, value in commit_header(commit) if name == b"committer"), "")
    seconds = who.rpartition("> ")[2].partition(" ")[0]
    return int(seconds) if len(seconds) < 20 and seconds.isascii() and seconds.isdecimal() else None


_PIPE_BYTES: Final = 4096  # POSIX promises 512, every system of today at least this
_CHUNK_BYTES: Final = 1 << 16
_MOST_AHEAD: Final = 256
#: Reading so many blobs costs less than a process that says how large they are.
_FEW: Final = 100


class GitObject(NamedTuple):
    """An object's type (`blob`, `tree`, `commit`, `tag`), content and id."""

    kind: str
    content: bytes
    oid: str


class Objects:
    """A repository's objects. Thread-safe; after a fork the child starts processes of its own."""

    def __init__(self, git: Git) -> None:
        self._contents = _Batch(git, "--batch")
        self._sizes = _Batch(git, "--batch-check")

    def read(self, names: Sequence[str], max_bytes: int = MAX_BLOB_BYTES) -> "Iterator[GitObject | UnreadableError]":
        """Yield the object of each name (`<id>`, `<id>^{tree}`, `<id>:<path>`, of one line) in order, or the error that
        prevents reading it; TooLargeError if it has more than `max_bytes`."""
        return self._contents.ask(names, max_bytes)

    def sizes(self, names: Sequence[str]) -> "Iterator[int | None]":
        """Yield the size in bytes of each blob in order; None if it is missing, damaged, or no blob."""
        few = len(names) <= _FEW
        for answer in self._contents.ask(names, MAX_BLOB_BYTES) if few else self._sizes.ask(names, MAX_BLOB_BYTES):
            if isinstance(answer, TooLargeError):
                yield answer.size
            elif isinstance(answer, UnreadableError) or answer.kind != "blob":
                yield None
            else:
                yield len(answer.content) if few else int(answer.content)

    def blob(self, name: str, max_bytes: int = MAX_BLOB_BYTES) -> bytes:
        """Return the content of one blob; UnreadableError if it cannot be read."""
        answer = next(self.read((name,), max_bytes))
        if isinstance(answer, UnreadableError):
            raise answer
        return answer.content

    def id_of(self, name: str) -> str | None:
        """Return the id of the object with a name, which may be that of a ref; None if there is none, or it cannot be
        read."""
        answer = None if "\n" in name else next(self.read((name,)))
        return answer.oid if isinstance(answer, GitObject) else None

    def close(self) -> None:
        self._contents.stop()
        self._sizes.stop()


class BlobSequence:
    """Blobs that are mostly read in order, fetched ahead.

    The window doubles while reads are consecutive and falls back to one at a jump, so reading every blob is pipelined,
    and reading few (the others came from a cache) fetches few. Each blob is returned once from memory; reading it again
    fetches it again.
    """

    def __init__(self, objects: Objects, oids: Sequence[str]) -> None:
        self._objects = objects
        self._oids = oids
        self._ahead: dict[int, GitObject | UnreadableError] = {}
        self._next = -1
        self._window = 1
        self._lock = threading.Lock()

    def read(self, index: int) -> bytes:
        """Return the content of the blob at `index`; UnreadableError if it cannot be read."""
        with self._lock:
            if index not in self._ahead:
                self._fetch(index)
            answer = self._ahead.pop(index)
            self._next = index + 1
        if isinstance(answer, UnreadableError):
            raise answer
        return answer.content

    def _fetch(self, index: int) -> None:
        self._window = min(self._window * 2, _MOST_AHEAD) if index == self._next else 1
        end = min(index + self._window, len(self._oids))
        self._ahead = dict(zip(range(index, end), self._objects.read(self._oids[index:end]), strict=True))


class _Batch:
    """One `git cat-file` process in a batch mode, started at the first question and again after it died."""

    def __init__(self, git: Git, mode: str) -> None:
        self._git = git
        self._mode = mode
        self._process: Process | None = None
        self._complaints: StderrTail | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def ask(self, names: Sequence[str], max_bytes: int) -> Iterator[GitObject | UnreadableError]:
        start = 0
        while start < len(names):
            end = start + _fitting(names, start)
            with self._lock:
                answers = self._window(names[start:end], max_bytes)
            yield from answers
            start += len(answers)

    def stop(self) -> None:
        """End the process, if this process started it."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            reap(process)

    def _window(self, names: Sequence[str], max_bytes: int) -> list[GitObject | UnreadableError]:
        """Ask for `names`; fewer answers than names if git died of the last one answered."""
        process = self._running()
        answers: list[GitObject | UnreadableError] = []
        try:
            process.stdin.write(os.fsencode("".join(f"{name}\n" for name in names)))
            process.stdin.flush()
            for name in names:
                answers.append(self._answer(process, name, max_bytes))
        except (BrokenPipeError, EOFError):
            complaint_, status = self._last_complaint(process)
            if was_killed(status):
                raise KilledError("cat-file", status) from None
            answers.append(UnreadableError(f"{names[len(answers)]}: {complaint_}"))
        except BaseException:  # interrupted: answers left in the pipe must not be taken for later ones
            self.stop()
            raise
        return answers

    def _answer(self, process: Process, name: str, max_bytes: int) -> GitObject | UnreadableError:
        header = process.stdout.readline()
        if not header.endswith(b"\n"):
            raise EOFError
        words = header.decode(errors="backslashreplace").split()
        if len(words) != 3 or not words[2].isdigit():
            return UnreadableError(f"{name} is {words[-1] if words else 'unreadable'} in the repository")
        kind, size = words[1], int(words[2])
        if self._mode == "--batch-check":
            return GitObject(kind, words[2].encode(), words[0])
        if size > max_bytes:
            _skip(process, size + 1)
            return TooLargeError(f"{name} has {size} bytes, more than {max_bytes}", size)
        content = process.stdout.read(size + 1)
        if len(content) <= size:
            raise EOFError
        return GitObject(kind, content[:-1], words[0])

    def _running(self) -> Process:
        if (
            self._process is None or self._owner != os.getpid()
        ):  # dropping a parent process's handle does not end its process
            self._process = self._git.start("cat-file", self._mode)
            self._complaints = StderrTail(self._process)
            self._owner = os.getpid()
        return self._process

    def _last_complaint(self, process: Process) -> tuple[str, int]:
        """What git said before it ended, and its status."""
        self._process = None
        text = self._complaints.wait() if self._complaints else ""
        status = reap(process)
        return complaint(text, status), status


def _fitting(names: Sequence[str], start: int) -> int:
    """Return how many of `names` from `start` on fit into a pipe; at least one."""
    count, size = 0, 0
    for index in range(start, len(names)):
        size += len(names[index]) + 1
        if size > _PIPE_BYTES and count:
            break
        count += 1
    return count


def _skip(process: Process, size: int) -> None:
    while size:
        piece = process.stdout.read(min(size, _CHUNK_BYTES))
        if not piece:
            raise EOFError
        size -= len(piece)
