"""What a watch answers over HTTP, to GET and HEAD: the page, whether it is well, its metrics, and when there is news.

    /           the page, and its files beside it; data of a commit with ?at=<commit>: 410 once there is another
    /events     server-sent events: a commit is there that can be shown
    /healthz    200 while the loop looks when it said it would, else 503
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
from dataclasses import dataclass
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import Final
from urllib.parse import parse_qs

from muster.acts.live import Gone, Live, NothingYet
from muster.output.metrics import CONTENT_TYPE, Values
from muster.output.site.pages import ASSETS, asset
from muster.serving.server import Handler, Server
from muster.serving.tokens import Reread, digest_of, is_same

#: So many connections at one time, and so many of them that wait for events.
MOST: Final = 64
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

    tokens: Reread[str] | None = None
    hosts: frozenset[str] = frozenset()


class LiveServer(Server):
    """Answers for a watch."""

    def __init__(
        self, address: tuple[str, int], live: Live, values: Values, access: Access,
        context: ssl.SSLContext | None = None,
    ) -> None:  # fmt: skip
        super().__init__(address, _Handler, context=context, most=MOST)
        self.live, self.values, self.access = live, values, access
        self.waiting = BoundedSemaphore(_MOST_WAITING)

    def shutdown(self) -> None:
        """End, and let nobody wait any longer."""
        self.live.close()
        super().shutdown()


class _Handler(Handler):
    server: LiveServer
    timeout = 30.0
    request_seconds = 15.0

    def do_GET(self) -> None:  # noqa: N802 - the base class names it so
        path, _, query = self.path.partition("?")
        refused = self._refused(path)
        if refused is not None:
            self._say(refused, refused.phrase)
        elif path == "/healthz":
            self._well(self.server.live.alive, "the loop does not look when it said it would")
        elif path == "/readyz":
            self._well(self.server.live.ready, "no run has completed yet, or the last look was not good")
        elif path == "/metrics":
            self.answer(HTTPStatus.OK, self.server.values.text(), Content_Type=CONTENT_TYPE, **_HEADERS)
        elif path == "/events":
            self._events()
        else:
            self._file(path.removeprefix("/") or "index.html", query)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:  # noqa: N802
        """Nothing is changed here."""
        self.close_connection = True
        self.answer(HTTPStatus.METHOD_NOT_ALLOWED, Allow="GET, HEAD")

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_POST  # noqa: N815

    def _refused(self, path: str) -> HTTPStatus | None:
        """Why nothing is answered; None where something is."""
        hosts, host = self.server.access.hosts, self.headers.get("Host", "")
        name = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        if hosts and name.lower() not in hosts:
            return HTTPStatus.MISDIRECTED_REQUEST
        elsewhere = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        if elsewhere and self.headers.get("Sec-Fetch-Mode") != "navigate":
            return HTTPStatus.FORBIDDEN
        return None if path in ("/healthz", "/readyz") or self._is_known() else HTTPStatus.UNAUTHORIZED

    def _is_known(self) -> bool:
        if self.server.access.tokens is None:
            return True
        token, digest = self.bearer(), self.server.access.tokens()
        return digest is not None and is_same(digest, self._password() if token is None else token)

    def _password(self) -> str:
        """What a browser sends when its user has typed the token: any name will do."""
        scheme, _, text = self.headers.get("Authorization", "").partition(" ")
        try:
            said = base64.b64decode(text.strip(), validate=True).decode() if scheme.lower() == "basic" else ""
        except (binascii.Error, ValueError):
            return ""
        return said.partition(":")[2]

    def _well(self, well: bool, why: str) -> None:  # noqa: FBT001
        self._say(HTTPStatus.OK if well else HTTPStatus.SERVICE_UNAVAILABLE, "ok" if well else why)

    def _file(self, path: str, query: str) -> None:
        try:
            if path in ASSETS:
                data = asset(path)
                tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
            else:
                data, shown = self.server.live.file(path, parse_qs(query).get("at", [""])[0])
                tag = f'"{shown}"'
        except KeyError:
            self._say(HTTPStatus.NOT_FOUND, "there is nothing here")
        except Gone:
            self._say(HTTPStatus.GONE, "there is something newer")
        except NothingYet:
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, "no run has completed yet", Retry_After="1")
        else:
            known = {"ETag": tag, "Cache_Control": "private, no-cache", **_HEADERS}
            if self.headers.get("If-None-Match") == tag:
                self.answer(HTTPStatus.NOT_MODIFIED, b"", **known)
            else:
                self.answer(HTTPStatus.OK, data, Content_Type=_TYPES[path.rpartition(".")[2]], **known)

    def _events(self) -> None:
        """Tell of each commit until the other side goes."""
        if not self.server.waiting.acquire(blocking=False):
            self._say(HTTPStatus.SERVICE_UNAVAILABLE, "too many wait already", Retry_After="30")
            return
        try:
            self.close_connection = True
            self.send_response(HTTPStatus.OK)
            for name, value in {"Content-Type": "text/event-stream", "Cache-Control": "no-store",
                                "Connection": "close"}.items():  # fmt: skip
                self.send_header(name, value)
            self.end_headers()
            known, live = "", self.server.live
            while self.command != "HEAD" and not live.closed:
                found = live.news(known, _ALIVE_SECONDS)
                self.wfile.write(b":\n\n" if found == known else f"event: revision\ndata: {found}\n\n".encode())
                known = found
        finally:
            self.server.waiting.release()

    def _say(self, status: HTTPStatus, text: str, **headers: str) -> None:
        if status is HTTPStatus.UNAUTHORIZED:  # a browser asks its user, then
            headers["WWW_Authenticate"] = 'Basic realm="muster", charset="UTF-8"'
        self.answer(status, f"{text}\n".encode(), Content_Type=_TEXT, Cache_Control="no-store", **_HEADERS, **headers)


def token_of(text: str) -> str:
    """The digest of the token that a file holds. ValueError for one that is short enough to be guessed."""
    token = text.strip()
    if len(token) < _SHORTEST_TOKEN:
        raise ValueError(f"a token has {_SHORTEST_TOKEN} characters at least")
    return digest_of(token)
