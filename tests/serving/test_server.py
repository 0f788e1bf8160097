"""A server on this machine, and clients that are many, slow or rude."""

import http.client
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from muster.serving.server import AddressError, Handler, Server, address_of, served


class _Hello(Handler):
    timeout = 0.5

    def do_GET(self) -> None:  # noqa: N802 - the base class names it so
        self.answer(200, b"hello", Content_Type="text/plain")

    do_HEAD = do_GET  # noqa: N815 - the base class names it so


@contextmanager
def hello(most: int | None = None) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), _Hello, most=most)
    with served(server, "hello"):
        yield server


def said(server: Server, method: str = "GET") -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=5)
    try:
        line.request(method, "/")
        answer = line.getresponse()
        return answer.status, answer.read()
    finally:
        line.close()


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:1", ("localhost", 1))],
)
def test_an_address_is_read(text: str, address: tuple[str, int]) -> None:
    assert address_of(text) == address


@pytest.mark.parametrize("text", ["", "80", ":80", "host:", "host:http", "host:99999", "::1:80", "[]:1"])
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(AddressError):
        address_of(text)


def test_head_has_no_body() -> None:
    with hello() as server:
        assert (said(server), said(server, "HEAD")) == ((200, b"hello"), (200, b""))


def test_more_than_so_many_are_hung_up_on_and_silent_ones_make_room() -> None:
    with hello(most=2) as server:
        silent = [socket.create_connection(("127.0.0.1", server.server_port), 5) for _ in range(2)]
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            said(server)
        assert [line.recv(1) for line in silent] == [b"", b""], "who says nothing is gone after a while"
        assert said(server) == (200, b"hello")
        for line in silent:
            line.close()


def test_who_resets_the_line_leaves_no_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with hello() as server:
        for _ in range(5):
            line = socket.create_connection(("127.0.0.1", server.server_port), 5)
            line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.close()
        assert said(server) == (200, b"hello")
    assert capfd.readouterr().err == ""
