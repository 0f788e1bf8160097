"""Runs git, by the standard library: GitPython, which makes the repositories of `muster init` and `muster demo`, takes
50 ms to import, starts git twice for that, and cannot take variables away (CONTRIBUTING.md).

The environment of every process is exact: the caller's, without the variables by which git tells a hook which
repository, index and work tree it runs for. A hook's `GIT_DIR` would otherwise redirect every command to the hook's
repository, whatever directory it is started in.
"""

import atexit
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import field
from io import BufferedReader
from pathlib import Path
from signal import SIGKILL
from types import FrameType
from typing import IO, Any, Final, TypeAlias
from weakref import WeakSet

from muster.dataclass import dataclass
from muster.git.errors import KilledError, RepositoryError, complaint, explain, was_killed

OLDEST_GIT: Final = (2, 31)  # `GIT_CONFIG_COUNT`, `rev-parse --show-object-format`, `fetch --no-write-fetch-head`

# Variables that locate a repository: what `git rev-parse --local-env-vars` lists, without the configuration.
LOCATION: Final = frozenset(
    {
        "GIT_COMMON_DIR",
        "GIT_DIR",
        "GIT_GRAFT_FILE",
        "GIT_IMPLICIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_INTERNAL_SUPER_PREFIX",
        "GIT_NAMESPACE",
        "GIT_NO_REPLACE_OBJECTS",
        "GIT_PREFIX",
        "GIT_REPLACE_REF_BASE",
        "GIT_SHALLOW_FILE",
        "GIT_WORK_TREE",
    }
)
# Variables that locate its objects. A server's pre-receive hook sees pushed objects only through these.
OBJECTS: Final = frozenset({"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY", "GIT_QUARANTINE_PATH"})

#: The unit of file sizes in POSIX.
BLOCK: Final = 512
# A shell, because a limit set here would apply to all of this process's threads until it is lifted again.
_LIMITED: Final = 'ulimit -f "$0"; exec "$@"'

#: In every process. Some of git's messages are read. An object holds what its id says, and a commit has the parents
#: that it names: `refs/replace/*` and `info/grafts` would change that without a commit. git warns of a file of grafts
#: that it can read, so this one cannot exist.
_ALWAYS: Final = {
    "LANGUAGE": "C",
    "LC_ALL": "C",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": f"{os.devnull}/none",
}

_CHUNK: Final = 1 << 16
_LAST_BYTES: Final = 1 << 12  # of a running process's standard error
_LOOK_SECONDS: Final = 0.5  # how often to check whether a process has ended though its pipes are open
_LAST_SECONDS: Final = 1.0  # for a process to end without being killed


#: Wraps a command while it runs, by its verb.
Listener: TypeAlias = Callable[[str], AbstractContextManager[None]]
_LISTENER: ContextVar[Listener | None] = ContextVar("git listener", default=None)


