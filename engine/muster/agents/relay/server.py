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

from muster.agents.hub.local import LocalHub
from muster.agents.relay.protocol import PREFIX, encode_files, encode_view, read_put, requests_of
from muster.agents.relay.relay import Relay
from muster.agents.serving.messages import HttpRequest, Response, response
from muster.agents.serving.server import HttpServer
from muster.agents.serving.tokens import ReloadedFile, matches_digest
from muster.data.agentref import is_cluster_name
from muster.data.tree import Tree
from muster.git.errors import Moved, RepositoryError

#: JSON writes some characters as six.
_OVERHEAD: Final = 6


class TokenFile:
    """The agents' tokens: a file of lines `<cluster> <SHA-256 of the token, in hexadecimal>`, reloaded on changes."""

    def __init__(self, path: Path) -> None:
        self._digests = ReloadedFile(path, _read_digests)

    def admits(self, cluster: str, token: str) -> bool:
        """Does the token belong to the cluster?"""
        return matches_digest((self._digests() or {}).get(cluster, ""), token)


def _read_digests(text: str) -> dict[str, str]:
    lines = (line.split() for line in text.splitlines())
    return {words[0]: words[1].lower() for words in lines if len(words) == 2}


@dataclass(frozen=True, slots=True)
class ClientCertificates:
    """The agents' certificates.

    TLS has verified that the authority signed a certificate. It must also be at the hub, which no longer has one that
    was revoked or replaced.
    """

    hub: LocalHub
    clock: Callable[[], datetime]

    def admits(self, cluster: str, certificate: bytes) -> bool:
        """Does the certificate (DER) belong to the cluster?"""
        from muster.git.signatures.certificate import issued_of  # needs the extra `identity`

        found = issued_of(ssl.DER_cert_to_PEM_cert(certificate).encode())
        if found is None or found.cluster != cluster:
            return False
        issued = ((one.user, one.key) for one in self.hub.issued(cluster))
        return (found.user, found.key) in issued and found.begin <= self.clock() < found.end


@dataclass(frozen=True, slots=True)
class Authentication:
    """How agents authenticate: by tokens, by certificates, or by either. With a `context` connections use TLS."""

    tokens: TokenFile | None = None
    certificates: ClientCertificates | None = None
    context: ssl.SSLContext | None = None

    def admits(self, cluster: str, request: HttpRequest) -> bool:
        """Does the request come from an agent of the cluster?"""
        token, certificate = request.bearer, request.certificate
        if self.tokens and token is not None and self.tokens.admits(cluster, token):
            return True
        return self.certificates is not None and certificate is not None and (
            self.certificates.admits(cluster, certificate)
        )  # fmt: skip


class RelayServer(HttpServer):
    """Receives the files of agents for a relay, and tells them what the hub says about their clusters."""

    def __init__(self, address: tuple[str, int], relay: Relay, authentication: Authentication, hub: LocalHub) -> None:
        super().__init__(address, context=authentication.context)
        self.relay, self.authentication, self.hub = relay, authentication, hub

    def refresh(self) -> None:
        """Update the view of the hub."""
        with suppress(RepositoryError):
            self.hub.refresh()

    def probe(self, request: HttpRequest) -> Response | None:
        """`/livez` and `/healthz`: is the relay running? `/readyz`: did the hub take its last commit?"""
        if request.path in ("/livez", "/healthz"):
            return _health(self.relay.is_alive)
        return _health(self.relay.is_ready) if request.path == "/readyz" else None

    def admitted(self, request: HttpRequest) -> Response | int:
        """Refuse unauthenticated requests before their body is read, so that they cannot fill the memory."""
        if request.method not in ("GET", "PUT"):
            return response(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, PUT")
        cluster = request.path.removeprefix(PREFIX).partition("/")[0]
        is_agent_path = request.path.startswith(PREFIX) and is_cluster_name(cluster)
        if not (is_agent_path and self.authentication.admits(cluster, request)):
            return response(HTTPStatus.UNAUTHORIZED, WWW_Authenticate="Bearer")
        if request.method == "GET":
            return 0
        most = self.relay.limits.max_bytes * _OVERHEAD
        if request.length > most:
            return _json(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"more than {most} bytes"})
        return most

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """Answer as `muster.agents.relay.protocol` defines."""
        cluster, _, rest = request.path.removeprefix(PREFIX).partition("/")
        if request.method == "PUT":
            return self._put(cluster, body) if not rest else _NOT_FOUND
        if rest == "hub":
            try:
                return _json(HTTPStatus.OK, encode_view(self.hub.view(cluster, requests_of(request.query))))
            except RepositoryError as error:
                return _json(HTTPStatus.SERVICE_UNAVAILABLE, {"error": error.message})
            except ValueError:
                return _json(HTTPStatus.BAD_REQUEST, {"error": "it asks for too much"})
        if rest:
            return _NOT_FOUND
        known, form = self.relay.look(cluster), self.relay.repository.object_format
        found: Tree = {"commit": known.commit, "files": encode_files(known.files), "objectFormat": form}
        return _json(HTTPStatus.OK, found)

    def _put(self, cluster: str, body: bytes) -> Response:
        try:
            expected, files = read_put(body)
            done = self.relay.post(cluster, expected, files)
        except ValueError as error:
            return _json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        if isinstance(done, Moved):
            return _json(HTTPStatus.CONFLICT, {"error": "the files have changed meanwhile"})
        return _json(HTTPStatus.OK, {"commit": done.commit})


def _json(status: HTTPStatus, body: Tree) -> Response:
    return response(status, json.dumps(body).encode(), Content_Type="application/json")


def _health(healthy: bool) -> Response:  # noqa: FBT001 - the whole answer
    return response(HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE, b"ok\n" if healthy else b"not well\n")


_NOT_FOUND: Final = _json(HTTPStatus.NOT_FOUND, {"error": "there is nothing here"})
