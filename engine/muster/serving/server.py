"""A server of HTTP: a thread for each connection, TLS greetings in it; who is slow or rude holds up nobody else."""

import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, RawIOBase
from math import inf
from socket import AF_INET6, socket
from socketserver import TCPServer
from threading import BoundedSemaphore, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

#: How often it is looked whether to end, and for whatever `service_actions` does.
_TURN_SECONDS: Final = 0.1
#: A time-out of nothing would be none at all.
_LEAST_SECONDS: Final = 0.001


class AddressError(ValueError):
    """An address that cannot be listened on, in words for people."""


def address_of(text: str) -> tuple[str, int]:
    """Read `HOST:PORT`, an IPv6 address in brackets. AddressError."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError("an IPv6 address stands in brackets, as in [::1]:8080")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > 0xFFFF:
        raise AddressError("it is HOST:PORT")
    return host, int(port)


class Server(ThreadingHTTPServer):
    """A server that listens. With a `context` connections are TLS; more than `most` at one time are hung up on."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(
        self, address: tuple[str, int], handler: type["Handler"], *, context: ssl.SSLContext | None = None,
        most: int | None = None,
    ) -> None:  # fmt: skip
        """Listen. OSError."""
        self.context, self._free = context, BoundedSemaphore(most) if most else None
        if ":" in address[0]:
            self.address_family = AF_INET6
        super().__init__(address, handler)

    @property
    def url(self) -> str:
        """Where it is found."""
        host = str(self.server_address[0])
        return f"{'https' if self.context else 'http'}://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    def server_bind(self) -> None:
        """Take the address. What else it is called is not asked: a resolver that does not answer would hold it up."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def get_request(self) -> tuple[socket, Any]:
        """Take a connection; greetings are exchanged in its own thread, for who says nothing shall not hold up all."""
        connection, address = super().get_request()
        if self.context is not None:
            connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin with a connection, or hang up."""
        if self._free is not None and not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._done()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """A connection, to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._done()

    def _done(self) -> None:
        if self._free is not None:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Who hangs up, or whose certificate nobody signed, is no fault of the server's."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Hurried(RawIOBase):
    """What a connection says until an instant of the monotonic clock, and no longer, however little at a time."""

    def __init__(self, connection: socket) -> None:
        self._connection, self.until = connection, inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        self._connection.settimeout(max(_LEAST_SECONDS, self.until - monotonic()))
        return self._connection.recv_into(buffer)


class Handler(BaseHTTPRequestHandler):
    """One connection. `timeout`: who says nothing, or takes nothing, for so long is gone. `request_seconds`: so is who
    has not said what he wants by then; None where only silence counts."""

    protocol_version = "HTTP/1.1"
    timeout = 120.0
    request_seconds: float | None = None
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        if isinstance(self.connection, ssl.SSLSocket):
            self.connection.do_handshake()
        if self.request_seconds is not None:
            self._hurried = _Hurried(self.connection)
            self.rfile = BufferedReader(self._hurried)

    def handle_one_request(self) -> None:
        if self.request_seconds is not None:
            self._hurried.until = monotonic() + self.request_seconds
        super().handle_one_request()

    def parse_request(self) -> bool:
        understood = super().parse_request()
        self.connection.settimeout(self.timeout)
        return understood

    def version_string(self) -> str:
        """What it calls itself: which Python it runs on is nobody's business."""
        return "muster"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Nothing is logged: there are many."""

    def bearer(self) -> str | None:
        """The token that was sent; None for none."""
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer with a whole body, which HEAD leaves out. Underscores of headers' names are dashes."""
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextmanager
def served(server: Server, name: str) -> Iterator[None]:
    """Have it serve while the block runs, in threads of this process."""
    Thread(target=server.serve_forever, args=(_TURN_SECONDS,), daemon=True, name=name).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
