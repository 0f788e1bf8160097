"""Writes events as JSON lines: to standard output, or appended to a file.

Files are below the directory that the command line names: a commit chooses the name, and no link and no `..` leads out.
"""

import contextlib
import errno
import json
import os
import stat
from pathlib import Path
from string import ascii_letters, digits
from typing import TextIO

from muster.data.printable import printable_json
from muster.data.tree import Tree
from muster.features.importing.filing import folder_of
from muster.features.pulses.sinks import DeliveryError

_STEP = f"{ascii_letters}{digits}_-."


def _is_step(text: str) -> bool:
    return text != "" and not text.strip(_STEP) and text[0] not in "-."


def line(event: Tree) -> str:
    """An event as one line."""
    return printable_json(json.dumps(event, separators=(",", ":"), ensure_ascii=False)) + "\n"


class StreamSink:
    """Writes to an open text stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def send(self, event: Tree) -> None:
        """Write the event and flush."""
        try:
            self._stream.write(line(event))
            self._stream.flush()
        except (OSError, ValueError) as error:
            raise DeliveryError("standard output is closed", again=False, unreachable=True) from error

    def close(self) -> None:
        """Nothing: the stream belongs to the caller."""


class FileSink:
    """Appends to the file `name` below `folder`; the event is on disk when `send` returns.

    The folder itself may be a link; below it no link is followed, and a pipe, which would wait for its reader for ever,
    is refused.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """DeliveryError if the name is not one of a file below the folder."""
        self._path = folder / name
        self._folder, self._name = folder, name
        self._file: int | None = None
        if not all(map(_is_step, name.split("/"))):
            text = f"{name!r} is not a valid file name: use letters, digits, '-', '_', '.' and '/'"
            raise DeliveryError(text, again=False, unreachable=True)

    def send(self, event: Tree) -> None:
        """Append the event. A line that a full disk cuts off is removed."""
        try:
            if self._file is None:
                self._file = self._opened()
            self._append(self._file, line(event).encode())
        except OSError as error:
            raise DeliveryError(f"{self._path}: {error.strerror}", again=False, unreachable=True) from error

    def _opened(self) -> int:
        """Open the file and create folders, each opened relative to the one above it, never through a link."""
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        with folder_of(self._folder, self._name) as here:
            file = os.open(self._name.rpartition("/")[2], flags, 0o644, dir_fd=here)
        if stat.S_ISFIFO(os.fstat(file).st_mode):
            os.close(file)
            raise OSError(errno.EINVAL, "it is a pipe")
        return file

    def _append(self, file: int, data: bytes) -> None:
        size = os.fstat(file).st_size
        try:
            written = os.write(file, data)
            os.fsync(file)
        except OSError:
            with contextlib.suppress(OSError):  # only a regular file can be truncated
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
