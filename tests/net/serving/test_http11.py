"""Heads of requests: read strictly, or refused before h11 sees them."""

import h11
import pytest

from muster.net.serving.http11 import HttpRequest, RequestError, read_request

HOST = b"\r\nHost: x"


def read_head(head: bytes) -> HttpRequest:
    return read_request(h11.Connection(h11.SERVER), head)


def test_a_head_is_read() -> None:
    request = read_head(
        b"PUT /a?b=c HTTP/1.1\r\nHost: x\r\nAUTHORIZATION: bearer  tok \r\ncontent-length:\t12\r\nX: a\r\nx: b\r\n\r\n"
    )
    assert (request.method, request.path, request.query, request.length) == ("PUT", "/a", "b=c", 12)
    assert (request.bearer, request.headers["x"]) == ("tok", "a, b")
    assert "tok" not in repr(request)


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nConnection: x, Close\r\n\r\n"]
)
def test_a_request_can_be_the_last(head: bytes) -> None:
    http = h11.Connection(h11.SERVER)
    read_request(http, head)
    assert http.their_state is h11.MUST_CLOSE


@pytest.mark.parametrize(
    "lines",
    [
        b"",
        b"GET /",
        b"GET  / HTTP/1.1",
        b"GET / x HTTP/1.1",
        b"GET / HTTP/1.1",
        b"GET http://x/ HTTP/1.1" + HOST,
        b"GET / HTTP/1.1 " + HOST,
        b"\r\nGET / HTTP/1.1" + HOST,
        b"GET /\x00 HTTP/1.1" + HOST,
        b"GET /\xff HTTP/1.1" + HOST,
        b"CONNECT x:443 HTTP/1.1" + HOST,
        b"OPTIONS * HTTP/1.1" + HOST,
        b"PRI * HTTP/2.0" + HOST,
        *(
            b"GET / HTTP/1.1" + HOST + b"\r\n" + line
            for line in (
                b"Content-Length : 5",
                b" Content-Length: 5",
                b"X: a\r\n folded",
                b"X: a\r\n\tfolded",
                b"X",
                b": a",
                b"X: a\nContent-Length: 5",
                b"X: a\rb",
                b"X: \x00",
                b"X: a\n\nGET /hidden HTTP/1.1",
                b"Host: b",
                b"Authorization: Bearer a\r\nAuthorization: Bearer b",
            )
        ),
        b"GET / HTTP/1.1\nHost: x",
        *(
            b"PUT / HTTP/1.1" + HOST + b"\r\nContent-Length: " + length
            for length in (b"", b"-1", b"+1", b"0x1", b"1 1", b"1, 2", b"1_0", "١".encode(), b"9" * 21, b"9" * 5000)
        ),
        *(
            b"PUT / HTTP/1.1" + HOST + b"\r\n" + line
            for line in (
                b"Content-Length: 1\r\nContent-Length: 1",
                b"Transfer-Encoding: \x0bchunked",
                b"Content-Length: 1\r\nTransfer-Encoding: chunked",
                b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            )
        ),
    ],
)
def test_what_could_mean_two_things_is_refused(lines: bytes) -> None:
    with pytest.raises(RequestError) as caught:
        read_head(lines + b"\r\n\r\n")
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked", 411),
        (b"PUT / HTTP/1.0\r\nTransfer-Encoding: chunked", 411),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked", 501),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: identity\r\nContent-Length: 1", 501),
        (b"GET / HTTP/2.0", 505),
        (b"GET / HTTP/1.2", 505),
        (b"GET / HTTP/0.9", 505),
        (b"GET / HTTP/1.1" + b"\r\na: b" * 64, 431),
    ],
)
def test_what_is_not_supported_is_refused(lines: bytes, status: int) -> None:
    with pytest.raises(RequestError) as caught:
        read_head(lines + HOST + b"\r\n\r\n")
    assert caught.value.status == status


@pytest.mark.parametrize("end", [b"\x00", b"\x01", b"\x0b", b"\x0c", b"\n", b"\r", b"\x7f"])
@pytest.mark.parametrize("begin", [b"a:", b"a:b", b"a", b"", b"\t", b"GET /"])
def test_a_head_that_takes_long_to_refuse_does_not_reach_the_parser(begin: bytes, end: bytes) -> None:
    http = h11.Connection(h11.SERVER)
    line = begin + b" " * 16_000 + end
    with pytest.raises(RequestError):
        read_request(http, b"GET / HTTP/1.1\r\nHost: x\r\n" + line + b"\r\n\r\n")
    assert http.their_state is h11.IDLE
