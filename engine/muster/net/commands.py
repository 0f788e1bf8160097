"""Commands that ask others, such as login plugins and probes: without a shell, with a time limit for all of it."""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import IO, Final

from muster.dataclass import dataclass

_MOST_OUTPUT: Final = 1 << 20
_READ_SECONDS: Final = 1.0  # for what is left in a pipe


@dataclass(frozen=True, slots=True)
class EndedCommand:
    """How a command ended: its status (None: it was killed at its limit), and the start of what it printed."""

    status: int | None
    output: bytes = b""
    errors: bytes = b""


def run_command(
    arguments: Sequence[str], limit_seconds: float, *, environ: Mapping[str, str] | None = None, reads: bool = True
) -> EndedCommand:
    """Run a command; after the limit it is killed with all its children. `reads`: return its output, else discard it.
    OSError or ValueError if it cannot be started."""
    pipe = subprocess.PIPE if reads else subprocess.DEVNULL
    process = subprocess.Popen(
        arguments, start_new_session=True, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=environ
    )
    outputs, readers = (list[bytes](), list[bytes]()), list[threading.Thread]()
    for stream, pieces in zip((process.stdout, process.stderr), outputs, strict=True):
        reader = threading.Thread(target=_read, args=(stream, pieces), daemon=True)
        reader.start()
        readers.append(reader)
    status: int | None = None
    try:
        status = process.wait(limit_seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for reader in readers:
            reader.join(_READ_SECONDS)
    return EndedCommand(status, *(b"".join(pieces) for pieces in outputs))


def _read(stream: IO[bytes] | None, pieces: list[bytes]) -> None:
    """Read the start of a stream, and close it: a command that prints more ends."""
    if stream is not None:
        with stream:
            pieces.append(stream.read(_MOST_OUTPUT))
