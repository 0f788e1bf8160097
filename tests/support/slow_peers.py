"""Peers on this machine that keep an exchange from ending: each says a little, for ever."""

import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

#: Between two pieces: shorter than any time limit of a single read.
PAUSE_SECONDS = 0.05
#: Pieces to send, given what was received last.
Script = Callable[[], Iterator[bytes]]


def silent() -> Iterator[bytes]:
    """Accepts, and says nothing."""
    while True:
        yield b""


def dripped(begin: bytes, piece: bytes = b"x") -> Script:
    """Begins at once, and goes on piece by piece."""

    def script() -> Iterator[bytes]:
        yield begin
        yield from itertools.repeat(piece)

    return script


HEAD = dripped(b"HTTP/1.1 200 OK\r\nX: ")
BODY = dripped(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
CHUNKS = dripped(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n")
CONTINUES = dripped(b"", b"HTTP/1.1 100 Continue\r\n\r\n")
GREETING = dripped(b"220", b"-")
GREETINGS = dripped(b"", b"220-hello\r\n")
REPLIES = dripped(b"220 hello\r\n", b"250-MORE\r\n")
#: The start of a record of a TLS handshake, and its bytes one by one.
TLS = dripped(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc", b"\x00")
#: AMQP's Connection.Start, a long one, byte by byte; and heartbeats after nothing.
AMQP = dripped(b"\x01\x00\x00\x00\x0f\xff\xff\x00\x0a\x00\x0a\x00\x09", b"\x00")
#: A reply of the git protocol that does not end.
GIT = dripped(b"fff0" + b"0" * 40 + b" HEAD\0")


def paged() -> Iterator[bytes]:
    """Answers each request with a page, and none is the last."""
    for number in itertools.count(1):
        body = b'{"kind": "List", "items": [], "metadata": {"continue": "%d"}}' % number
        yield b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


@contextmanager
def peer(script: Script) -> Iterator[int]:
    """Serve the script to each client while the block runs; yields the port."""
    listening, ended = socket.create_server(("127.0.0.1", 0)), threading.Event()
    threads = list[threading.Thread]()

    def serve(line: socket.socket) -> None:
        with line, suppress(OSError):
            for piece in script():
                if ended.wait(PAUSE_SECONDS):
                    return
                line.sendall(piece)

    def accept() -> None:
        while not ended.is_set():
            with suppress(OSError):
                line, _ = listening.accept()
                threads.append(threading.Thread(target=serve, args=(line,), daemon=True))
                threads[-1].start()

    listening.settimeout(0.1)
    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listening.getsockname()[1]
    finally:
        ended.set()
        accepting.join()
        for thread in threads:
            thread.join(5)
        listening.close()


def within(seconds: float, call: Callable[[], object]) -> str:
    """Return what a call says of its failure, or returns. AssertionError if it has not ended after the time."""
    said = list[str]()

    def run() -> None:
        try:
            said.append(str(call()))
        except Exception as error:  # noqa: BLE001 - whatever it says
            said.append(str(error) or type(error).__name__)

    began = time.monotonic()
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"it has not ended after {time.monotonic() - began:.1f} seconds"
    return said[0]
