"""A relay's HTTP side, for agents that do not push: each says who it is by a bearer token, or a client certificate.

What is answered 200 is in the relay's memory and goes out with its next commit. Without TLS it is for a network of its
own, or behind a proxy that has it. `muster.agent.relay_wire` has what is sent.
"""

import json
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from muster.agent.hub_copy import HubCopy
from muster.agent.relay import Relay
from muster.agent.relay_access import Certificates, Tokens
from muster.agent.relay_wire import PREFIX, put, requests_of, texts, view_text
from muster.gitio.errors import RepositoryError
from muster.gitio.outcomes import Moved
from muster.model.agentref import is_cluster_name
from muster.model.tree import Tree
from muster.serving.server import Handler, Server

#: JSON writes some characters as six.
_OVERHEAD: Final = 6
#: How often it is looked whether the hub has said something.
_TURN_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Doors:
    """Who gets in. With a `context` connections are TLS; without `tokens` or `certificates` nobody does by those."""

    tokens: Tokens | None = None
    certificates: Certificates | None = None
    context: ssl.SSLContext | None = None


class RelayServer(Server):
    """Takes what agents say for a relay. `hub` tells what the hub says of each cluster."""

    def __init__(self, address: tuple[str, int], relay: Relay, doors: Doors, hub: HubCopy) -> None:
        super().__init__(address, _Handler, context=doors.context)
        self.relay, self.doors, self.hub = relay, doors, hub
        self._turn = 0.0

    def service_actions(self) -> None:
        """Called again and again while it serves: what the hub says may be another by now."""
        if time.monotonic() >= self._turn:
            self._turn = time.monotonic() + _TURN_SECONDS
            with suppress(RepositoryError):
                self.hub.turn()


class _Handler(Handler):
    server: RelayServer

    def do_GET(self) -> None:  # noqa: N802 - the base class names it so
        path, _, query = self.path.partition("?")
        cluster, _, rest = path.removeprefix(PREFIX).partition("/")
        if not self._is_allowed(cluster):
            return
        if rest == "hub":
            try:
                self._answer(HTTPStatus.OK, view_text(self.server.hub.view(cluster, requests_of(query))))
            except RepositoryError as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": error.message})
            except ValueError:
                self._answer(HTTPStatus.BAD_REQUEST, {"error": "it asks for too much"})
        elif rest:
            self._answer(HTTPStatus.NOT_FOUND, {"error": "there is nothing here"})
        else:
            standing, form = self.server.relay.look(cluster), self.server.relay.repository.object_format
            said: Tree = {"commit": standing.commit, "files": texts(standing.files), "objectFormat": form}
            self._answer(HTTPStatus.OK, said)

    def do_PUT(self) -> None:  # noqa: N802 - the base class names it so
        cluster = self.path.removeprefix(PREFIX)
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
            expected, files = put(self.rfile.read(int(length)))
            done = self.server.relay.post(cluster, expected, files)
        except ValueError as error:
            self._answer(HTTPStatus.BAD_REQUEST, {"error": str(error)})
            return
        if isinstance(done, Moved):
            self._answer(HTTPStatus.CONFLICT, {"error": "it is not what it was"})
        else:
            self._answer(HTTPStatus.OK, {"commit": done.commit})

    def _is_allowed(self, cluster: str) -> bool:
        if self.path.startswith(PREFIX) and is_cluster_name(cluster) and self._is_known(cluster):
            return True
        self.answer(HTTPStatus.UNAUTHORIZED, WWW_Authenticate="Bearer")
        return False

    def _is_known(self, cluster: str) -> bool:
        doors, connection = self.server.doors, self.connection
        token = self.bearer()
        if doors.tokens and token is not None and doors.tokens.is_of(cluster, token):
            return True
        shown = connection.getpeercert(binary_form=True) if isinstance(connection, ssl.SSLSocket) else None
        return doors.certificates is not None and shown is not None and doors.certificates.is_of(cluster, shown)

    def _answer(self, status: HTTPStatus, said: Tree) -> None:
        self.answer(status, json.dumps(said).encode(), Content_Type="application/json")
