"""Requests to an API server: the one client of agents, of relays that read a hub, and of `muster sync`.

Files with tokens, certificates and authorities are read for each request, because they are renewed in place. A
connection is kept while they are the same.
"""

import base64
import ipaddress
import json
import socket
import ssl
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from http import HTTPStatus
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

import urllib3
from urllib3.connection import HTTPConnection

from muster.agents.kube.plugin import AccessError, Credential, LoginPlugin
from muster.agents.kube.readiness import DOUBTFUL, Readiness
from muster.data.tree import Tree, dig, mappings_at, read_json
from muster.dataclass import dataclass
from muster.net.deadline import Deadline
from muster.net.http import bounded, exchange, new_pool

_MOST_BYTES: Final = 64 * 1024 * 1024
_QUOTED: Final = 200  # characters of an answer that a message repeats
#: As many objects are asked for in one answer.
PAGE: Final = 500

#: A watch that waits for a server that is gone would not notice it: TCP asks after 15 seconds of silence.
_KEEPALIVE: Final = [
    *HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))
        if hasattr(socket, name)
    ),
]

#: A file's content, or where it is.
Content = bytes | Path


class ApiError(Exception):
    """The server refused a request (`status`), or did not answer (0)."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status

    @property
    def is_outage(self) -> bool:
        """Did the server not answer, or say that it cannot now? Whatever the reason is called, it is one outage."""
        return self.status in (
            0,
            HTTPStatus.TOO_MANY_REQUESTS,
            HTTPStatus.SERVICE_UNAVAILABLE,
            HTTPStatus.GATEWAY_TIMEOUT,
        )

    @property
    def trouble(self) -> str:
        """What is said once while it lasts: its text, but all outages are one trouble."""
        return "outage" if self.is_outage else str(self)


@dataclass(frozen=True, slots=True)
class Login:
    """How requests authenticate: by the first of what is given; a client certificate goes beside each of them."""

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    password: tuple[str, str] | None = field(default=None, repr=False)
    plugin: LoginPlugin | None = None
    certificate: Content = b""
    key: Content = field(default=b"", repr=False)
    #: Headers that ask to act as somebody else.
    impersonation: tuple[tuple[str, str], ...] = ()

    def credential(self) -> Credential:
        """Return what to use now. AccessError if it cannot be had."""
        certificate, key = read_content(self.certificate), read_content(self.key)
        token = self._file_token() or self.token
        if not token and self.password is None and self.plugin is not None:
            return self.plugin.credential()
        return Credential(token, certificate, key)

    def headers(self, credential: Credential) -> list[tuple[str, str]]:
        """Return the headers of a request."""
        headers = list(self.impersonation)
        if credential.token:
            headers.append(("Authorization", f"Bearer {credential.token}"))
        elif self.password is not None:
            encoded = base64.b64encode(":".join(self.password).encode()).decode()
            headers.append(("Authorization", f"Basic {encoded}"))
        return headers

    def _file_token(self) -> str:
        if self.token_file is None:
            return ""
        try:
            return self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            if self.token:
                return ""
            raise AccessError(f"the token cannot be read: {error}") from error


@dataclass(frozen=True, slots=True)
class _Material:
    """What a connection was opened with."""

    authority: bytes
    certificate: bytes
    key: bytes


@dataclass
class ApiServer:
    """An API server. Methods that return objects raise ApiError. Thread-safe.

    `authority` signed its certificate (empty: one that the system trusts); `server_name` is the name in it, if that is
    not the URL's. `proxy` None: as the environment says. `limit_seconds` is for one exchange, `list_seconds` for all
    pages of a collection. A refusal by a server that is not ready counts as no answer.
    """

    url: str
    login: Login = field(default_factory=Login)
    authority: Content = b""
    verify: bool = True
    server_name: str = ""
    proxy: str | None = None
    limit_seconds: float = 10.0
    list_seconds: float = 60.0
    _material: _Material | None = None
    _pool: urllib3.PoolManager | None = None
    _lock: Lock = field(default_factory=Lock)
    _readiness: Readiness | None = None

    def __post_init__(self) -> None:
        self._readiness = self._readiness or Readiness(self._status)

    def acting_as(self, user: str) -> "ApiServer":
        """Return the same server, asked as another user. The credential must have the right to impersonate it."""
        login = replace(self.login, impersonation=(("Impersonate-User", user),))
        return replace(self, login=login, _material=None, _pool=None, _lock=Lock())

    def get(self, path: str) -> tuple[int, str]:
        """Return the status code (0: no answer) and the start of the answer in one line."""
        try:
            code, body = self._answer("GET", path)
        except ApiError as error:
            return 0, str(error)
        return code, " ".join(body.decode("utf-8", "replace").split())[:_QUOTED]

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Tree = None,
        form: str = "json",
        deadline: Deadline | None = None,
    ) -> dict[str, Tree]:
        """Return the object that the server answers; empty if it answers nothing."""
        query = {name: value for name, value in (query or {}).items() if value}
        target = f"{path}?{urlencode(query)}" if query else path
        deadline = deadline or Deadline.after(self.limit_seconds)
        code, data = self._answer(method, target, body, form, deadline)
        if code in DOUBTFUL:
            self._require_ready(code)
            # It may have become ready since it refused; what a server that is ready refuses again, it means.
            code, data = self._answer(method, target, body, form, deadline, renews=False)
        try:
            answer = read_json(data) if data else {}
        except ValueError:
            answer = None
        if code >= HTTPStatus.MULTIPLE_CHOICES:
            raise ApiError(code, str(dig(answer, "message") or f"{method} {path}: status {code}"))
        if not isinstance(answer, dict):
            raise ApiError(0, f"{method} {path}: the answer is not an object")
        if method == "GET" and not self.login.impersonation and self._readiness is not None:
            self._readiness.answered(path)
        return answer

    def get_json(self, path: str, deadline: Deadline | None = None) -> dict[str, Tree]:
        """Return the object at a path."""
        return self.request("GET", path, deadline=deadline)

    def list(self, path: str, **query: str) -> Iterator[dict[str, Tree]]:
        """Yield the objects of a collection, which are asked for in pages."""
        for page in self.pages(path, **query):
            yield from mappings_at(page, "items")

    def pages(self, path: str, **query: str) -> Iterator[dict[str, Tree]]:
        """Yield the pages of a collection, all of one `metadata.resourceVersion`.

        The server has `list_seconds` for all of them; what the caller does with a page takes none of these.
        """
        after, deadline = "", Deadline.after(self.list_seconds)
        while True:
            of_page = min(deadline, Deadline.after(self.limit_seconds), key=lambda limit: limit.at)
            page = self.request("GET", path, {"limit": str(PAGE), "continue": after, **query}, deadline=of_page)
            given = monotonic()
            yield page
            deadline = deadline.later(monotonic() - given)
            before, after = after, str(dig(page, "metadata", "continue") or "")
            if not after:
                return
            if after == before:
                raise ApiError(0, f"GET {path}: the API server gives the same page again and again")

    def watch(
        self, path: str, seconds: float, begun: Callable[[], None] = lambda: None, **query: str
    ) -> Iterator[dict[str, Tree]]:
        """Yield the events of a watch (`type`, `object`) until the server ends it, at the latest after `seconds`.

        `begun` is called when the server accepts it, perhaps long before the first event. ApiError also if the
        connection breaks; the status in an event of type ERROR is for the caller.
        """
        asked = urlencode({"watch": "true", "timeoutSeconds": str(int(seconds)), **query})
        deadline = Deadline.after(seconds + self.limit_seconds)
        with self._ready_answer(f"{path}?{asked}", deadline) as answer:
            if answer.status != HTTPStatus.OK:
                raise ApiError(answer.status, f"GET {path}: status {answer.status}")
            begun()
            for line in _lines(answer):
                try:
                    event = read_json(line)
                except ValueError as error:
                    raise ApiError(0, f"GET {path}: an event is not JSON") from error
                if isinstance(event, dict):
                    yield event

    def apply(self, path: str, body: Tree, manager: str, *, force: bool = True, dry_run: bool = False) -> Tree:
        """Apply fields as `manager`, by server-side apply under strict validation; return the object."""
        query = {"fieldManager": manager, "fieldValidation": "Strict", "force": "true" if force else ""}
        return self.request("PATCH", path, {**query, "dryRun": "All" if dry_run else ""}, body, "apply-patch+yaml")

    def delete(self, path: str, uid: str = "", *, propagation: str = "", dry_run: bool = False) -> Tree:
        """Delete an object, only if it has this uid; return the server's answer."""
        # All options are in the body: a server that gets one does not look at the query.
        body = {
            **({"preconditions": {"uid": uid}} if uid else {}),
            **({"propagationPolicy": propagation} if propagation else {}),
            **({"dryRun": ["All"]} if dry_run else {}),
        }
        return self.request("DELETE", path, body=body or None)

    def close(self) -> None:
        """Close kept connections."""
        with self._lock:
            if self._pool is not None:
                self._pool.clear()
            self._pool = self._material = None

    def _require_ready(self, status: int) -> None:
        """Raise ApiError if a refusal with this status is that of a server that is not ready."""
        if status in DOUBTFUL and self._readiness is not None and not self._readiness.is_ready(status):
            raise ApiError(0, f"the API server {self.url} is not ready")

    @contextmanager
    def _ready_answer(self, path: str, deadline: Deadline) -> Iterator[urllib3.BaseHTTPResponse]:
        """The answer to a GET that is read bit by bit; a refusal is that of a server that is ready."""
        with self._opened("GET", path, deadline=deadline) as answer:
            if answer.status not in DOUBTFUL:
                yield answer
                return
        self._require_ready(answer.status)
        with self._opened("GET", path, deadline=deadline, renews=False) as again:  # as in `request`
            yield again

    def _answer(
        self,
        method: str,
        path: str,
        body: Tree = None,
        form: str = "json",
        deadline: Deadline | None = None,
        *,
        renews: bool = True,
    ) -> tuple[int, bytes]:
        deadline = deadline or Deadline.after(self.limit_seconds)
        with self._opened(method, path, body, form, deadline=deadline, renews=renews) as answer:
            return answer.status, answer.read(_MOST_BYTES)

    def _status(self, path: str, *, anonymous: bool) -> int:
        """The status of a GET; 0 for no answer. A refused credential is not replaced."""
        deadline = Deadline.after(self.limit_seconds)
        try:
            with self._opened("GET", path, deadline=deadline, anonymous=anonymous, renews=False) as answer:
                return answer.status
        except ApiError:
            return 0

    @contextmanager
    def _opened(
        self,
        method: str,
        path: str,
        body: Tree = None,
        form: str = "json",
        *,
        deadline: Deadline,
        anonymous: bool = False,
        renews: bool = True,
    ) -> Iterator[urllib3.BaseHTTPResponse]:
        """The answer to a request. A new credential is asked for once if the server refuses the plugin's."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": "application/json", **({"Content-Type": f"application/{form}"} if data else {})}
        try:
            for last in (False, True):
                began = monotonic()
                credential = self.login.credential()
                deadline = deadline.later(monotonic() - began)  # a login plugin has a time limit of its own
                asked = urllib3.HTTPHeaderDict(headers)
                for name, value in () if anonymous else self.login.headers(credential):
                    asked.add(name, value)
                pool, url = self._connected(credential), self.url.rstrip("/") + path
                answer = exchange(pool, deadline, method, url, body=data, headers=asked)
                is_refused = answer.status == HTTPStatus.UNAUTHORIZED
                if last or not (is_refused and renews) or self.login.plugin is None:
                    break
                answer.close()
                self.login.plugin.forget(credential)
            try:
                yield answer
            finally:
                answer.close()  # a connection whose answer was read to its end is kept nevertheless
        except AccessError as error:
            raise ApiError(0, str(error)) from error
        except (urllib3.exceptions.HTTPError, HTTPException, OSError) as error:
            why = deadline.missed if deadline.expired else type(error).__name__
            raise ApiError(0, f"the API server {self.url} does not answer: {why}") from error

    def _connected(self, credential: Credential) -> urllib3.PoolManager:
        """The pool of connections; a new one if a certificate or the authority changed."""
        material = _Material(read_content(self.authority), credential.certificate, credential.key)
        with self._lock:
            if self._pool is None or material != self._material:
                self._pool, self._material = self._new_pool(material), material
            return self._pool

    def _new_pool(self, material: _Material) -> urllib3.PoolManager:
        options: dict[str, Any] = {"maxsize": 4, "socket_options": _KEEPALIVE}
        if self.url.startswith("https:"):
            if not self.verify:
                urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # the user asked for it
            options["ssl_context"] = _context(material, verify=self.verify)
            if self.server_name:
                options["server_hostname"] = self.server_name
        proxy = environment_proxy(self.url) if self.proxy is None else self.proxy
        if not proxy:
            return new_pool(**options)
        if proxy.startswith("socks"):
            if find_spec("socks") is None:
                raise AccessError(f"the proxy {proxy} needs the package PySocks")
            from urllib3.contrib.socks import SOCKSProxyManager  # needs PySocks

            return SOCKSProxyManager(proxy, **options)
        return bounded(urllib3.ProxyManager(proxy, **options))


def read_content(content: Content) -> bytes:
    """Return a file's content. AccessError if it cannot be read."""
    try:
        return content.read_bytes() if isinstance(content, Path) else content
    except OSError as error:
        raise AccessError(str(error)) from error


