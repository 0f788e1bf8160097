"""A server of HTTP for those who do not trust each other: nobody can hold it up for the others.

One thread accepts connections, greets them (TLS) and reads requests; it waits for none of them. A connection costs a
descriptor and no thread until its request is whole, so a client that is slow or silent costs next to nothing. Where
there are too many connections, those that have kept silent longest are hung up on, of the address that has most of
them. Probes are answered by that thread itself, and some connections are always free for them.
"""

import asyncio
import resource
import ssl
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from heapq import nsmallest
from ipaddress import IPv6Address, ip_network
from itertools import count
from pathlib import Path
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket
from threading import Thread
from typing import Any, Final, TypeVar

from muster.agents.serving.connection import HEAD_BYTES, HEAD_SECONDS, Connection, in_thread
from muster.agents.serving.messages import HttpRequest, Response


def server_context(certificate: Path, key: Path, client_authority: Path | None, *, optional: bool) -> ssl.SSLContext:
    """With a `client_authority` clients show certificates that it signed; `optional`: or none.

    OSError, of which ssl.SSLError is one, for files that cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    if client_authority is not None:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL if optional else ssl.CERT_REQUIRED
    return context


#: So many connections at one time, if there are descriptors for twice as many: git and files need the others.
_MOST: Final = 2048
#: One address has no more than this part of them: many agents may share one, behind a proxy.
_SHARE: Final = 2
#: This part of it is taken at once, before those that are here are looked at again, and makes room at once.
_PARTS: Final = 16
#: So many connections are never busy with a request, so that there is always one that can make room for a probe.
_RESERVE: Final = 16
#: So many requests are answered at one time; the others wait.
_WORKERS: Final = 16
_WAITING: Final = 1024  # connections that the system keeps until we take them
_TURN_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 0.1
_END_SECONDS: Final = 5.0

T = TypeVar("T")


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


class HttpServer:
    """A server that listens, with TLS where it has a `context`; no more than `most` connections at one time.

    What it answers is for its subclasses, in `probe`, `admitted` and `answer` (see `connection.Site`).
    """

    def __init__(
        self, address: tuple[str, int], *, context: ssl.SSLContext | None = None, most: int | None = None
    ) -> None:  # fmt: skip
        """Listen. OSError."""
        self.context = context
        self.most = most or min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._share = max(1, self.most // _SHARE)
        self._batch = max(1, self._share // _PARTS)
        self._listener = socket(AF_INET6 if ":" in address[0] else AF_INET)
        try:
            self._listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
            self._listener.bind(address)
            self._listener.listen(_WAITING)
            self._listener.settimeout(0)
        except OSError:
            self._listener.close()
            raise
        host, port = self._listener.getsockname()[:2]
        self.server_host, self.server_port = str(host), int(port)
        self._open = dict[asyncio.Task[None], Connection]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ending = False

    @property
    def url(self) -> str:
        """Where it is found."""
        host = self.server_host
        return f"{'https' if self.context else 'http'}://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    # -- for subclasses

    def probe(self, request: HttpRequest) -> Response | None:  # noqa: ARG002
        """As `connection.Site` has it."""
        return None

    def admitted(self, request: HttpRequest) -> Response | int:
        """As `connection.Site` has it."""
        raise NotImplementedError

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """As `connection.Site` has it."""
        raise NotImplementedError

    def turn(self) -> None:
        """Called before anything is answered, and every second."""

    # -- asked by connections

    @property
    def site(self) -> "HttpServer":
        """What is served."""
        return self

    def is_full(self) -> bool:
        """Whether so many requests are being answered that no further one can be."""
        return sum(not one.idle for one in self._open.values()) >= max(1, self.most - _RESERVE)

    async def ask(self, call: Callable[[], T]) -> T:
        """Return what a call returns, once it is its turn."""
        async with self._workers:
            return await in_thread(call)

    # -- serving

    def serve_forever(self) -> None:
        """Serve until `shutdown`."""
        asyncio.run(self._serve())

    def shutdown(self) -> None:
        """End."""
        self._is_ending = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._ending.set)

    def close(self) -> None:
        """Listen no longer."""
        self._listener.close()

    async def _serve(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self._workers = asyncio.Semaphore(_WORKERS)
        self._loop.set_exception_handler(_told)
        await in_thread(self.turn)
        own = [asyncio.create_task(self._accept()), asyncio.create_task(self._turns())]
        if self._is_ending:
            self._ending.set()
        await self._ending.wait()
        for task in (*own, *self._open):
            task.cancel()
        await asyncio.wait((*own, *self._open), timeout=_END_SECONDS)

    async def _turns(self) -> None:
        while True:
            await asyncio.sleep(_TURN_SECONDS)
            await in_thread(self.turn)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        for number in count(1):
            try:
                line, address = await loop.sock_accept(self._listener)
            except OSError:  # who connected is gone already, or there are no descriptors
                await asyncio.sleep(_PAUSE_SECONDS)
                continue
            origin = _origin(address[0])
            if self._has_room(origin):
                connection = Connection(self, origin)
                task = asyncio.create_task(self._served(line, connection))
                self._open[task] = connection
                task.add_done_callback(partial(self._forget, line))
            else:
                line.close()
            if number % self._batch == 0:
                await asyncio.sleep(0)  # whoever was here before has a turn, however many come

    def _forget(self, line: socket, task: "asyncio.Task[None]") -> None:
        self._open.pop(task, None)
        line.close()  # also where the task was cancelled before it began

    def _has_room(self, origin: str) -> bool:
        """Make room for another connection: one that has kept silent for long is hung up on. False where none has."""
        if len(self._open) < self._share:
            return True
        counts = Counter(one.address for one in self._open.values())
        if counts[origin] >= self._share:
            fullest = origin
        elif len(self._open) >= self.most:
            idle = Counter(one.address for one in self._open.values() if one.idle)
            fullest = max(idle, key=lambda address: counts[address], default="")
        else:
            return True
        silent = [(one.since, task) for task, one in self._open.items() if one.idle and one.address == fullest]
        # Several at once: looking for them takes longer than taking a connection.
        for _, task in nsmallest(self._batch, silent, key=lambda found: found[0]):
            del self._open[task]
            task.cancel()
        return bool(silent)

    async def _served(self, line: socket, connection: Connection) -> None:
        """Greet a connection, and serve it to its end."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=HEAD_BYTES, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        tls: dict[str, Any] = {} if self.context is None else {
            "ssl": self.context, "ssl_handshake_timeout": HEAD_SECONDS, "ssl_shutdown_timeout": _PAUSE_SECONDS,
        }  # fmt: skip
        transport: asyncio.Transport | None = None
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, line, **tls)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            await connection.serve(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, EOFError):  # who hangs up, or whose certificate nobody signed, is no fault of the server's
            pass
        except Exception:  # noqa: BLE001 - a fault of ours costs one connection, and is told
            traceback.print_exc()
        finally:
            if transport is not None:
                transport.abort()


def _origin(host: str) -> str:
    """What counts as one address: of IPv6, a network of 64 bits, which is what one client has."""
    with suppress(ValueError):
        address = IPv6Address(host.partition("%")[0])
        return str(address.ipv4_mapped or ip_network((int(address), 64), strict=False))
    return host


def _told(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Of connections that end in the middle nobody wants to hear."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


@contextmanager
def served(server: HttpServer, name: str) -> Iterator[None]:
    """Have it serve while the block runs, in threads of this process."""
    thread = Thread(target=server.serve_forever, daemon=True, name=name)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(_END_SECONDS)
        server.close()
