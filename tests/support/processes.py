"""`muster` as a real process that goes on until it is told to stop."""

import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.support.forking import muster_command
from tests.support.patience import PATIENCE_SECONDS, wait_until


class Process:
    """A running `muster`, and the lines that it has printed so far."""

    def __init__(self, arguments: tuple[str, ...], environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [*muster_command(environ), *arguments],
            env=dict(environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, text: str) -> None:
        """Wait for a line that has `text`."""
        wait_until(lambda: any(text in line for line in self.lines), lambda: f"no {text!r} in {self.lines}")

    def kill(self) -> None:
        """End it without warning."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ask it to end with SIGTERM, which it must do cleanly."""
        if self._process.poll() is None:
            self._end(signal.SIGTERM)
            assert (self._process.returncode, self.lines[-1:]) == (0, ["stopped"]), self.lines

    def _end(self, number: signal.Signals) -> None:
        self._process.send_signal(number)
        self._process.wait(PATIENCE_SECONDS)
        self._reader.join(PATIENCE_SECONDS)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))


@contextmanager
def running(*arguments: str, environ: Mapping[str, str]) -> Iterator[Process]:
    """Run `muster` with `arguments` until the block ends."""
    process = Process(arguments, environ)
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    process.stop()
