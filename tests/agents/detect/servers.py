"""Real servers of a few lines, on ports of their own: DNS over UDP and HTTP, each can be told to fail."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


class DnsServer:
    """Answers every name with 10.96.0.1, or with SERVFAIL while `healthy` is false."""

    def __init__(self) -> None:
        self.healthy = True
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop: an empty datagram says so."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", ("127.0.0.1", self.port))
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while True:
            data, client = self._socket.recvfrom(4096)
            if not data:
                return
            self._socket.sendto(self._answer(dns.message.from_wire(data)).to_wire(), client)

    def _answer(self, query: dns.message.Message) -> dns.message.Message:
        answer = dns.message.make_response(query)
        answer.flags |= dns.flags.RA
        if not self.healthy:
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif query.question[0].name.to_text().startswith("nowhere."):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        else:
            answer.answer.append(dns.rrset.from_text(query.question[0].name, 1, "IN", "A", "10.96.0.1"))
        return answer


@contextmanager
def dns_server() -> Iterator[DnsServer]:
    """A DNS server for the block."""
    server = DnsServer()
    try:
        yield server
    finally:
        server.close()


class HttpServer(ThreadingHTTPServer):
    """Answers every GET with `body` and `status`."""

    daemon_threads = True
    status = 200
    body = b"ok"

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer

    def do_GET(self) -> None:
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class' name
        """Say nothing."""


@contextmanager
def http_server(body: bytes = b"ok") -> Iterator[HttpServer]:
    """An HTTP server for the block."""
    server = HttpServer(("127.0.0.1", 0), _Handler)
    server.body = body
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