@contextmanager
def observe_commands(listener: Listener) -> Iterator[None]:
    """Call the listener for each command that this thread runs to its end while the block runs."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


class Process(subprocess.Popen[bytes]):
    """A running git with pipes, which ends when it is dropped; not in a forked child, whose parent still reads it."""

    stdin: IO[bytes]
    stdout: BufferedReader
    stderr: IO[bytes]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.owner = os.getpid()
        super().__init__(*arguments, **options)

    def __del__(self) -> None:
        if getattr(self, "pid", None) is None or self.returncode is not None:
            return
        if self.owner == os.getpid():
            _end(self, group=False)
        else:
            self.returncode = 0


@dataclass(frozen=True, slots=True)
class Completed:
    status: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True, slots=True)
class Git:
    """git in one directory with one environment. Its processes inherit the file descriptors `inherited`, and write no
    file larger than `file_bytes`, a multiple of BLOCK, if that is given. Commands with a time limit are aborted when
    `stopped` is set."""

    directory: Path
    environ: Mapping[str, str] = field(repr=False)
    inherited: tuple[int, ...] = ()
    file_bytes: int | None = None
    stopped: threading.Event | None = field(default=None, repr=False)

    def start(self, *arguments: str, env: Mapping[str, str] | None = None, own_session: bool = False) -> Process:
        """Start `git <arguments>` with pipes; the process ends when its handle is dropped.

        `own_session` detaches it from the terminal (nothing can prompt) and makes it the head of a process group.
        RepositoryError if git cannot be started.
        """
        limited = [] if self.file_bytes is None else ["/bin/sh", "-c", _LIMITED, str(self.file_bytes // BLOCK)]
        # `-C` and no working directory: if that is gone, git says so.
        command = [*limited, "git", "-C", str(self.directory), *arguments]
        kept: list[int] = []
        try:
            with _postpone_signals(kept):
                process = Process(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={**self.environ, **_ALWAYS, **(env or {})},
                    start_new_session=own_session,
                    pass_fds=self.inherited,
                    # Python ignores SIGXFSZ, and so must git: at a limit for the size of files it then says so and
                    # removes its locks, instead of dying. It sets SIGPIPE as it needs it.
                    restore_signals=False,
                )
        except OSError as error:
            raise _cannot_start(error) from error
        _started.add(process)
        try:
            for number in kept:
                signal.raise_signal(number)
        except BaseException:
            _end(process, group=own_session)
            raise
        return process

    def run(
        self,
        *arguments: str,
        stdin: bytes | Iterator[bytes] = b"",
        env: Mapping[str, str] | None = None,
        limit_seconds: float | None = None,
    ) -> Completed:
        """Run `git <arguments>` to its end, whatever its status. KilledError if a signal ended it.

        `stdin` may come in pieces if the command prints little before it has read them all, and has no time limit.
        After `limit_seconds`, or if this process is interrupted, it is killed with all its children, and
        RepositoryError raised. A detached child that keeps the pipes open is not waited for.
        """
        listener = _LISTENER.get()
        with listener(subcommand(arguments)) if listener is not None else contextlib.nullcontext():
            return self._run(arguments, stdin, env, limit_seconds)

    def _run(
        self,
        arguments: tuple[str, ...],
        stdin: bytes | Iterator[bytes],
        env: Mapping[str, str] | None,
        limit_seconds: float | None,
    ) -> Completed:
        process = self.start(*arguments, env=env, own_session=limit_seconds is not None)
        try:
            if not isinstance(stdin, bytes):
                _write_input(process, stdin)
                stdin = b""
            stdout, stderr = _read_output(process, stdin, limit_seconds, self.stopped)
        except subprocess.TimeoutExpired:
            _end(process, group=True)
            raise RepositoryError(
                f"git {subcommand(arguments)}: no answer within {limit_seconds:g} seconds",
                "the remote or the network is slow or hangs: try again",
            ) from None
        except BaseException:
            _end(process, group=limit_seconds is not None)
            raise
        if was_killed(process.returncode):
            raise KilledError(subcommand(arguments), process.returncode)
        return Completed(process.returncode, stdout, stderr.decode(errors="backslashreplace"))

    def output(self, *arguments: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Run `git <arguments>` and return its output; RepositoryError if it fails."""
        done = self.run(*arguments, stdin=stdin, env=env)
        if done.status:
            raise explain(subcommand(arguments), done.stderr, done.status)
        return done.stdout

    def line(self, *arguments: str) -> str | None:
        """Run a query that prints one line, such as `config --get`; None if it fails."""
        done = self.run(*arguments)
        return None if done.status else os.fsdecode(done.stdout).removesuffix("\n")


class StderrTail:
    """The last part of a running process's standard error.

    A thread reads it: git prints several lines for every damaged object, and would block for ever once the pipe is
    full. The thread reads a duplicate of the descriptor and holds no lock on the stream itself, so the stream can be
    closed at any time, also in a forked child, where the thread does not exist.
    """

    def __init__(self, process: Process) -> None:
        self._tail = b""
        self._thread = threading.Thread(target=self._listen, args=(os.dup(process.stderr.fileno()),), daemon=True)
        self._thread.start()

    def wait(self) -> str:
        """Return the last part of the text, once the process has ended."""
        self._thread.join()
        return self._tail.decode(errors="backslashreplace")

    def _listen(self, descriptor: int) -> None:
        while piece := os.read(descriptor, _LAST_BYTES):
            self._tail = (self._tail + piece)[-_LAST_BYTES:]
        os.close(descriptor)


def _write_input(process: Process, pieces: Iterator[bytes]) -> None:
    """Write pieces to a process; if it ends before it has read all of them, its status says why."""
    with contextlib.suppress(BrokenPipeError):
        for piece in pieces:
            process.stdin.write(piece)


