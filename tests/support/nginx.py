"""A real nginx that serves one included configuration, reloaded at will."""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from tests.support.patience import PATIENCE_SECONDS, wait_until

BINARY = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
needs_nginx = pytest.mark.skipif(BINARY is None, reason="nginx is not installed (make servers)")

_MAIN = """
{user}
daemon off;
worker_processes 1;
pid {directory}/nginx.pid;
error_log stderr;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {directory}/body;
    proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi;
    uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    include {directory}/included.conf;
}}
"""


class Nginx:
    """nginx in a directory of its own; `port` is free, for the configuration to listen on."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._process: subprocess.Popen[str] | None = None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        user = "user root root;" if os.geteuid() == 0 else ""
        (directory / "nginx.conf").write_text(_MAIN.format(user=user, directory=directory))

    def load(self, config: str) -> None:
        """Take a configuration, which must be sound, from now on (soon after, when it is running already)."""
        (self._directory / "included.conf").write_text(config)
        assert BINARY is not None
        command = [BINARY, "-p", str(self._directory), "-c", str(self._directory / "nginx.conf")]
        checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr + config
        if self._process is None:
            self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True)
            wait_until(self._listens)
        else:
            self._process.send_signal(signal.SIGHUP)

    def get(self, host: str, path: str = "/") -> tuple[int, str]:
        """Send one request on a connection of its own; return status and body."""
        with urllib3.PoolManager(retries=False, timeout=PATIENCE_SECONDS) as pool:
            answer = pool.request("GET", f"http://127.0.0.1:{self.port}{path}", headers={"Host": host})
            return answer.status, answer.data.decode(errors="replace")

    def answers(self, host: str, path: str = "/", requests: int = 12) -> set[str]:
        """Return what several requests in a row were answered."""
        return {self.get(host, path)[1] for _ in range(requests)}

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE_SECONDS)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


@contextmanager
def nginx(directory: Path) -> Iterator[Nginx]:
    """An nginx for the block, in a directory that does not exist yet."""
    server = Nginx(directory)
    try:
        yield server
    finally:
        server.stop()
