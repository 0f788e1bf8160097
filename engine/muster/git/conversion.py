"""The bytes that git would store for a file of a work tree: those that a commit of it would have.

Line ends (`core.autocrlf`, `text`, `eol`), encodings, `ident` and filters such as LFS change files on their way between
repository and work tree, so bytes on the disk are not what a run on the commit sees. Only git knows what it would do:
it is asked for the id that a file would get. Most files need no question: those without a carriage return and without
such attributes. The id then tells whether git stores the bytes unchanged, or with plain line feeds; only files with a
filter or another encoding are really converted, into a temporary store.
"""

import shutil
import tempfile
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from muster.git.errors import UnreadableError, complaint
from muster.git.quarantine import storing_in
from muster.git.store.objects import Objects, object_id
from muster.git.store.process import Git, StderrTail, reap

if TYPE_CHECKING:
    from muster.git.store.process import Process

_ATTRIBUTES: Final = ("filter", "ident", "working-tree-encoding")


class ContentConverter:
    """Converts the files of one work tree. A context manager: it ends git's processes and deletes what they wrote."""

    def __init__(self, git: Git, object_format: str, max_bytes: int) -> None:
        """`git` runs in the snapshot's directory, which may lie deep in the work tree."""
        self._git, self._object_format, self._max_bytes = git, object_format, max_bytes
        self._marked: set[bytes] = set()
        self._asking: _Hasher | None = None
        self._writing: _Hasher | None = None
        self._objects: Objects | None = None
        self._store = ""

    @cached_property
    def _prefix(self) -> bytes:
        """The path of that directory in the work tree. Few files need it."""
        return self._git.output("rev-parse", "--show-prefix").removesuffix(b"\n")

    def expect(self, paths: Iterable[bytes]) -> None:
        """Find the paths with attributes that make git change the content."""
        answers = self._git.output(
            "check-attr", "-z", "--stdin", *_ATTRIBUTES, stdin=b"".join(p + b"\0" for p in paths)
        )
        fields = answers.split(b"\0")
        self._marked = {
            path
            for path, value in zip(fields[0::3], fields[2::3], strict=False)
            if value not in (b"unspecified", b"unset")
        }

    def content(self, path: bytes, content: bytes) -> bytes:
        """Return what git would store for a file with this content; UnreadableError if it cannot."""
        if b"\r\n" not in content and path not in self._marked:
            return content
        self._asking = self._asking or _Hasher(self._git)
        oid = self._asking.ask(self._prefix + path)
        for same in (content, content.replace(b"\r\n", b"\n")):
            if self.id_of(same) == oid:
                return same
        return self._convert(path)

    def id_of(self, content: bytes) -> str:
        return object_id("blob", content, self._object_format)

    def _convert(self, path: bytes) -> bytes:
        """Let git convert the file into a temporary store, and read it there."""
        if self._writing is None or self._objects is None:
            self._store = tempfile.mkdtemp(prefix="muster-")
            git = storing_in(self._git, Path(self._store))
            self._writing, self._objects = _Hasher(git, "-w"), Objects(git)
        return self._objects.blob(self._writing.ask(self._prefix + path), self._max_bytes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._asking, self._writing):
            if process is not None:
                process.stop()
        if self._objects is not None:
            self._objects.close()
        if self._store:
            shutil.rmtree(self._store, ignore_errors=True)
        self._asking = self._writing = self._objects = None


class _Hasher:
    """One `git hash-object` process that answers path by path, restarted after it died of one."""

    def __init__(self, git: Git, *options: str) -> None:
        self._git, self._options = git, options
        self._process: Process | None = None
        self._complaints: StderrTail | None = None

    def ask(self, path: bytes) -> str:
        """Return the id that the file at a path, from the work tree's root, would get."""
        if self._process is None:
            self._process = self._git.start("hash-object", *self._options, "--stdin-paths")
            self._complaints = StderrTail(self._process)
        process, quoted = self._process, _quoted(path)
        try:
            process.stdin.write(quoted + b"\n")
            process.stdin.flush()
            answer: bytes = process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if answer.endswith(b"\n"):
            return answer.decode().strip()
        self._process = None
        text = self._complaints.wait() if self._complaints else ""
        raise UnreadableError(f"git cannot store it: {complaint(text, reap(process))}")

    def stop(self) -> None:
        if self._process is not None:
            reap(self._process)
            self._process = None


def _quoted(path: bytes) -> bytes:
    """Return a path as a line for git, quoted if it begins with a quote."""
    if not path.startswith(b'"'):
        return path
    return b'"' + path.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
