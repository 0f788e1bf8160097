"""Clients that each begin a request and never end it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def flood(port: int, count: int, begin: bytes = b"GET / HTTP/1.1\r\nX: ") -> Iterator[None]:
    """Keep so many connections, which say a byte now and then, and come again when they are hung up on."""
    lines, ended = list[socket.socket](), threading.Event()

    def connected() -> socket.socket:
        line = socket.create_connection(("127.0.0.1", port), 1)
        line.sendall(begin)
        return line

    def drip() -> None:
        while not ended.wait(0.01):
            for index, line in enumerate(lines):
                if ended.is_set():
                    return
                try:
                    line.sendall(b"x")
                except OSError:
                    line.close()
                    with suppress(OSError):
                        lines[index] = connected()

    for _ in range(count):
        with suppress(OSError):
            lines.append(connected())
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        for line in lines:
            line.close()
