"""Git servers as they run in earnest, on loopback: `git daemon`, and `git http-backend` behind a web server."""

import os
import socket
import subprocess
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

from tests.support.git import git_environ


@contextmanager
def git_daemon(folder: Path) -> Iterator[str]:
    """Serve the repositories in a folder, for reading and pushing; yield the URL of the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            "git",
            "daemon",
            "--listen=127.0.0.1",
            f"--port={port}",
            "--reuseaddr",
            "--export-all",
            "--enable=receive-pack",
            f"--base-path={folder}",
            str(folder),
        ],
        env=git_environ(folder),
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port)
        yield f"git://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@contextmanager
def http_backend(folder: Path, password: str = "") -> Iterator[str]:
    """Serve the repositories in a folder by git's smart HTTP; yield the URL of the folder. Where there is a password
    (`user:word`), only to who has it."""

    class Handler(_Backend):
        root = folder
        expected = f"Basic {b64encode(password.encode()).decode()}" if password else None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Backend(BaseHTTPRequestHandler):
    """The web server's part: CGI, with bodies that have a length or come in chunks."""

    root: ClassVar[Path]
    expected: ClassVar[str | None]

    def do_GET(self) -> None:
        self._run()

    def do_POST(self) -> None:
        self._run()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Nothing is logged."""

    def _run(self) -> None:
        path, _, query = self.path.partition("?")
        body = self._body()
        if self.expected and self.headers.get("Authorization") != self.expected:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        environ = git_environ(
            self.root,
            GIT_PROJECT_ROOT=str(self.root),
            GIT_HTTP_EXPORT_ALL="1",
            PATH_INFO=path,
            QUERY_STRING=query,
            REQUEST_METHOD=self.command,
            CONTENT_TYPE=self.headers.get("Content-Type", ""),
            REMOTE_USER="agent",
            HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
            CONTENT_LENGTH=str(len(body)),
            GIT_PROTOCOL=self.headers.get("Git-Protocol", ""),
            REMOTE_ADDR="127.0.0.1",
        )
        process = subprocess.Popen(
            ["git", "http-backend"],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with process:
            process.stdin.write(body)
            process.stdin.close()
            self._answer(process.stdout.fileno())

    def _answer(self, descriptor: int) -> None:
        head = b""
        while b"\r\n\r\n" not in head and (piece := os.read(descriptor, 1 << 16)):
            head += piece
        headers, _, rest = head.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in headers.decode().split("\r\n") if ": " in line]
        status = next((value for name, value in fields if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # the client has heard enough
            self.wfile.write(rest)
            while piece := os.read(descriptor, 1 << 16):
                self.wfile.write(piece)
        self.close_connection = True

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)


def _wait_for(port: int) -> None:
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise AssertionError(f"nobody listens on {port}")
