"""The HTTP server of a watch: the page, health, metrics, and events, for GET and HEAD; and a webhook.

    /           the page and its files; data of a commit with ?at=<commit>: 410 once a newer one is shown
    /events     server-sent events: a new commit can be shown
    /healthz    (and /livez) 200 while the loop runs on time, else 503
    /readyz     200 once a run has completed, while the last run was good, else 503
    /metrics    for Prometheus, if the extra `metrics` is installed
    /webhook    POST: a forge's events, if there is a secret for them
    /api/v1/    what `get`, `explain`, `forecast`, `history` and `plan` print (`muster.features.api.routes`)

Paths are looked up in a list, never opened as files. Other sites cannot read it through a browser: without a token only
this machine's own host names are accepted, cross-site requests are refused, and the page cannot be framed.
"""

import base64
import binascii
import hashlib
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from muster.dataclass import dataclass
from muster.features.api.routes import PREFIX, FleetApi
from muster.features.page.pages import ASSETS, asset
from muster.features.watch.live import Gone, Live, NothingYet
from muster.features.watch.webhooks import PATH as WEBHOOK
from muster.net.serving.connection import AdmittedRequest
from muster.net.serving.http11 import HttpRequest, Response, response
from muster.net.serving.server import HttpServer
from muster.net.serving.tokens import ReloadedFile, check_length, matches_digest, token_digest

if TYPE_CHECKING:
    from muster.features.metrics.metrics import Values
    from muster.features.watch.webhooks import Webhook

#: How many clients may wait for events at a time.
_MAX_WAITING: Final = 32
#: How often a waiting client gets a line, so that both sides notice a lost connection.
_ALIVE_SECONDS: Final = 15.0
_HEADERS: Final = {
    "Content_Security_Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross_Origin_Resource_Policy": "same-origin",
    "Referrer_Policy": "no-referrer",
    "X_Content_Type_Options": "nosniff",
}
_TYPES: Final = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read: with `tokens` clients with the token; without, all that can connect. `hosts`: the accepted host
    names; empty for all."""

    tokens: ReloadedFile[str] | None = None
    hosts: frozenset[str] = frozenset()


class LiveServer(HttpServer):
    """Serves a watch."""

    def __init__(
        self,
        address: tuple[str, int],
        live: Live,
        values: "Values | None",
        access: Access,
        context: ssl.SSLContext | None = None,
        webhook: "Webhook | None" = None,
    ) -> None:
        super().__init__(address, context=context)
        self._webhook = webhook
        self.live, self.values, self.access = live, values, access
        self._api = FleetApi(live.seen, _HEADERS)
        self._waiting = BoundedSemaphore(_MAX_WAITING)

    def shutdown(self) -> None:
        """Shut down, and wake waiting clients."""
        self.live.close()
        super().shutdown()

    def probe(self, request: HttpRequest) -> Response | None:
        """Answer health checks, which need no token."""
        if request.path not in ("/livez", "/healthz", "/readyz"):
            return None
        if refused := self._cross_site(request):
            return _say(refused, refused.phrase)
        if request.path == "/readyz":
            return _well(self.live.ready, "no run has completed yet, or the last one failed")
        return _well(self.live.alive, "the loop is late")

    def admitted(self, request: HttpRequest) -> Response | AdmittedRequest:
        """Refuse all methods but GET and HEAD, cross-site requests, and clients without the token. An event for the
        webhook has a signature instead."""
        if self._webhook is not None and request.path == WEBHOOK:
            return self._webhook.admitted(request)
        if request.method not in ("GET", "HEAD"):
            return response(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, HEAD")
        if refused := self._cross_site(request) or self._unauthorized(request):
            return _say(refused, refused.phrase)
        return AdmittedRequest()

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """Answer with the page, its data, metrics, or events; take an event of a forge."""
        if self._webhook is not None and request.path == WEBHOOK:
            return self._webhook.answer(request, body)
        if request.path == "/metrics":
            if self.values is None:
                return _say(HTTPStatus.NOT_FOUND, "not served: the extra `metrics` is not installed")
            from muster.features.metrics.metrics import CONTENT_TYPE  # needs the extra `metrics`

            return response(HTTPStatus.OK, self.values.text(), Content_Type=CONTENT_TYPE, **_HEADERS)
        if request.path == "/events":
            return self._events()
        if request.path.startswith(PREFIX):
            return self._api.answer(request)
        return self._file(request)

    def _cross_site(self, request: HttpRequest) -> HTTPStatus | None:
        """The status for a cross-site request; None for others."""
        hosts, host = self.access.hosts, request.headers.get("host", "")
        name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if hosts and name.lower() not in hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        elsewhere = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if elsewhere and request.headers.get("sec-fetch-mode") != "navigate":
            return HTTPStatus.FORBIDDEN
        return None

    def _unauthorized(self, request: HttpRequest) -> HTTPStatus | None:
        if self.access.tokens is None:
            return None
        token, digest = request.bearer, self.access.tokens()
        accepted = digest is not None and matches_digest(digest, _password(request) if token is None else token)
        return None if accepted else HTTPStatus.UNAUTHORIZED

    def _file(self, request: HttpRequest) -> Response:
        path = request.path.removeprefix("/") or "index.html"
        try:
            if path in ASSETS:
                data = asset(path)
                tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
            else:
                data, shown = self.live.file(path, parse_qs(request.query).get("at", [""])[0])
                tag = f'"{shown}"'
        except KeyError:
            return _say(HTTPStatus.NOT_FOUND, "not found")
        except Gone:
            return _say(HTTPStatus.GONE, "a newer commit is shown")
        except NothingYet:
            return _say(HTTPStatus.SERVICE_UNAVAILABLE, "no run has completed yet", Retry_After="1")
        headers = {"ETag": tag, "Cache_Control": "private, no-cache", **_HEADERS}
        if request.headers.get("if-none-match") == tag:
            return response(HTTPStatus.NOT_MODIFIED, b"", **headers)
        return response(HTTPStatus.OK, data, Content_Type=_TYPES[path.rpartition(".")[2]], **headers)

    def _events(self) -> Response:
        """Send an event for each commit until the client disconnects."""
        if not self._waiting.acquire(blocking=False):
            return _say(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients are waiting", Retry_After="30")
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        return Response(HTTPStatus.OK, b"", headers, self._news(), self._waiting.release)

    def _news(self) -> Iterator[bytes]:
        version = ""
        while not self.live.closed:
            newer = self.live.news(version, _ALIVE_SECONDS)
            yield b":\n\n" if newer == version else f"event: revision\ndata: {newer}\n\n".encode()
            version = newer


def _password(request: HttpRequest) -> str:
    """The password of basic authentication, which is the token; any user name will do."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    try:
        credentials = base64.b64decode(text.strip(), validate=True).decode() if scheme.lower() == "basic" else ""
    except (binascii.Error, ValueError):
        return ""
    return credentials.partition(":")[2]


def _well(well: bool, why: str) -> Response:  # noqa: FBT001
    return _say(HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, "ok" if well else why)


def _say(status: HTTPStatus, text: str, **headers: str) -> Response:
    if status is HTTPStatus.UNAUTHORIZED:  # makes a browser ask its user
        headers["WWW_Authenticate"] = 'Basic realm="muster", charset="UTF-8"'
    return response(status, f"{text}\n".encode(), Content_Type=_TEXT, Cache_Control="no-store", **_HEADERS, **headers)


def token_of(text: str) -> str:
    """The digest of the token in a file. ValueError for a token that is too short."""
    return token_digest(check_length(text))
