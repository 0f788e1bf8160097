"""Requests and responses of HTTP/1.1, as bytes.

A request is read strictly. Where its bytes could mean one request to a proxy and another one to us, it is refused: a
second request could hide in the difference.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

_LINE: Final = re.compile(rb"([A-Z]{1,16}) (/[!-~]*) HTTP/1\.([01])")
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*?)[ \t]*")
#: Nothing that anybody sends is longer; what is longer, or no number, is not meant to be understood.
_LENGTH: Final = re.compile(r"[0-9]{1,15}")
#: Two of these contradict each other, whatever they say.
_ONCE: Final = frozenset(("authorization", "content-length", "host", "transfer-encoding"))


class HeadError(ValueError):
    """A head that is not understood: the `status` to answer with."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """The head of a request. `headers` are by lower-case name; `length` is that of the body that follows.

    `certificate` is what the client showed in TLS (DER), if anything.
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
        """What follows the question mark."""
        return self.target.partition("?")[2]

    @property
    def bearer(self) -> str | None:
        """The bearer token; None for none."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None

    def shown(self, certificate: bytes | None) -> "HttpRequest":
        """Return the request of a client that showed a certificate."""
        return replace(self, certificate=certificate)


def read_head(head: bytes) -> HttpRequest:
    """Read a head, up to and with the empty line at its end. HeadError."""
    first, *fields = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise HeadError(HTTPStatus.BAD_REQUEST, "this is no request of HTTP/1.1")
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
        raise HeadError(HTTPStatus.LENGTH_REQUIRED, "a body is sent with its length")
    if length is not None and _LENGTH.fullmatch(length) is None:
        raise HeadError(HTTPStatus.BAD_REQUEST, "content-length is no length")
    return int(length or 0)


@dataclass(frozen=True, slots=True)
class Response:
    """What is answered: a whole `body`, or one that a `stream` yields piece by piece, each of which may take long.

    `done` is called once nothing more is sent.
    """

    status: HTTPStatus
    body: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    done: Callable[[], None] = lambda: None

    def head(self, *, is_last: bool) -> bytes:
        """The head, as bytes. After the last response the connection is closed."""
        lines = {"Server": "muster", "Date": formatdate(usegmt=True), **self.headers}
        if self.stream is None and self.status is not HTTPStatus.NOT_MODIFIED:
            lines["Content-Length"] = str(len(self.body))
        if is_last:
            lines["Connection"] = "close"
        text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"HTTP/1.1 {self.status.value} {self.status.phrase}\r\n{text}\r\n".encode("latin-1")


def response(status: HTTPStatus, body: bytes = b"", **headers: str) -> Response:
    """A response with a whole body. Underscores of headers' names are dashes."""
    return Response(status, body, {name.replace("_", "-"): value for name, value in headers.items()})
