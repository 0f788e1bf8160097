"""`muster` as a process of its own without its start-up: a server that has imported muster forks one for each call.

A shell or a test finds what it finds of the real command: arguments, environment, folder, open files, signals and exit
code. What is different is what happens before `main()`, so tests of start-up and imports use the real one.
"""

import atexit
import gc
import marshal
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from collections.abc import Mapping
from contextlib import chdir, redirect_stdout, suppress
from functools import cache
from importlib import import_module
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from shutil import rmtree

ROOT = Path(__file__).resolve().parents[2]
#: Modules that import libraries which begin threads, or take long.
_LARGE = ("muster.features.lint.proving", "muster.run.shards.on_dask")
#: A client asks for a process, passes signals on, and ends as that process does. It starts in milliseconds.
_CLIENT = """\
#!{python} -IS
import _signal, _socket, marshal, posix, sys
line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
line.connect({path!r})
umask = posix.umask(0)
posix.umask(umask)
asked = marshal.dumps((sys.argv[1:], posix.getcwdb(), posix.environ, umask))
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
line.sendmsg([len(asked).to_bytes(8, "little")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
line.sendall(asked)
for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM, _signal.SIGUSR1, _signal.SIGUSR2):
    if _signal.getsignal(number) != _signal.SIG_IGN:
        _signal.signal(number, lambda number, _: line.send(bytes([number])))
ended = marshal.loads(line.recv(100))
if ended < 0:
    _signal.signal(-ended, _signal.SIG_DFL) if ended != -_signal.SIGKILL else None
    posix.kill(posix.getpid(), -ended)
posix._exit(ended)
"""


@cache
def binaries() -> Path:
    """A folder with such a `muster`, to be put first in PATH, for as long as this process lives."""
    folder = Path(tempfile.mkdtemp(prefix="muster-forking-"))
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        listener.listen(100)
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forking", str(listener.fileno())],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            pass_fds=[listener.fileno()],
        )
    client = folder / "muster"
    client.write_text(_CLIENT.format(python=sys.executable, path=str(folder / "socket")))
    client.chmod(0o755)
    atexit.register(_end, server, folder)
    return folder


def search_path() -> str:
    """Return a PATH with such a `muster`, then the tools of this checkout, then what this process finds."""
    return os.pathsep.join((str(binaries()), str(Path(sys.executable).parent), os.environ["PATH"]))


def muster_command(environ: Mapping[str, str]) -> list[str]:
    """Return the words that begin a command line of muster: of the real one if it is to import modules of its own."""
    if "PYTHONPATH" in environ:
        return [sys.executable, "-c", "from muster.__main__ import main; main()"]
    return [str(binaries() / "muster")]


def _end(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    server.communicate()
    rmtree(folder, ignore_errors=True)


class _Server:
    """Forks for whoever connects, until the process that started it ends."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._events = selectors.DefaultSelector()
        self._events.register(listener, selectors.EVENT_READ)
        self._events.register(0, selectors.EVENT_READ)
        self._lines = dict[int, socket.socket]()  # by the descriptor of their process

    def serve(self) -> None:
        """Serve; end what is left of the processes at the end."""
        processes = dict[socket.socket, int]()
        while True:
            for key, _ in self._events.select():
                if key.fileobj == 0:
                    for pid in processes.values():
                        os.kill(pid, signal.SIGKILL)
                    return
                if key.fileobj is self._listener:
                    line, _address = self._listener.accept()
                    pid = self._forked(line)
                    processes[line] = pid
                    ending = os.pidfd_open(pid)
                    self._lines[ending] = line
                    self._events.register(ending, selectors.EVENT_READ, pid)
                    self._events.register(line, selectors.EVENT_READ, pid)
                elif isinstance(key.fileobj, socket.socket):
                    for number in key.fileobj.recv(100) or (signal.SIGKILL,):
                        with suppress(ProcessLookupError):
                            os.kill(key.data, number)
                        if number == signal.SIGKILL:  # its client is no more
                            self._events.unregister(key.fileobj)
                else:
                    assert isinstance(key.fileobj, int)
                    _, status = os.waitpid(key.data, 0)
                    line = self._lines.pop(key.fileobj)
                    with suppress(OSError):
                        line.send(marshal.dumps(os.waitstatus_to_exitcode(status)))
                    with suppress(KeyError):
                        self._events.unregister(line)
                    self._events.unregister(key.fileobj)
                    os.close(key.fileobj)
                    line.close()
                    del processes[line]
                    break  # what else was ready may be of this process

    def _forked(self, line: socket.socket) -> int:
        head, ancillary, _, _ = line.recvmsg(8, socket.CMSG_LEN(12))
        files = array("i", ancillary[0][2])
        asked, size = b"", int.from_bytes(head, "little")
        while len(asked) < size:
            asked += line.recv(size - len(asked))
        if pid := os.fork():
            for file in files:
                os.close(file)
            return pid
        code = 70
        try:
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            self._events.close()
            for own in (line, *self._lines.values(), self._listener):
                own.close()
            for ending in self._lines:
                os.close(ending)
            code = _code_of(*marshal.loads(asked))
        finally:
            os._exit(code)


def _code_of(arguments: list[str], folder: bytes, environ: dict[bytes, bytes], umask: int) -> int:
    """Run muster as if this process had been started so."""
    os.chdir(folder)
    os.umask(umask)
    os.environb.clear()
    os.environb.update(environ)
    time.tzset()
    sys.argv = ["muster", *arguments]
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        errors = "backslashreplace" if name == "stderr" else "surrogateescape"
        # The process ends with the three: no one closes them.
        named = os.fdopen(number, "w" if number else "r", encoding="utf-8", errors=errors, closefd=False)
        named.reconfigure(
            line_buffering=number == 2 or (number == 1 and os.isatty(number)),
            write_through=bool(number) and "PYTHONUNBUFFERED" in os.environ,
        )
        setattr(sys, name, named)
        setattr(sys, f"__{name}__", named)
    code: int | str | None = 0
    try:
        import_module("muster.__main__").main()
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - as the interpreter does
        sys.excepthook(*sys.exc_info())
        code = 1
    for ending in (threading._shutdown, atexit._run_exitfuncs):  # type: ignore[attr-defined]
        ending()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, AttributeError, ValueError):
            stream.flush()
    return code if isinstance(code, int) else int(code is not None)


def _warm_up() -> None:
    """Compile the policies and schemas that nearly every command uses, by a command in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder), redirect_stdout(StringIO()):
        os.environ["XDG_CACHE_HOME"] = folder
        subprocess.run(["git", "init", "--quiet"], check=True)
        assert import_module("muster.commandline").run(["validate"]) == 0


def _main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for module in walk_packages(import_module("muster").__path__, "muster."):
        if not module.name.startswith(_LARGE):
            with suppress(ModuleNotFoundError):  # of an extra that is not installed
                import_module(module.name)
    _warm_up()
    gc.collect()
    gc.freeze()
    _Server(socket.socket(fileno=int(sys.argv[1]))).serve()


if __name__ == "__main__":
    _main()
