"""A server on this machine, and clients that are many, slow or rude."""

import gc
import http.client
import resource
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import pytest

from muster.net.serving import connection
from muster.net.serving.bodies import BodyBudget
from muster.net.serving.connection import AdmittedRequest
from muster.net.serving.http11 import HttpRequest, Response, response
from muster.net.serving.server import AddressError, HttpServer, _origin, parse_address, served, server_context
from tests.support.authority import server_certificate
from tests.support.flooding import flood
from tests.support.patience import wait_until


class Hello(HttpServer):
    """Greets whoever has a token, and keeps `slow` requests until it is told to go on."""

    def __init__(self, *, context: ssl.SSLContext | None = None, most: int | None = None) -> None:
        super().__init__(("127.0.0.1", 0), context=context, most=most)
        self.asked, self.turns, self.go_on, self.most_bytes = list[str](), 0, threading.Event(), 100

    def refresh(self) -> None:
        self.turns += 1

    def probe(self, request: HttpRequest) -> Response | None:
        return response(HTTPStatus.OK, b"well") if request.path == "/healthz" else None

    def admitted(self, request: HttpRequest) -> Response | AdmittedRequest:
        self.asked.append(f"{request.method} {request.target}")
        if request.bearer is None:
            return response(HTTPStatus.UNAUTHORIZED)
        return AdmittedRequest(self.most_bytes, request.bearer) if request.method == "PUT" else AdmittedRequest()

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        if request.path == "/slow":
            self.go_on.wait(10)
        if request.path == "/fault":
            raise KeyError("fault")
        if request.path == "/stream":
            return Response(HTTPStatus.OK, stream=iter([b"a", b"b"]), done=lambda: self.asked.append("done"))
        return response(HTTPStatus.OK, b"hello" + body)


@contextmanager
def hello(most: int | None = None, context: ssl.SSLContext | None = None) -> Iterator[Hello]:
    server = Hello(most=most, context=context)
    with served(server, "hello"):
        yield server
        server.go_on.set()


def said(server: HttpServer, method: str = "GET", path: str = "/", body: bytes | None = None) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        line.request(method, path, body, {"Authorization": "Bearer x"})
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


def exchanged(server: HttpServer, sent: bytes) -> bytes:
    """All that is answered to some bytes, until the server closes the connection."""
    with connected(server) as line:
        line.sendall(sent)
        answer = b""
        with suppress(ConnectionResetError):
            while piece := line.recv(65536):
                answer += piece
        return answer


def connected(server: HttpServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), 20)


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:1", ("localhost", 1))],
)
def test_an_address_is_read(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "80", ":80", "host:", "host:http", "host:99999", "::1:80", "[]:1"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(AddressError):
        parse_address(text)


def test_a_request_is_answered_and_the_connection_kept() -> None:
    with hello() as server:
        line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        own = []
        for method, body in (("GET", None), ("PUT", b" you"), ("HEAD", None), ("GET", None)):
            line.request(method, "/", body, {"Authorization": "Bearer x"})
            answer = line.getresponse()
            own.append((answer.status, answer.read(), line.sock.getsockname()))
        line.close()
    assert [(status, body) for status, body, _ in own] == [
        (200, b"hello"),
        (200, b"hello you"),
        (200, b""),
        (200, b"hello"),
    ]
    assert len({port for _, _, port in own}) == 1
    assert server.turns >= 1


def test_a_stream_ends_the_connection() -> None:
    with hello() as server:
        answer = exchanged(server, b"GET /stream HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n")
        wait_until(lambda: server.asked[-1] == "done", lambda: str(server.asked))
    assert answer.endswith(b"\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n")
    assert b"Connection: close" in answer
    assert b"Content-Length" not in answer


def test_a_fault_of_ours_is_told_and_costs_one_request(capfd: pytest.CaptureFixture[str]) -> None:
    with hello() as server:
        assert said(server, path="/fault")[0] == 500
        assert said(server) == (200, b"hello")
    assert "KeyError: 'fault'" in capfd.readouterr().err


HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(HIDDEN)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + LENGTH, 401),
        (b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n" + LENGTH, 200),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + LENGTH, 200),
        (b"DELETE / HTTP/1.1\r\nHost: x\r\n" + LENGTH, 401),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 101\r\n", 413),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" + LENGTH, 400),
        (b"PUT / HTTP/1.1\r\nHost: x\r\n" + LENGTH + LENGTH, 400),
        (b"PUT / HTTP/1.1\r\nHost: x\r\n" + LENGTH + b"Transfer-Encoding: chunked\r\n", 400),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n", 411),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: " + b"9" * 5000 + b"\r\n", 400),
    ],
)
def test_no_request_hides_behind_another(head: bytes, status: int) -> None:
    """What follows a request that is refused, or whose body nobody reads, is not taken for a request."""
    with hello() as server:
        answer = exchanged(server, head + b"\r\n" + HIDDEN)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close" in answer
    assert not any("hidden" in asked for asked in server.asked)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),  # a TLS handshake
        (b"\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\na:" + b" " * 16_000 + b"\x01\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\na:" + b" " * 16_000 + b"\x00\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\na: " + b"b" * 17_000, 431),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 65 + b"\r\n", 431),
        (b"CONNECT / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n", 501),
        (b"GET / HTTP/1.0\r\nAuthorization: Bearer x\r\n\r\n", 200),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\nAuthorization: Bearer x\r\n\r\n", 200),
        (b"PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff;" + b" " * 9999, 411),
    ],
)
def test_strange_clients_get_one_answer_and_the_connection_ends(sent: bytes, status: int) -> None:
    with hello() as server:
        answer = exchanged(server, sent)
        assert said(server) == (200, b"hello")
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert answer.count(b"Server: muster") == 1
    assert b"connection: close" in answer.lower()


