"""Requests and responses of HTTP/1.1. h11 parses and writes them.

Before h11 reads a head, control characters and folded lines are refused: proxies read them in different ways, so that a
second request could hide in the difference, and h11 takes quadratic time for a header of spaces that ends in one (1.3 s
for 16 KiB).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

import h11

from muster.dataclass import dataclass

#: The longest head.
HEAD_BYTES: Final = 16 << 10
#: The end of a head.
END: Final = b"\r\n\r\n"
#: The most headers.
_MOST_FIELDS: Final = 64
#: Headers that may not be repeated.
_SINGLE_HEADERS: Final = frozenset((b"authorization", b"content-length", b"host", b"transfer-encoding"))
#: What a line of a head consists of: RFC 9110, 5.5.
_TEXT: Final = bytes((0x09, *range(0x20, 0x7F), *range(0x80, 0x100)))
_VERSIONS: Final = (b"1.0", b"1.1")


class RequestError(ValueError):
    """A malformed request, and the `status` to answer with."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """The head of a request. `headers` are by lower-case name; `length` is the length of the body that follows.

    `certificate` is the client's TLS certificate (DER), if it sent one.
    """

    method: str
    target: str
    headers: Mapping[str, str] = field(repr=False)
    length: int = 0
    certificate: bytes | None = field(default=None, repr=False)

    @property
    def path(self) -> str:
        """The target without its query."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        """The part of the target after the question mark."""
        return self.target.partition("?")[2]

    @property
    def bearer(self) -> str | None:
        """The bearer token; None if there is none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None

    def with_certificate(self, certificate: bytes | None) -> "HttpRequest":
        """Return the same request with the client's certificate."""
        return replace(self, certificate=certificate)


@dataclass(frozen=True, slots=True)
class Response:
    """A response: a whole `body`, or a `stream` of pieces, each of which may take long.

    `done` is called after the response was sent.
    """

    status: HTTPStatus
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    done: Callable[[], None] = lambda: None

    def head(self, *, is_last: bool) -> h11.Response:
        """Return the head for h11. `is_last`: the connection is closed after this response."""
        lines = {"Server": "muster", "Date": formatdate(usegmt=True), **self.headers}
        if self.stream is None and self.status is not HTTPStatus.NOT_MODIFIED:
            lines["Content-Length"] = str(len(self.body))
        if is_last:
            lines["Connection"] = "close"
        headers = [(name.encode(), value.encode("latin-1")) for name, value in lines.items()]
        return h11.Response(status_code=self.status.value, reason=self.status.phrase.encode(), headers=headers)


def response(status: HTTPStatus, body: bytes = b"", **headers: str) -> Response:
    """Make a response with a whole body. Underscores in the names of headers become dashes."""
    return Response(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def read_request(http: h11.Connection, head: bytes) -> HttpRequest:
    """Parse a head, including the empty line at its end, and make it the next request of the connection.

    RequestError if it is malformed, or has a body without a Content-Length. Time is linear in the head.
    """
    _check_lines(head)
    http.receive_data(head)
    try:
        event = http.next_event()
    except h11.RemoteProtocolError as error:
        raise RequestError(HTTPStatus(error.error_status_hint), str(error)) from error
    if not isinstance(event, h11.Request) or event.target[:1] != b"/":
        raise RequestError(HTTPStatus.BAD_REQUEST, "this is not a request of HTTP/1.1 for a path")
    if event.http_version not in _VERSIONS:
        raise RequestError(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "the version is not 1.0 or 1.1")
    if event.method == b"CONNECT":  # after a success h11 expects another protocol
        raise RequestError(HTTPStatus.NOT_IMPLEMENTED, "this is not a proxy")
    headers = dict[str, str]()
    for raw_name, raw_value in event.headers:
        name, value = raw_name.decode(), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    length = _length(headers)
    if not length:
        http.next_event()  # the end of the message
    return HttpRequest(event.method.decode(), event.target.decode(), headers, length)


def _check_lines(head: bytes) -> None:
    lines = head.removesuffix(END).split(b"\r\n")
    if len(lines) > 1 + _MOST_FIELDS:
        raise RequestError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {_MOST_FIELDS} headers")
    if b"".join(lines).translate(None, _TEXT):
        raise RequestError(HTTPStatus.BAD_REQUEST, "the head has a control character, or a line without its CRLF")
    if any(line.startswith((b" ", b"\t")) for line in lines):
        raise RequestError(HTTPStatus.BAD_REQUEST, "a header is folded")
    names = [line.partition(b":")[0].lower() for line in lines[1:]]
    for name in _SINGLE_HEADERS:
        if names.count(name) > 1:
            raise RequestError(HTTPStatus.BAD_REQUEST, f"{name.decode()} is sent twice")


def _length(headers: Mapping[str, str]) -> int:
    length = headers.get("content-length")
    if "transfer-encoding" in headers:
        if length is not None:
            raise RequestError(HTTPStatus.BAD_REQUEST, "content-length and transfer-encoding exclude each other")
        raise RequestError(HTTPStatus.LENGTH_REQUIRED, "a body needs a content-length")
    return int(length or 0)
