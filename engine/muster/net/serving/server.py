"""An HTTP server for clients that do not trust each other: no client can block it for the others.

One thread accepts connections, does the TLS handshakes and reads requests; it waits for none of them. A connection
costs a file descriptor and no thread until its request is complete, so a slow or silent client costs next to nothing.
If there are too many connections, the server closes those that were silent longest, of the address with the most
connections. That thread itself answers probes, and some connections are always reserved for them.
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
from pathlib import Path
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket
from threading import Thread
from typing import Any, Final, TypeVar

from muster.net.serving.bodies import BodyBudget
from muster.net.serving.connection import HEAD_SECONDS, AdmittedRequest, Connection, in_thread
from muster.net.serving.http11 import HEAD_BYTES, HttpRequest, Response


def server_context(certificate: Path, key: Path, client_authority: Path | None, *, optional: bool) -> ssl.SSLContext:
    """Return the TLS settings of a server.

    With a `client_authority` clients must send a certificate that it signed, or may, if `optional`. OSError
    (ssl.SSLError is one) for files that cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    if client_authority is not None:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL if optional else ssl.CERT_REQUIRED
    return context


#: The most connections, if there are twice as many descriptors: git and files need the rest.
_MOST_CONNECTIONS: Final = 2048
#: One address may have one out of this many connections: many agents may share an address, behind a proxy.
_SHARE: Final = 2
#: One out of this many of an address' connections are accepted, or closed, in one go.
_PARTS: Final = 16
#: This many connections are never busy with a request, so that one can always be closed for a probe.
_RESERVE: Final = 16
#: This many requests are answered at a time; the others wait.
_WORKERS: Final = 16
_BACKLOG: Final = 1024  # connections that the system queues until they are accepted
_REFRESH_SECONDS: Final = 1.0
_PAUSE_SECONDS: Final = 0.1
_LAST_SECONDS: Final = 1.0  # for the requests in progress when the server ends
_END_SECONDS: Final = 5.0

T = TypeVar("T")


class AddressError(ValueError):
    """A text that is not an address to listen on."""


