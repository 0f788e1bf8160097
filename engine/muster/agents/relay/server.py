"""A relay's HTTP server, for agents that do not push: they show a bearer token or a client certificate.

A request that is answered 200 is in the relay's memory and part of its next commit. Without TLS the server belongs on a
network of its own, or behind a proxy that has TLS. `muster.agents.relay.protocol` defines the messages. `/livez`,
`/healthz` and `/readyz` are for probes and need no token.
"""

import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final

from muster.agents.hub.local import HubCopy
from muster.agents.relay.protocol import PREFIX, put, requests_of, texts, view_text
from muster.agents.relay.relay import Relay
from muster.agents.serving.messages import HttpRequest, Response, response
from muster.agents.serving.server import HttpServer
from muster.agents.serving.tokens import Reread, is_same
from muster.data.agentref import is_cluster_name
from muster.data.tree import Tree
from muster.git.errors import Moved, RepositoryError


class Tokens:
    """Whose a token is, by a file of lines `<cluster> <SHA-256 of the token, in hexadecimal>`. It is read again when it
    changes."""

    def __init__(self, path: Path) -> None:
        self._known = Reread(path, _read)

    def is_of(self, cluster: str, token: str) -> bool:
        """Whether it is that cluster's."""
        return is_same((self._known() or {}).get(cluster, ""), token)


def _read(text: str) -> dict[str, str]:
    lines = (line.split() for line in text.splitlines())
    return {words[0]: words[1].lower() for words in lines if len(words) == 2}


@dataclass(frozen=True, slots=True)
class Certificates:
    """Whose a certificate is that a connection showed, and that its authority signed: it has to stand at the hub, too,
    where one that was revoked or replaced does not stand any more."""

    hub: HubCopy
    clock: Callable[[], datetime]

    def is_of(self, cluster: str, shown: bytes) -> bool:
        """Whether it is that cluster's. `shown` is DER."""
        from muster.git.signatures.certificate import issued_of

        found = issued_of(ssl.DER_cert_to_PEM_cert(shown).encode())
        if found is None or found.cluster != cluster:
            return False
        standing = ((one.user, one.key) for one in self.hub.issued(cluster))
        return (found.user, found.key) in standing and found.begin <= self.clock() < found.end


#: JSON writes some characters as six.
_OVERHEAD: Final = 6


@dataclass(frozen=True, slots=True)
class Doors:
    """Who gets in. With a `context` connections are TLS; without `tokens` or `certificates` nobody does by those."""

    tokens: Tokens | None = None
    certificates: Certificates | None = None
    context: ssl.SSLContext | None = None


class RelayServer(HttpServer):
    """Takes what agents say for a relay. `hub` tells what the hub says of each cluster."""

    def __init__(self, address: tuple[str, int], relay: Relay, doors: Doors, hub: HubCopy) -> None:
        super().__init__(address, context=doors.context)
        self.relay, self.doors, self.hub = relay, doors, hub

    def turn(self) -> None:
        """What the hub says may be another by now."""
        with suppress(RepositoryError):
            self.hub.turn()

    def probe(self, request: HttpRequest) -> Response | None:
        """`/livez` and `/healthz`: does the relay go on? `/readyz`: did the hub take its last commit?"""
        if request.path in ("/livez", "/healthz"):
            return _well(self.relay.is_alive)
        return _well(self.relay.is_ready) if request.path == "/readyz" else None

    def admitted(self, request: HttpRequest) -> Response | int:
        """Strangers are refused before any of their body is read: they are no reason to hold anything in memory."""
        if request.method not in ("GET", "PUT"):
            return response(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, PUT")
        cluster = request.path.removeprefix(PREFIX).partition("/")[0]
        if not (request.path.startswith(PREFIX) and is_cluster_name(cluster) and self._is_known(cluster, request)):
            return response(HTTPStatus.UNAUTHORIZED, WWW_Authenticate="Bearer")
        if request.method == "GET":
            return 0
        most = self.relay.limits.max_bytes * _OVERHEAD
        if request.length > most:
            return _said(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"more than {most} bytes"})
        return most

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """As `muster.agents.relay.protocol` has it."""
        cluster, _, rest = request.path.removeprefix(PREFIX).partition("/")
        if request.method == "PUT":
            return self._put(cluster, body) if not rest else _NOTHING
        if rest == "hub":
            try:
                return _said(HTTPStatus.OK, view_text(self.hub.view(cluster, requests_of(request.query))))
            except RepositoryError as error:
                return _said(HTTPStatus.SERVICE_UNAVAILABLE, {"error": error.message})
            except ValueError:
                return _said(HTTPStatus.BAD_REQUEST, {"error": "it asks for too much"})
        if rest:
            return _NOTHING
        standing, form = self.relay.look(cluster), self.relay.repository.object_format
        return _said(
            HTTPStatus.OK, {"commit": standing.commit, "files": texts(standing.files), "objectFormat": form}
        )  # fmt: skip

    def _put(self, cluster: str, body: bytes) -> Response:
        try:
            expected, files = put(body)
            done = self.relay.post(cluster, expected, files)
        except ValueError as error:
            return _said(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        if isinstance(done, Moved):
            return _said(HTTPStatus.CONFLICT, {"error": "it is not what it was"})
        return _said(HTTPStatus.OK, {"commit": done.commit})

    def _is_known(self, cluster: str, request: HttpRequest) -> bool:
        doors, token, shown = self.doors, request.bearer, request.certificate
        if doors.tokens and token is not None and doors.tokens.is_of(cluster, token):
            return True
        return doors.certificates is not None and shown is not None and doors.certificates.is_of(cluster, shown)


def _said(status: HTTPStatus, said: Tree) -> Response:
    return response(status, json.dumps(said).encode(), Content_Type="application/json")


def _well(well: bool) -> Response:  # noqa: FBT001 - a probe has one question
    return response(HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, b"ok\n" if well else b"not well\n")


_NOTHING: Final = _said(HTTPStatus.NOT_FOUND, {"error": "there is nothing here"})
