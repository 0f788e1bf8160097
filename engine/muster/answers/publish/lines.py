"""Events as JSON lines: to standard output, and to the end of a file.

A file lies below `muster/` in the git directory: there no commit can put a link in its way, and no event dirties the
work tree.
"""

import contextlib
import errno
import json
import os
from pathlib import Path
from typing import TextIO

from muster.answers.publish.sinks import DeliveryError
from muster.model.tree import Tree


def line(event: Tree) -> str:
    """One event as one line."""
    return json.dumps(event, separators=(",", ":"), ensure_ascii=False) + "\n"


class StreamSink:
    """Writes to an open text stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def send(self, event: Tree) -> None:
        """Write the event and flush."""
        self._stream.write(line(event))
        self._stream.flush()

    def close(self) -> None:
        """The stream is its owner's."""


class FileSink:
    """Appends to a file, which is on the disk when `send` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def send(self, event: Tree) -> None:
        """Append the event. Whole lines only: a line that is cut off by a full disk is taken back."""
        try:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            self._append(self._file, line(event).encode())
        except OSError as error:
            raise DeliveryError(f"{self._path}: {error.strerror}", again=False, unreachable=True) from error

    def _append(self, file: int, data: bytes) -> None:
        size = os.fstat(file).st_size
        try:
            written = os.write(file, data)
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):  # what is no regular file cannot be cut
                os.ftruncate(file, size)
            raise
        if written != len(data):
            os.ftruncate(file, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