def _read_output(
    process: Process, stdin: bytes, limit_seconds: float | None, stopped: threading.Event | None
) -> tuple[bytes, bytes]:
    """Return what a process prints until it ends. TimeoutExpired after the limit, and if it is stopped."""
    if limit_seconds is None:
        stdout, stderr = process.communicate(stdin)
        return stdout, stderr
    until = time.monotonic() + limit_seconds
    given: bytes | None = stdin
    while True:
        ended = process.poll() is not None
        try:
            stdout, stderr = process.communicate(given, timeout=min(_LOOK_SECONDS, limit_seconds))
        except subprocess.TimeoutExpired as open_still:
            given = None  # it is being written
            if ended:  # and has been for a while, so its output is complete
                for pipe in (process.stdin, process.stdout, process.stderr):
                    pipe.close()
                return open_still.output or b"", open_still.stderr or b""
            if time.monotonic() >= until or (stopped is not None and stopped.is_set()):
                raise
        else:
            return stdout, stderr


#: Processes that this one started and that are still referenced.
_started: "WeakSet[Process]" = WeakSet()


@atexit.register
def _kill_all() -> None:
    """Kill processes that still run, while there are modules to do it with."""
    for process in list(_started):
        if process.returncode is None and process.owner == os.getpid():
            process.kill()
            reap(process)


def _end(process: Process, *, group: bool) -> None:
    """Kill a process, with its `group` if it has one of its own, and close its pipes, whatever other process has
    them."""
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, SIGKILL)
        else:
            process.terminate()  # git then removes its locks
    _close(process)
    try:
        process.wait(_LAST_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def reap(process: Process) -> int:
    """Close the pipes of a started process, wait for its end and return its status."""
    _close(process)
    return process.wait()


def _close(process: Process) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError, ValueError):
            pipe.close()


def stream_output(git: Git, *arguments: str) -> Iterator[bytes]:
    """Yield the output of a command, word by word (`-z`) as it comes; the command ends when the caller stops.
    RepositoryError if it fails."""
    process = git.start(*arguments)
    complaints, rest, whole = StderrTail(process), b"", False
    try:
        while chunk := process.stdout.read1(_CHUNK):
            *words, rest = (rest + chunk).split(b"\0")
            yield from words
        yield rest
        whole = True
    finally:
        status = reap(process)
        text = complaints.wait()
    if whole and was_killed(status):
        raise KilledError(subcommand(arguments), status)
    if whole and status:
        raise explain(subcommand(arguments), text, status)


def subcommand(arguments: tuple[str, ...]) -> str:
    """Return the subcommand among `arguments`, past `-c name=value` pairs."""
    index = 0
    while index + 1 < len(arguments) and arguments[index] == "-c":
        index += 2
    return arguments[index]


def without_location(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` without the variables that locate a repository."""
    return {name: value for name, value in environ.items() if name not in LOCATION and name not in OBJECTS}


def lies_in_repository(path: Path) -> bool:
    """May a directory lie in a repository, or be one? False only where git would find none: no process is needed then.

    git looks for `.git` and for a bare repository, in the directory and in each one above it.
    """
    here = os.path.realpath(path)
    while True:
        if any(os.path.lexists(os.path.join(here, name)) for name in (".git", "HEAD")):  # noqa: PTH118 - thrice as fast
            return True
        above = os.path.dirname(here)  # noqa: PTH120 - likewise
        if above == here:
            return False
        here = above


def require_git(git: Git) -> None:
    """Raise RepositoryError if git is missing or older than OLDEST_GIT."""
    done = git.run("version")
    if done.status:
        raise _cannot_start(complaint(done.stderr, done.status))
    words = os.fsdecode(done.stdout).split()
    numbers = tuple(int(part) for part in words[2].split(".")[:2] if part.isdigit()) if len(words) > 2 else ()
    if numbers < OLDEST_GIT:
        oldest = ".".join(map(str, OLDEST_GIT))
        raise RepositoryError(f"{' '.join(words)} is too old", f"muster needs git {oldest} or later")


@contextmanager
def _postpone_signals(kept: list[int]) -> Iterator[None]:
    """Postpone signals that would end this process while a child starts: nothing would end that child."""
    handlers: dict[int, Callable[[int, FrameType | None], object]] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
                handler = signal.getsignal(number)
                if callable(handler):
                    handlers[number] = handler
                    signal.signal(number, lambda number, _: kept.append(number))
        yield
    finally:
        for kind, handler in handlers.items():
            signal.signal(kind, handler)


def _cannot_start(reason: object) -> RepositoryError:
    return RepositoryError(f"git cannot be started: {reason}", "install git and see that it is on the PATH")