def test_requests_in_one_piece_are_answered_in_their_order() -> None:
    """Also if the client sends nothing more after them, and although a body ends in the middle of a piece."""
    put = b"PUT / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 2\r\n\r\n"
    upgrade = b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    with hello() as server, connected(server) as line:
        line.sendall(put + b"aa" + upgrade + put + b"bb" + HIDDEN)
        line.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := line.recv(65536):
            answer += piece
    bodies = [part.partition(b"\r\n\r\n")[2] for part in answer.split(b"HTTP/1.1 200 OK")[1:]]
    assert bodies == [b"helloaa", b"hello", b"hellobb", b"hello"]


SMALL, LARGE = 1000, 24 << 20
SENT = memoryview(bytes(LARGE))


def unfinished(server: HttpServer, token: bytes, length: int = LARGE) -> socket.socket:
    """A client that has sent all of a body but the last byte, or that was refused."""
    line = connected(server)
    head = b"PUT / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
    line.sendall(head % (token, length))
    with suppress(OSError):  # after a refusal, the server reads no more
        line.sendall(SENT[: length - 1])
    return line


def test_bodies_take_no_more_memory_than_all_of_them_may() -> None:
    with hello() as server:
        server.most_bytes = LARGE
        before = resident_bytes()
        lines = [unfinished(server, b"one") for _ in range(40)]
        assert server.bodies.taken == 2 * LARGE  # half of the budget
        assert resident_bytes() - before < 3 * LARGE
        refused = [line for line in lines if not _is_waiting(line)]
        assert len(refused) == 38
        assert all(b" 429 " in (answer := line.recv(1000)) and b"Retry-After: 5" in answer for line in refused)
        others = [unfinished(server, b"other-%d" % number) for number in range(4)]
        assert server.bodies.taken == 4 * LARGE
        assert [b" 503 " in line.recv(1000) for line in others if not _is_waiting(line)] == [True, True]
        small = unfinished(server, b"lease", SMALL)
        small.sendall(b"x")
        assert small.recv(100).startswith(b"HTTP/1.1 200 ")
        for line in (*lines, *others, small):
            line.close()
        wait_until(lambda: server.bodies.taken == 0, lambda: str(server.bodies.taken))


def _is_waiting(line: socket.socket) -> bool:
    """Has the server said nothing?"""
    return not select.select([line], [], [], 0)[0]


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_memory_is_free_again_however_a_request_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BODY_SECONDS", 0.5)
    with hello() as server:
        server.most_bytes, server.bodies = LARGE, BodyBudget(LARGE)
        for path in ("/", "/fault"):
            line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
            line.request("PUT", path, b"x" * LARGE, {"Authorization": "Bearer x"})
            assert line.getresponse().status == (200 if path == "/" else 500)
            line.close()
        for is_reset in (False, True):
            with unfinished(server, b"one") as slow:
                assert server.bodies.taken == LARGE
                if is_reset:
                    slow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                else:
                    assert slow.recv(1) == b""
            wait_until(lambda: server.bodies.taken == 0, lambda: str(server.bodies.taken))


