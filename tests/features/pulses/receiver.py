"""A real HTTP server in a thread that takes events, or fails, hangs and redirects as told."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar


@dataclass
class Request:
    """What arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


#: What to answer to the n-th request: a status and headers, or None to say nothing until the client goes away.
Answer = tuple[int, dict[str, str]] | None


@dataclass
class Receiver:
    """A running server: its URL, what arrived, and its answers in order; the last one is for all further requests."""

    url: str
    answers: list[Answer]
    requests: list[Request] = field(default_factory=list)
    check: Callable[[Request], None] | None = None
    connections: int = 0
    released: threading.Event = field(default_factory=threading.Event)

    def connected(self) -> None:
        """Note a connection."""
        self.connections += 1

    def answer(self, request: Request) -> Answer:
        """Note a request and return what to say."""
        self.requests.append(request)
        if self.check is not None:
            try:
                self.check(request)
            except (AssertionError, KeyError, ValueError) as error:
                return 400, {"X-Why": str(error).partition("\n")[0]}
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def receiving(*answers: Answer, check: Callable[[Request], None] | None = None) -> Iterator[Receiver]:
    """Run a server that answers in this order, and 400 if the `check` fails; by default it takes everything."""
    receiver = Receiver("", list(answers) or [(204, {})], check=check)

    class Handler(_Handler):
        connected: ClassVar[Callable[[], None]] = receiver.connected
        serve: ClassVar[Callable[[Request], Answer]] = receiver.answer
        released: ClassVar[threading.Event] = receiver.released

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/events"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.released.set()
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    connected: ClassVar[Callable[[], None]]
    serve: ClassVar[Callable[[Request], Answer]]
    released: ClassVar[threading.Event]

    def setup(self) -> None:
        super().setup()
        type(self).connected()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = type(self).serve(Request(self.path, headers, body))
        if answer is None:
            self.released.wait()
            self.close_connection = True
            return
        status, more = answer
        self.send_response(status)
        for name, value in {"Content-Length": "0", **more}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""