def environment_proxy(url: str) -> str:
    """Return the proxy for a URL, from HTTPS_PROXY, HTTP_PROXY and NO_PROXY as Go's programs read them; empty: none.

    The own machine is never asked through a proxy, and NO_PROXY may have networks.
    """
    parts = urlsplit(url)
    host, proxies = parts.hostname or "", urllib.request.getproxies_environment()
    if urllib.request.proxy_bypass_environment(parts.netloc, proxies) or host == "localhost":  # type: ignore[attr-defined]
        return ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return proxies.get(parts.scheme, "")
    networks = (network.strip() for network in proxies.get("no", "").split(",") if "/" in network)
    return (
        ""
        if address.is_loopback or any(_is_in(address, network) for network in networks)
        else proxies.get(parts.scheme, "")
    )


def _is_in(address: ipaddress.IPv4Address | ipaddress.IPv6Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _context(material: _Material, *, verify: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=material.authority.decode() if material.authority else None)
        if not verify:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if material.certificate and material.key:
            # The ssl module reads client certificates from files only; this file is readable only by us.
            with tempfile.NamedTemporaryFile(prefix="muster-", suffix=".pem") as file:
                file.write(material.certificate + b"\n" + material.key)
                file.flush()
                context.load_cert_chain(file.name)
    except (OSError, ValueError) as error:
        raise AccessError(f"a certificate cannot be used: {error}") from error
    return context


def _lines(answer: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """The lines of an answer as they arrive."""
    left = b""
    for chunk in answer.stream(1 << 16):
        *whole, left = (left + chunk).split(b"\n")
        yield from (line for line in whole if line)
        if len(left) > _MOST_BYTES:
            raise ApiError(0, "an event is too large")
