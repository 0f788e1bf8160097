"""Requests and responses of HTTP/1.1, as bytes.

Requests are parsed strictly. A request whose bytes a proxy could read differently is refused: a second request could
hide in the difference.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

from muster.dataclass import dataclass

_LINE: Final = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
#: No body is longer than this many digits say.
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
#: The most headers.
_MOST_FIELDS: Final = 64
#: Headers that may not be repeated.
_ONCE: Final = frozenset(("authorization", "content-length", "host", "transfer-encoding"))


class HeadError(ValueError):
    """A malformed request head, and the `status` to answer with."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
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
    is_last: bool = False
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


def read_head(head: bytes) -> HttpRequest:
    """Parse a head, including the empty line at its end. HeadError if it is malformed."""
    first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise HeadError(HTTPStatus.BAD_REQUEST, "this is not a request of HTTP/1.1")
    if len(fields) > _MOST_FIELDS:
        raise HeadError(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {_MOST_FIELDS} headers")
    headers = dict[str, str]()
    for one in fields:
        found = _FIELD.fullmatch(one)
        if found is None:
            raise HeadError(HTTPStatus.BAD_REQUEST, "a header is malformed")
        name, value = found[1].decode().lower(), found[2].decode("latin-1")
        if name in headers and name in _ONCE:
            raise HeadError(HTTPStatus.BAD_REQUEST, f"{name} is sent twice")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    asked = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    is_last = line[3] == b"0" or "close" in asked
    return HttpRequest(line[1].decode(), line[2].decode(), headers, _length(headers), is_last)


def _length(headers: Mapping[str, str]) -> int:
    length = headers.get("content-length")
    if "transfer-encoding" in headers:
        if length is not None:
            raise HeadError(HTTPStatus.BAD_REQUEST, "content-length and transfer-encoding exclude each other")
        raise HeadError(HTTPStatus.LENGTH_REQUIRED, "a body needs a content-length")
    if length is not None and _LENGTH.fullmatch(length) is None:
        raise HeadError(HTTPStatus.BAD_REQUEST, "content-length is not a length")
    return int(length or 0)


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

    def head(self, *, is_last: bool) -> bytes:
        """Return the head as bytes. `is_last`: the connection is closed after this response."""
        lines = {"Server": "muster", "Date": formatdate(usegmt=True), **self.headers}
        if self.stream is None and self.status is not HTTPStatus.NOT_MODIFIED:
            lines["Content-Length"] = str(len(self.body))
        if is_last:
            lines["Connection"] = "close"
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n{text}\r\n".encode("latin-1")


def response(status: HTTPStatus, body: bytes = b"", **headers: str) -> Response:
    """Make a response with a whole body. Underscores in the names of headers become dashes."""
    return Response(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