def test_who_sends_a_large_body_all_the_same_reads_why_not() -> None:
    with hello() as server:
        line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        line.request("PUT", "/", b"x" * 500_000)
        assert line.getresponse().status == 401
        line.close()


def test_a_body_is_asked_for_once_it_is_welcome() -> None:
    with hello() as server:
        head = b"PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
        assert exchanged(server, head + b"\r\n").startswith(b"HTTP/1.1 401 ")
        with connected(server) as line:
            line.sendall(head + b"Authorization: Bearer x\r\n\r\n")
            assert line.recv(100).startswith(b"HTTP/1.1 100 ")
            line.sendall(b"ab")
            assert b"helloab" in line.recv(1000)


@pytest.mark.parametrize("name", ["HEAD_SECONDS", "BODY_SECONDS"])
def test_who_takes_too_long_is_hung_up_on(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """However often it says a little: heads and bodies have a time for all of them."""
    monkeypatch.setattr(connection, name, 0.5)
    with hello() as server, connected(server) as line:
        sent = b"PUT / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nContent-Length: 99\r\n"
        line.sendall(sent if name == "HEAD_SECONDS" else sent + b"\r\n")
        began = time.monotonic()
        with pytest.raises(OSError, match="reset|pipe"):
            while time.monotonic() < began + 10:
                line.sendall(b"a")
                time.sleep(0.05)
        assert said(server) == (200, b"hello")


def test_slow_clients_hold_up_nobody() -> None:
    with hello(most=40) as server, flood(server.server_port, 120):
        for _ in range(6):
            assert said(server) == (200, b"hello")
            assert said(server, path="/healthz") == (200, b"well")
        assert len(server._open) <= 40


def test_a_server_that_ends_closes_what_it_has_accepted() -> None:
    """One of the last moment, too: a socket that nobody closes is a ResourceWarning, and fails here."""
    for _ in range(40):
        with hello() as server:
            lines = [connected(server) for _ in range(4)]
        for line in lines:
            line.close()
    gc.collect()


def test_tls_greetings_hold_up_nobody(tmp_path: Path) -> None:
    certificate, key = server_certificate(tmp_path)
    with hello(most=40, context=server_context(certificate, key, None, optional=False)) as server:
        silent = [connected(server) for _ in range(100)]
        mine = ssl.create_default_context(cafile=str(certificate))
        for _ in range(5):
            line = http.client.HTTPSConnection("127.0.0.1", server.server_port, timeout=10, context=mine)
            line.request("GET", "/", headers={"Authorization": "Bearer x"})
            assert line.getresponse().read() == b"hello"
            line.close()
        for one in silent:
            one.close()


def test_probes_are_answered_while_everything_is_busy() -> None:
    with hello(most=40) as server:
        ask = b"GET /slow HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"
        busy = []
        for _ in range(60):
            busy.append(connected(server))
            busy[-1].sendall(ask)
        for _ in range(10):
            assert said(server, path="/healthz") == (200, b"well")
        server.go_on.set()
        wait_until(lambda: said(server) == (200, b"hello"), lambda: "")
        for line in busy:
            line.close()


def test_addresses_that_are_one_clients_count_as_one() -> None:
    assert _origin("10.0.0.1") == "10.0.0.1" != _origin("10.0.0.2")
    assert _origin("2001:db8::1") == _origin("2001:db8::2:0:0:9") != _origin("2001:db8:0:1::1")
    assert _origin("::ffff:10.0.0.1") == "10.0.0.1"


def test_who_resets_the_line_leaves_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with hello() as server:
        for _ in range(5):
            line = connected(server)
            line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.close()
        assert said(server) == (200, b"hello")
    assert capfd.readouterr().err == ""


def test_it_ends_while_clients_wait() -> None:
    began = time.monotonic()
    with hello() as server:
        lines = [connected(server) for _ in range(5)]
        wait_until(lambda: len(server._open) == 5, lambda: "")
    assert time.monotonic() - began < 5
    assert [line.recv(1) for line in lines] == [b""] * 5
    for line in lines:
        line.close()
