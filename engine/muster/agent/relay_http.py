"""A relay's HTTP side, for agents that do not push: each says who it is by a bearer token.

    GET  /v1/agents/<cluster>       what is known of it: {"commit": name or null, "files": {path: text}}
    PUT  /v1/agents/<cluster>       {"expected": name or null, "files": ...} -> {"commit": name}; 409: look again
    GET  /v1/agents/<cluster>/hub   what the hub says of it: {"accepted", "synced", "leaseSeconds"}

A file has a line for each cluster, `<cluster> <SHA-256 of the token, in hexadecimal>`, and is read again when it
changes. What is answered 200 is in the relay's memory and goes out with its next commit. Without TLS it is for a
network of its own, or behind a proxy that has it.
"""

import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from muster.agent.hub_copy import HubCopy
from muster.agent.relay import Relay
from muster.gitio.errors import RepositoryError
from muster.gitio.importing import checked_path
from muster.gitio.outcomes import Moved
from muster.model.agentref import is_cluster_name
from muster.model.tree import Tree, read_json

_PREFIX: Final = "/v1/agents/"
#: Of one connection: an agent that says nothing for so long is gone.
_IDLE_SECONDS: Final = 120.0
#: JSON writes some characters as six.
_OVERHEAD: Final = 6
#: How often it is looked whether the hub has said something.
_TURN_SECONDS: Final = 1.0


class Tokens:
    """Whose a token is, by a file."""

    def __init__(self, path: Path) -> None:
        self._path, self._seen, self._known = path, (0, 0), dict[str, str]()
        self._read()

    def is_of(self, cluster: str, token: str) -> bool:
        """Whether it is that cluster's."""
        self._read()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        return hmac.compare_digest(self._known.get(cluster, ""), digest)

    def _read(self) -> None:
        status = self._path.stat()
        seen = status.st_mtime_ns, status.st_size
        if seen != self._seen:
            lines = (line.split() for line in self._path.read_text(encoding="utf-8").splitlines())
            self._known = {words[0]: words[1].lower() for words in lines if len(words) == 2}
            self._seen = seen


class RelayServer(ThreadingHTTPServer):
    """Takes what agents say for a relay. `hub` tells what the hub says of each cluster."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], relay: Relay, tokens: Tokens, hub: HubCopy) -> None:
        super().__init__(address, _Handler)
        self.relay, self.tokens, self.hub = relay, tokens, hub
        self._turn = 0.0

    def service_actions(self) -> None:
        """Called again and again while it serves: what the hub says may be another by now."""
        if time.monotonic() >= self._turn:
            self._turn = time.monotonic() + _TURN_SECONDS
            with suppress(RepositoryError):
                self.hub.turn()


class _Handler(BaseHTTPRequestHandler):
    server: RelayServer
    protocol_version = "HTTP/1.1"
    timeout = _IDLE_SECONDS
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        cluster, _, rest = self.path.removeprefix(_PREFIX).partition("/")
        if not self._is_allowed(cluster):
            return
        if rest == "hub":
            try:
                view = self.server.hub.view(cluster)
            except RepositoryError as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": error.message})
                return
            said: Tree = {"accepted": view.accepted, "synced": view.synced, "leaseSeconds": view.lease_seconds}
            self._answer(HTTPStatus.OK, said)
        elif rest:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is nothing here"})
        else:
            standing = self.server.relay.look(cluster)
            files = {path: content.decode("utf-8", "replace") for path, content in standing.files.items()}
            self._answer(HTTPStatus.OK, {"commit": standing.commit, "files": files})

    def do_PUT(self) -> None:
        cluster = self.path.removeprefix(_PREFIX)
        if not self._is_allowed(cluster):  # before anything is read: a stranger is no reason to hold anything in memory
            self.close_connection = True
            return
        most = self.server.relay.limits.max_bytes * _OVERHEAD
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()) or int(length) > most:
            self.close_connection = True
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"more than {most} bytes, or of no length"})
            return
        try:
            expected, files = _read(self.rfile.read(int(length)))
            done = self.server.relay.post(cluster, expected, files)
        except ValueError as error:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
            return
        if isinstance(done, Moved):
            self._answer(HTTPStatus.CONFLICT, {"error": "it is not what it was"})
        else:
            self._answer(HTTPStatus.OK, {"commit": done.commit})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Nothing is logged: there are many."""

    def _is_allowed(self, cluster: str) -> bool:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        known = self.path.startswith(_PREFIX) and is_cluster_name(cluster)
        if known and scheme.lower() == "bearer" and self.server.tokens.is_of(cluster, token.strip()):
            return True
        self.send_response(HTTPStatus.UNAUTHORIZED)
        self.send_header("WWW-Authenticate", "Bearer")
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False

    def _answer(self, status: HTTPStatus, said: Tree) -> None:
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _read(body: bytes) -> tuple[str | None, Mapping[str, bytes]]:
    said = read_json(body)
    if not isinstance(said, dict) or not isinstance(said.get("files"), dict):
        raise ValueError("it is no mapping with files")  # noqa: TRY004 - what is sent is wrong, not a type
    expected, files = said.get("expected"), dict[str, bytes]()
    for path, text in said["files"].items():
        if not isinstance(text, str):
            raise ValueError("a file is a text")  # noqa: TRY004
        checked_path(path)
        files[path] = text.encode()
    if expected is not None and not isinstance(expected, str):
        raise ValueError("what is expected is a name")
    return expected, files
