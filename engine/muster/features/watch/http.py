"""What a watch answers over HTTP, to GET and HEAD: the page, whether it is well, its metrics, and when there is news.

    /           the page, and its files beside it; data of a commit with ?at=<commit>: 410 once there is another
    /events     server-sent events: a commit is there that can be shown
    /healthz    (and /livez) 200 while the loop looks when it said it would, else 503
    /readyz     200 once a run has completed, while the last look was good, else 503
    /metrics    for Prometheus

Names in a path are looked up, never opened: there is no folder behind it. Other sites may not use a browser to read:
names of the host that are not this machine's own are refused where nobody has to say who he is, so are requests that
pages of others make, and nothing of it may be put into a page of theirs.
"""

import base64
import binascii
import hashlib
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import Final
from urllib.parse import parse_qs

from muster.agents.serving.messages import HttpRequest, Response, response
from muster.agents.serving.server import HttpServer
from muster.agents.serving.tokens import ReloadedFile, matches_digest, token_digest
from muster.features.metrics.metrics import CONTENT_TYPE, Values
from muster.features.page.pages import ASSETS, asset
from muster.features.watch.live import Gone, Live, NothingYet

#: So many wait for events at one time.
_MOST_WAITING: Final = 32
#: How often something is said to who waits: else neither side notices that the other has gone.
_ALIVE_SECONDS: Final = 15.0
_HEADERS: Final = {
    "Content_Security_Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross_Origin_Resource_Policy": "same-origin",
    "Referrer_Policy": "no-referrer",
    "X_Content_Type_Options": "nosniff",
}
_TYPES: Final = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
                 "js": "text/javascript; charset=utf-8"}  # fmt: skip
#: Characters of a token: fewer could be tried.
_SHORTEST_TOKEN: Final = 16
_TEXT: Final = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Access:
    """Who gets in: with `tokens`, who has the one token; without, everybody whom the connection lets in. `hosts`: the
    names by which this machine may be asked for; empty for all."""

    tokens: ReloadedFile[str] | None = None
    hosts: frozenset[str] = frozenset()


class LiveServer(HttpServer):
    """Answers for a watch."""

    def __init__(
        self, address: tuple[str, int], live: Live, values: Values, access: Access,
        context: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        super().__init__(address, context=context)
        self.live, self.values, self.access = live, values, access
        self._waiting = BoundedSemaphore(_MOST_WAITING)

    def shutdown(self) -> None:
        """End, and let nobody wait any longer."""
        self.live.close()
        super().shutdown()

    def probe(self, request: HttpRequest) -> Response | None:
        """Whether the loop is well, for who has no token."""
        if request.path not in ("/livez", "/healthz", "/readyz"):
            return None
        if refused := self._elsewhere(request):
            return _say(refused, refused.phrase)
        if request.path == "/readyz":
            return _well(self.live.ready, "no run has completed yet, or the last look was not good")
        return _well(self.live.alive, "the loop does not look when it said it would")

    def admitted(self, request: HttpRequest) -> Response | int:
        """Nothing is changed here, so no body is taken."""
        if request.method not in ("GET", "HEAD"):
            return response(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, HEAD")
        if refused := self._elsewhere(request) or self._stranger(request):
            return _say(refused, refused.phrase)
        return 0

    def answer(self, request: HttpRequest, body: bytes) -> Response:  # noqa: ARG002 - there is none
        """The page, its data, what is counted, and news."""
        if request.path == "/metrics":
            return response(HTTPStatus.OK, self.values.text(), Content_Type=CONTENT_TYPE, **_HEADERS)
        if request.path == "/events":
            return self._events()
        return self._file(request)

    def _elsewhere(self, request: HttpRequest) -> HTTPStatus | None:
        """Why nothing is answered to another site; None where something is."""
        hosts, host = self.access.hosts, request.headers.get("host", "")
        name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if hosts and name.lower() not in hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        elsewhere = request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if elsewhere and request.headers.get("sec-fetch-mode") != "navigate":
            return HTTPStatus.FORBIDDEN
        return None

    def _stranger(self, request: HttpRequest) -> HTTPStatus | None:
        if self.access.tokens is None:
            return None
        token, digest = request.bearer, self.access.tokens()
        known = digest is not None and matches_digest(digest, _password(request) if token is None else token)
        return None if known else HTTPStatus.UNAUTHORIZED

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
            return _say(HTTPStatus.NOT_FOUND, "there is nothing here")
        except Gone:
            return _say(HTTPStatus.GONE, "there is something newer")
        except NothingYet:
            return _say(HTTPStatus.SERVICE_UNAVAILABLE, "no run has completed yet", Retry_After="1")
        known = {"ETag": tag, "Cache_Control": "private, no-cache", **_HEADERS}
        if request.headers.get("if-none-match") == tag:
            return response(HTTPStatus.NOT_MODIFIED, b"", **known)
        return response(HTTPStatus.OK, data, Content_Type=_TYPES[path.rpartition(".")[2]], **known)

    def _events(self) -> Response:
        """Tell of each commit until the other side goes."""
        if not self._waiting.acquire(blocking=False):
            return _say(HTTPStatus.SERVICE_UNAVAILABLE, "too many wait already", Retry_After="30")
        headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        return Response(HTTPStatus.OK, b"", headers, self._news(), self._waiting.release)

    def _news(self) -> Iterator[bytes]:
        known = ""
        while not self.live.closed:
            found = self.live.news(known, _ALIVE_SECONDS)
            yield b":\n\n" if found == known else f"event: revision\ndata: {found}\n\n".encode()
            known = found


def _password(request: HttpRequest) -> str:
    """What a browser sends when its user has typed the token: any name will do."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    try:
        said = base64.b64decode(text.strip(), validate=True).decode() if scheme.lower() == "basic" else ""
    except (binascii.Error, ValueError):
        return ""
    return said.partition(":")[2]


def _well(well: bool, why: str) -> Response:  # noqa: FBT001
    return _say(HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, "ok" if well else why)


def _say(status: HTTPStatus, text: str, **headers: str) -> Response:
    if status is HTTPStatus.UNAUTHORIZED:  # a browser asks its user, then
        headers["WWW_Authenticate"] = 'Basic realm="muster", charset="UTF-8"'
    return response(status, f"{text}\n".encode(), Content_Type=_TEXT, Cache_Control="no-store", **_HEADERS, **headers)


def token_of(text: str) -> str:
    """The digest of the token that a file holds. ValueError for one that is short enough to be guessed."""
    token = text.strip()
    if len(token) < _SHORTEST_TOKEN:
        raise ValueError(f"a token has {_SHORTEST_TOKEN} characters at least")
    return token_digest(token)