def parse_address(text: str) -> tuple[str, int]:
    """Parse `HOST:PORT`, with an IPv6 address in brackets. AddressError."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise AddressError("an IPv6 address needs brackets, as in [::1]:8080")
    if not host or not (port.isascii() and port.isdecimal()) or int(port) > 0xFFFF:
        raise AddressError("it is not HOST:PORT")
    return host, int(port)


class HttpServer:
    """A server with at most `most` connections at a time, with TLS if it has a `context`.

    Subclasses define the answers: `probe`, `admitted` and `answer` (see `connection.HttpSite`).
    """

    def __init__(
        self, address: tuple[str, int], *, context: ssl.SSLContext | None = None, most: int | None = None
    ) -> None:
        """Open the listening socket. OSError if that fails."""
        self.context = context
        self.most = most or min(_MOST_CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        self._share = max(1, self.most // _SHARE)
        self._batch = max(1, self._share // _PARTS)
        self._listener = socket(AF_INET6 if ":" in address[0] else AF_INET)
        try:
            self._listener.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
            self._listener.bind(address)
            self._listener.listen(_BACKLOG)
            self._listener.settimeout(0)
        except OSError:
            self._listener.close()
            raise
        host, port = self._listener.getsockname()[:2]
        self.server_host, self.server_port = str(host), int(port)
        self.bodies = BodyBudget()
        self._open = dict[asyncio.Task[None], Connection]()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_ending = False

    @property
    def url(self) -> str:
        """The URL of the server."""
        host = self.server_host
        return f"{'https' if self.context else 'http'}://{f'[{host}]' if ':' in host else host}:{self.server_port}"

    # -- for subclasses

    def probe(self, request: HttpRequest) -> Response | None:  # noqa: ARG002
        """See `connection.HttpSite`."""
        return None

    def admitted(self, request: HttpRequest) -> Response | AdmittedRequest:
        """See `connection.HttpSite`."""
        raise NotImplementedError

    def answer(self, request: HttpRequest, body: bytes) -> Response:
        """See `connection.HttpSite`."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Called before the first request, and then every second."""

    # -- asked by connections

    @property
    def site(self) -> "HttpServer":
        """What the server serves: itself."""
        return self

    def is_full(self) -> bool:
        """Is the number of requests in progress at its limit?"""
        return sum(not connection.idle for connection in self._open.values()) >= max(1, self.most - _RESERVE)

    async def ask(self, call: Callable[[], T]) -> T:
        """Run a call once a worker is free, and return its result."""
        async with self._workers:
            return await in_thread(call)

    # -- serving

    def serve_forever(self) -> None:
        """Serve until `shutdown`."""
        asyncio.run(self._serve())

    def shutdown(self) -> None:
        """End `serve_forever`."""
        self._is_ending = True
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._ending.set)

    def close(self) -> None:
        """Close the listening socket."""
        self._listener.close()

    async def _serve(self) -> None:
        self._loop, self._ending = asyncio.get_running_loop(), asyncio.Event()
        self._workers = asyncio.Semaphore(_WORKERS)
        self._loop.set_exception_handler(_log_exception)
        await in_thread(self.refresh)
        refreshing = asyncio.create_task(self._refresh_regularly())
        self._listen()
        if self._is_ending:
            self._ending.set()
        await self._ending.wait()
        self._loop.remove_reader(self._listener)
        busy = [task for task, connection in self._open.items() if not connection.idle]
        for task in (refreshing, *(set(self._open) - set(busy))):
            task.cancel()
        if busy:  # what is being answered is answered, and streams end as streams do
            await asyncio.wait(busy, timeout=_LAST_SECONDS)
        for task in self._open:
            task.cancel()
        await asyncio.wait((refreshing, *self._open), timeout=_END_SECONDS)

    async def _refresh_regularly(self) -> None:
        while True:
            await asyncio.sleep(_REFRESH_SECONDS)
            await in_thread(self.refresh)

    def _listen(self) -> None:
        """Accept connections from now on; `loop.sock_accept` may lose one that it accepted when it is cancelled."""
        if not self._ending.is_set():
            asyncio.get_running_loop().add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        """Accept the next connections: a few, so that the open ones have a turn, however many new ones arrive."""
        loop = asyncio.get_running_loop()
        for _ in range(self._batch):
            try:
                accepted, address = self._listener.accept()
            except BlockingIOError:
                return
            except OSError:  # the client is already gone, or there are no descriptors left
                loop.remove_reader(self._listener)
                loop.call_later(_PAUSE_SECONDS, self._listen)
                return
            accepted.settimeout(0)
            origin = _origin(address[0])
            if self._has_room(origin):
                connection = Connection(self, origin)
                task = loop.create_task(self._serve_connection(accepted, connection))
                self._open[task] = connection
                task.add_done_callback(partial(self._forget, accepted))
            else:
                accepted.close()

    def _forget(self, accepted: socket, task: "asyncio.Task[None]") -> None:
        self._open.pop(task, None)
        accepted.close()  # also if the task was cancelled before it began

    def _has_room(self, origin: str) -> bool:
        """Make room for another connection by closing silent ones. False if there is none to close."""
        if len(self._open) < self._share:
            return True
        counts = Counter(connection.address for connection in self._open.values())
        if counts[origin] >= self._share:
            fullest = origin
        elif len(self._open) >= self.most:
            idle = Counter(connection.address for connection in self._open.values() if connection.idle)
            fullest = max(idle, key=lambda address: counts[address], default="")
        else:
            return True
        silent = [
            (connection.since, task)
            for task, connection in self._open.items()
            if connection.idle and connection.address == fullest
        ]
        # Several at once: finding them takes longer than accepting a connection.
        for _, task in nsmallest(self._batch, silent, key=lambda entry: entry[0]):
            del self._open[task]
            task.cancel()
        return bool(silent)

    async def _serve_connection(self, accepted: socket, connection: Connection) -> None:
        """Do the handshake, and serve the connection until it ends."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=HEAD_BYTES, loop=loop)
        protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
        tls: dict[str, Any] = (
            {}
            if self.context is None
            else {
                "ssl": self.context,
                "ssl_handshake_timeout": HEAD_SECONDS,
                "ssl_shutdown_timeout": _PAUSE_SECONDS,
            }
        )
        transport: asyncio.Transport | None = None
        try:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, accepted, **tls)
            writer = asyncio.StreamWriter(transport, protocol, reader, loop)
            await connection.serve(reader, writer)
            writer.close()
            await writer.wait_closed()
        except (OSError, EOFError):  # the client hung up, or its certificate is not valid
            pass
        except Exception:  # noqa: BLE001 - a fault of ours costs one connection, and is logged
            traceback.print_exc()
        finally:
            if transport is not None:
                transport.abort()


def _origin(host: str) -> str:
    """The address that counts for limits: for IPv6 the network of 64 bits, which a single client usually owns."""
    with suppress(ValueError):
        address = IPv6Address(host.partition("%")[0])
        return str(address.ipv4_mapped or ip_network((int(address), 64), strict=False))
    return host


def _log_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log exceptions, except those of connections that end in the middle."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


@contextmanager
def served(server: HttpServer, name: str) -> Iterator[None]:
    """Run the server in threads of this process while the block runs."""
    thread = Thread(target=server.serve_forever, daemon=True, name=name)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join(_END_SECONDS)
        server.close()
