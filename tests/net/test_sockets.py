"""Sockets with a deadline, on this machine."""

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from muster.net import sockets
from muster.net.deadline import Deadline
from muster.net.sockets import connect, resolve
from tests.support.slow_peers import GREETINGS, peer

LIMIT = Deadline(float("inf"), 60)


def test_another_address_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        found = [*resolve(nobody.getsockname(), LIMIT), *resolve(("127.0.0.1", port), LIMIT)]
        monkeypatch.setattr(sockets, "resolve", lambda *_: found)
        with connect(("both", port), Deadline.after(60)) as line:
            assert line.getpeername()[1] == port


def test_a_name_that_nobody_has_is_said() -> None:
    with pytest.raises(socket.gaierror):
        resolve(("no-such-host.invalid", 80), Deadline.after(60))
    with pytest.raises(socket.gaierror, match="is not a host name"):
        resolve(("a" * 64 + ".example", 80), Deadline.after(60))


def test_a_resolver_that_does_not_answer_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    over, system = threading.Event(), socket.getaddrinfo

    def hangs(*arguments: Any, **options: Any) -> Any:
        if not options.get("flags"):
            over.wait(60)
        return system(*arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    with pytest.raises(TimeoutError, match=r"no answer within 0\.1 seconds"):
        connect(("localhost", 1), Deadline.after(0.1))
    over.set()


@pytest.mark.parametrize(
    "call",
    [
        lambda line: line.recv(1),
        lambda line: line.send(b"x"),
        lambda line: line.sendall(b"x"),
        lambda line: line.recv_into(bytearray(1)),
        lambda line: line.makefile("rb").readline(),
    ],
)
def test_no_call_begins_after_the_deadline(call: Callable[[socket.socket], object]) -> None:
    with peer(GREETINGS) as port, connect(("127.0.0.1", port), Deadline.after(60)) as line:
        line.deadline = Deadline.after(0).later(-1)
        with pytest.raises(TimeoutError, match="no answer within 0 seconds"):
            call(line)


def test_what_is_received_has_a_limit() -> None:
    with peer(GREETINGS) as port, connect(("127.0.0.1", port), Deadline.after(60), most_bytes=30) as line:
        file = line.makefile("rb")
        with pytest.raises(OSError, match="sends too much"):
            while file.readline():
                pass
        file.close()
