"""Heads of requests: read strictly, or refused."""

import pytest

from muster.agents.serving.messages import HeadError, read_head


def test_a_head_is_read() -> None:
    request = read_head(
        b"PUT /a?b=c HTTP/1.1\r\nHost: x\r\nAUTHORIZATION: bearer  tok \r\ncontent-length:\t12\r\nX: a\r\nx: b\r\n\r\n"
    )
    assert (request.method, request.path, request.query, request.length) == ("PUT", "/a", "b=c", 12)
    assert (request.bearer, request.headers["x"], request.is_last) == ("tok", "a, b", False)
    assert "tok" not in repr(request)


@pytest.mark.parametrize("head", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n"])
def test_a_request_can_be_the_last(head: bytes) -> None:
    assert read_head(head).is_last


@pytest.mark.parametrize(
    "lines",
    [
        b"", b"GET /", b"GET / HTTP/0.9", b"GET / HTTP/2.0", b"get / HTTP/1.1", b"GET  / HTTP/1.1", b"GET / x HTTP/1.1",
        b"GET http://x/ HTTP/1.1", b"GET / HTTP/1.1 ", b"\r\nGET / HTTP/1.1", b"GET /\x00 HTTP/1.1",
        b"GET /\xff HTTP/1.1",
        b"GET / HTTP/1.1\r\nContent-Length : 5", b"GET / HTTP/1.1\r\n Content-Length: 5",
        b"GET / HTTP/1.1\r\nX: a\r\n folded", b"GET / HTTP/1.1\r\nX", b"GET / HTTP/1.1\r\n: a",
        b"GET / HTTP/1.1\r\nX: a\nContent-Length: 5", b"GET / HTTP/1.1\r\nX: a\rb", b"GET / HTTP/1.1\r\nX: \x00",
        b"GET / HTTP/1.1\nHost: x", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b",
        b"GET / HTTP/1.1\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b",
        *(b"PUT / HTTP/1.1\r\nContent-Length: " + length for length in (
            b"", b"-1", b"+1", b"0x1", b"1 1", b"1, 1", b"1_0", "١".encode(), b"9" * 16, b"9" * 5000)),
        b"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1",
        b"PUT / HTTP/1.1\r\nTransfer-Encoding: \x0bchunked",
        b"PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: identity",
        b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ],
)  # fmt: skip
def test_what_could_mean_two_things_is_refused(lines: bytes) -> None:
    with pytest.raises(HeadError) as caught:
        read_head(lines + b"\r\n\r\n")
    assert caught.value.status == 400


def test_chunks_are_not_read() -> None:
    with pytest.raises(HeadError) as caught:
        read_head(b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert caught.value.status == 411
