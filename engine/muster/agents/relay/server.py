"""A relay's HTTP server, for agents that do not push and for collectors: they show a bearer token or a client
certificate.

A request that is answered 200 is in the relay's memory and part of its next commit. Without TLS the server belongs on a
network of its own, or behind a proxy that has TLS. `openapi.json` defines the messages. `/livez`,
`/healthz` and `/readyz` are for probes and need no token.
"""

import json
from contextlib import suppress
from http import HTTPStatus
from math import ceil
from typing import Final

from muster.agents.hub.local import LocalHub
from muster.agents.hub.protocol import PREFIX, encode_files, encode_view, read_hub_query, read_put
from muster.agents.relay.authentication import Authentication, RateLimit
from muster.agents.relay.collectors import (
    ALERTMANAGER,
    DOCUMENT,
    MOST_BYTES,
    REPORTS,
    Collectors,
    ForbiddenError,
    document,
)
from muster.agents.relay.relay import Relay
from muster.data.agentref import is_cluster_name
from muster.data.tree import Tree
from muster.git.errors import Moved, RepositoryError
from muster.net.serving.connection import AdmittedRequest
from muster.net.serving.http11 import HttpRequest, Response, response
from muster.net.serving.server import HttpServer

#: Requests per second of each sender, and how many seconds' worth of them may come at once.
DEFAULT_RATE: Final = 20.0
BURST_SECONDS: Final = 10.0
_METHODS: Final = {ALERTMANAGER: ("POST",), REPORTS: ("POST",), DOCUMENT: ("GET",)}
#: JSON writes some characters as six.
_OVERHEAD: Final = 6


class RelayServer(HttpServer):
    """Receives the files of agents and the reports of collectors for a relay, and tells agents what the hub says about
    their clusters. `limit` bounds the requests of each sender."""

    def __init__(
        self,
        address: tuple[str, int],
        relay: Relay,
        authentication: Authentication,
        hub: LocalHub,
        collectors: Collectors | None = None,
        limit: RateLimit | None = None,
    ) -> None:
        super().__init__(address, context=authentication.context)
        self.relay, self.authentication, self.hub = relay, authentication, hub
        self.collectors = collectors or Collectors(relay.collected, hub, relay.clock)
        self.limit = limit or RateLimit(DEFAULT_RATE, DEFAULT_RATE * BURST_SECONDS)

    def refresh(self) -> None:
        """Update the view of the hub."""
        with suppress(RepositoryError):
            self.hub.refresh()

    def probe(self, request: HttpRequest) -> Response | None:
        """`/livez` and `/healthz`: is the relay running? `/readyz`: did the hub take its last commit?"""
        if request.path in ("/livez", "/healthz"):
            return _health(self.relay.is_alive)
        return _health(self.relay.is_ready) if request.path == "/readyz" else None

    def admitted(self, request: HttpRequest) -> Response | AdmittedRequest:
        """Refuse unauthenticated requests before their body is read, so that they cannot fill the memory."""
        is_agents = request.path.startswith(PREFIX)
        methods = ("GET",) if request.path.endswith("/hub") else ("GET", "PUT")
        allowed = _METHODS.get(request.path, methods if is_agents else ())
        if allowed and request.method not in allowed:
            return response(HTTPStatus.METHOD_NOT_ALLOWED, Allow=", ".join(allowed))
        if request.path == DOCUMENT:
            return AdmittedRequest()
        sender = self._sender(request)
        if sender is None:
            return response(HTTPStatus.UNAUTHORIZED, WWW_Authenticate="Bearer")
        if wait := self.limit.wait_seconds(sender):
            return _json(
                HTTPStatus.TOO_MANY_REQUESTS,
                {"error": "too many requests with this token"},
                Retry_After=str(ceil(wait)),
            )
        if request.method == "GET":
            return AdmittedRequest()
        most = MOST_BYTES if request.method == "POST" else self.relay.limits.max_bytes * _OVERHEAD
        if request.length > most:
            return _json(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"more than {most} bytes"})
        return AdmittedRequest(most, sender)

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """Answer as `openapi.json` defines."""
        if request.path == DOCUMENT:
            return response(HTTPStatus.OK, document(), Content_Type="application/json")
        if request.method == "POST":
            return self._collect(request, body)
        cluster, _, rest = request.path.removeprefix(PREFIX).partition("/")
        if request.method == "PUT":
            return self._put(cluster, body) if not rest else _NOT_FOUND
        if rest == "hub":
            try:
                requests, works = read_hub_query(request.query)
                view = self.hub.view(cluster, requests, known_works=works)
                return _json(HTTPStatus.OK, encode_view(view, works))
            except RepositoryError as error:
                return _json(HTTPStatus.SERVICE_UNAVAILABLE, {"error": error.message})
            except ValueError as error:
                return _json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        if rest:
            return _NOT_FOUND
        contents, form = self.relay.look(cluster), self.relay.repository.object_format
        answer: Tree = {"commit": contents.commit, "files": encode_files(contents.files), "objectFormat": form}
        return _json(HTTPStatus.OK, answer)

    def _sender(self, request: HttpRequest) -> str | None:
        """Who sends a request, if it may be sent: the agent of the cluster in its path, or any collector."""
        if request.path in _METHODS:
            sender = self.authentication.sender(request)
            return None if sender is None else sender.name
        cluster = request.path.removeprefix(PREFIX).partition("/")[0]
        is_agent_path = request.path.startswith(PREFIX) and is_cluster_name(cluster)
        return cluster if is_agent_path and self.authentication.admits(cluster, request) else None

    def _collect(self, request: HttpRequest, body: bytes) -> Response:
        sender = self.authentication.sender(request)
        if sender is None:  # the token was removed meanwhile
            return response(HTTPStatus.UNAUTHORIZED, WWW_Authenticate="Bearer")
        take = self.collectors.take_alerts if request.path == ALERTMANAGER else self.collectors.take_reports
        try:
            return _json(HTTPStatus.OK, take(sender, body).tree())
        except ForbiddenError as error:
            return _json(HTTPStatus.FORBIDDEN, {"error": str(error)})
        except ValueError as error:
            return _json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        except RepositoryError as error:
            return _json(HTTPStatus.SERVICE_UNAVAILABLE, {"error": error.message})

    def _put(self, cluster: str, body: bytes) -> Response:
        try:
            expected, files = read_put(body)
            done = self.relay.post(cluster, expected, files)
        except ValueError as error:
            return _json(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        if isinstance(done, Moved):
            return _json(HTTPStatus.CONFLICT, {"error": "the files have changed meanwhile"})
        return _json(HTTPStatus.OK, {"commit": done.commit})


def _json(status: HTTPStatus, body: Tree, **headers: str) -> Response:
    return response(status, json.dumps(body).encode(), Content_Type="application/json", **headers)


def _health(healthy: bool) -> Response:  # noqa: FBT001 - the whole answer
    return response(HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE, b"ok\n" if healthy else b"not well\n")


_NOT_FOUND: Final = _json(HTTPStatus.NOT_FOUND, {"error": "there is nothing here"})
