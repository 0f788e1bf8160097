"""Compiled expressions on disk, so that an unchanged policy is parsed and checked once per machine, not once per run.

`use(directory, version)` opens the cache: one file per version of the engine, and each newly compiled expression adds a
line to it. A line holds the text, the digest of the environment, the resolved syntax tree, and the types that the
generator needs. It is data only: the Python code is generated anew, so nothing in the directory becomes code. A line
that does not fit is skipped, and so is a directory that somebody else could have written into. A process that finds all
its expressions here imports neither cel-python nor Lark.
"""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, TypeAlias

from muster.cel import ast, serial
from muster.cel.errors import Issue
from muster.cel.types import Type, parse_type
from muster.cel.values import Json

_FORMAT = 3
#: The resolved tree of an expression, the types that the generator needs, and the checker's warnings.
Analysis: TypeAlias = tuple[ast.Node, dict[int, Type], tuple[Issue, ...]]
_MAX_BYTES = 64 << 20


class ExpressionCache:
    """The file of one directory. Several processes may add to it at once: each writes whole lines."""

    def __init__(self, directory: Path, version: str) -> None:
        """Read the lines of the file. `load` parses each on request."""
        self.directory = directory
        self._path = directory / f"expressions-{version}-{_FORMAT}.jsonl"
        self._lines: dict[str, bytes] = {}
        try:
            for line in self._content().splitlines():
                key, separator, content = line.partition(b" ")
                if separator:
                    self._lines[key.decode("ascii", "replace")] = content
        except OSError:
            return

    def _content(self) -> bytes:
        """Return the content of the file. Raises OSError if it is not a file, or others could have written it."""
        with self._opened(os.O_RDONLY) as file:
            if os.fstat(file.fileno()).st_size > _MAX_BYTES:
                self._path.unlink()
                return b""
            return file.read()

    def _opened(self, flags: int) -> BinaryIO:
        """Open the file. Raises PermissionError if somebody else could have written it, because we trust its content.

        Never blocks, as it would for a pipe of that name.
        """
        if not _only_we_write(self._path.parent.stat()):
            raise PermissionError(f"{self._path.parent} can be written by others")
        careful = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.fdopen(os.open(self._path, flags | careful, 0o600), "ab" if flags & os.O_APPEND else "rb")
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            file.close()
            raise PermissionError(f"{self._path} is not a file of ours")
        return file

    def load(self, text: str, digest: str) -> "Analysis | None":
        """Return the analysis of a text; None if there is no valid entry."""
        line = self._lines.pop(_key(text, digest), None)
        if line is None:
            return None
        try:
            entry = json.loads(line)
            if entry["text"] != text or entry["env"] != digest:
                return None
            types = {int(identity): parse_type(kind) for identity, kind in entry["types"].items()}
            warnings = tuple(_warning(fields) for fields in entry["warnings"])
            return serial.load(entry["tree"]), types, warnings
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None

    def save(
        self, text: str, digest: str, node: ast.Node, types: Mapping[int, Type], warnings: tuple[Issue, ...] = ()
    ) -> None:
        """Add an entry. If the directory is not writable, do nothing: the next run compiles again."""
        entry = {
            "text": text,
            "env": digest,
            "tree": serial.dump(node),
            "types": {str(identity): str(kind) for identity, kind in sorted(types.items())},
            "warnings": [[w.message, w.offset, w.line, w.column, w.hint] for w in warnings],
        }
        line = f"{_key(text, digest)} {json.dumps(entry, separators=(',', ':'))}\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._opened(os.O_WRONLY | os.O_APPEND | os.O_CREAT) as file:
                file.write(line.encode())
        except OSError:
            return


def _only_we_write(status: os.stat_result) -> bool:
    """Return whether a directory is this user's, and nobody else can write into it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _warning(fields: Json) -> Issue:
    """Return a warning from its fields. Raises ValueError or TypeError if they do not fit."""
    message, offset, line, column, hint = fields
    if not (isinstance(message, str) and isinstance(hint, str)):
        raise TypeError("the message and the hint of a warning must be texts")
    return Issue(message, int(offset), int(line), int(column), hint, is_warning=True)


def _key(text: str, digest: str) -> str:
    return hashlib.blake2b(f"{digest} {text}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class _Current:
    store: ExpressionCache | None = None


def use(directory: Path | None, version: str) -> None:
    """Keep the expressions that this version of the engine compiles in a directory from now on; None stops that."""
    _Current.store = None if directory is None else ExpressionCache(directory, version)


def current() -> ExpressionCache | None:
    """Return the cache in use, if there is one."""
    return _Current.store
