"""Kills at every step: a process is forked again and again, and killed with all its children one step later each time.

A step is whatever changes files or starts a process: CPython tells of each (`sys.addaudithook`) before it happens.
What is to be killed is a statement in Python. The forks come from a process of their own that has imported everything,
so that a kill costs milliseconds, and that has no threads.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

#: What CPython calls the steps.
STEPS = frozenset(("os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "subprocess.Popen", "sqlite3.connect"))
_SERVER = """
import sys
from tests.support.killing import serve
exec(sys.argv[1])
serve(run)
"""


class Killer:
    """Runs what it was made for, and kills it in time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def kill_at(self, step: int, argument: str, *, number: int = signal.SIGKILL) -> int:
        """Run it with an argument until a step, from 1; return its status, negative for a signal. 0: it ended before.

        SIGKILL takes it with all its children, another signal goes to it alone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{step} {int(number)} {argument}\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def killer(setup: str, environ: Mapping[str, str]) -> Iterator[Killer]:
    """Provide one for what `setup`, statements of Python, defines as `run(argument)`."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER, setup],
        env={**environ, "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Killer(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()
        process.wait()


def serve(run: object) -> None:
    """Fork for each line that comes in, and say how the fork ended. Runs in the process that a `Killer` starts."""
    assert callable(run)
    for line in sys.stdin:
        step, number, argument = line.rstrip("\n").split(" ", 2)
        child = os.fork()
        if not child:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            _arm(int(step), int(number))
            status = 1
            try:
                run(argument)
                status = 0
            except KeyboardInterrupt:
                status = 130
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _arm(step: int, number: int) -> None:
    left = [step]

    def count(event: str, _arguments: tuple[object, ...]) -> None:
        if event in STEPS:
            left[0] -= 1
            if left[0] == 0:
                if number == signal.SIGKILL:
                    os.killpg(0, number)
                os.kill(os.getpid(), number)

    sys.addaudithook(count)
