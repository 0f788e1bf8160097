"""Sockets with a deadline: before each call, what is left of it becomes the socket's time limit.

The standard library's clients (smtplib, http.client) and urllib3 use them as any other socket, so their reading of
replies of several lines, heads and bodies ends at the deadline. A call on a TLS socket, a handshake too, has one time
limit for all that it receives.
"""

import socket
import ssl
from collections.abc import Iterable
from threading import Thread
from typing import Any, Final

from muster.net.deadline import Deadline

#: An option of a socket: level, name and value.
SocketOption = tuple[int, int, int | bytes]
#: Family, type, protocol, canonical name and address, as `socket.getaddrinfo` returns them.
AddressInfo = tuple[Any, Any, int, str, Any]
_NO_LIMIT: Final = 1 << 62


class BoundedSocket:
    """A socket with a deadline, which receives at most `left_bytes`."""

    deadline: Deadline | None = None
    left_bytes: int = _NO_LIMIT

    def begin(self) -> None:
        """Set the time limit of the next call. TimeoutError if the deadline is over."""
        if self.deadline is not None:
            self.settimeout(self.deadline.require())  # type: ignore[attr-defined]

    def counted(self, count: int) -> None:
        """Count received bytes. OSError if there are too many."""
        self.left_bytes -= count
        if self.left_bytes < 0:
            raise OSError("the peer sends too much")


class DeadlineSocket(BoundedSocket, socket.socket):
    """A socket with a deadline."""

    def recv(self, *arguments: Any) -> bytes:
        """See `socket.socket`."""
        self.begin()
        data = super().recv(*arguments)
        self.counted(len(data))
        return data

    def recv_into(self, *arguments: Any) -> int:
        """See `socket.socket`."""
        self.begin()
        count = super().recv_into(*arguments)
        self.counted(count)
        return count

    def send(self, *arguments: Any) -> int:
        """See `socket.socket`."""
        self.begin()
        return super().send(*arguments)

    def sendall(self, *arguments: Any) -> None:
        """See `socket.socket`."""
        self.begin()
        super().sendall(*arguments)


class DeadlineTlsSocket(BoundedSocket, ssl.SSLSocket):
    """The same over TLS."""

    @classmethod
    def _create(cls, sock: socket.socket, *arguments: Any, **options: Any) -> "DeadlineTlsSocket":
        """Wrap a socket: every way to TLS ends here, and with the handshake, whose time limit is the socket's."""
        if isinstance(sock, BoundedSocket):
            sock.begin()
        made: DeadlineTlsSocket = super()._create(sock, *arguments, **options)  # type: ignore[misc]
        if isinstance(sock, BoundedSocket):
            made.deadline, made.left_bytes = sock.deadline, sock.left_bytes
        return made

    def read(self, *arguments: Any) -> Any:
        """See `ssl.SSLSocket`; `recv` and `recv_into` come here."""
        self.begin()
        data: Any = super().read(*arguments)
        self.counted(data if isinstance(data, int) else len(data))
        return data

    def send(self, *arguments: Any) -> int:
        """See `ssl.SSLSocket`; `sendall` comes here."""
        self.begin()
        return super().send(*arguments)


def with_deadlines(context: ssl.SSLContext) -> ssl.SSLContext:
    """Let a context make TLS sockets with deadlines."""
    context.sslsocket_class = DeadlineTlsSocket
    return context


def connect(
    address: tuple[str, int], deadline: Deadline, options: Iterable[SocketOption] = (), most_bytes: int = _NO_LIMIT
) -> DeadlineSocket:
    """Connect to a host and port; each of its addresses has a part of the time. OSError (socket.gaierror and
    TimeoutError are some) if no address can be reached."""
    infos = resolve(address, deadline)
    error: OSError = OSError(f"{address[0]} has no address")
    for tried, (family, type_, proto, _, socket_address) in enumerate(infos):
        made = DeadlineSocket(family, type_, proto)
        try:
            for option in options:
                made.setsockopt(*option)
            made.settimeout(deadline.require() / (len(infos) - tried))
            made.connect(socket_address)
        except OSError as failed:
            made.close()
            error = TimeoutError(deadline.missed) if deadline.expired else failed
        else:
            made.deadline, made.left_bytes = deadline, most_bytes
            made.begin()
            return made
    raise error


def resolve(address: tuple[str, int], deadline: Deadline) -> list[AddressInfo]:
    """Return the addresses of a host. The system's resolver has no time limit, so it runs in a thread, which is left
    behind at the deadline. socket.gaierror if there are none, TimeoutError if there is no answer."""
    try:
        return socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (socket.gaierror, UnicodeError):
        infos, failed = list[AddressInfo](), list[OSError]()

    def ask() -> None:
        try:
            infos.extend(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except OSError as error:
            failed.append(error)
        except UnicodeError as error:  # a label that is too long
            failed.append(socket.gaierror(socket.EAI_NONAME, f"{address[0]!r} is not a host name: {error}"))

    asking = Thread(target=ask, daemon=True, name="muster-resolve")
    asking.start()
    asking.join(deadline.require())
    if failed:
        raise failed[0]
    if asking.is_alive():
        raise TimeoutError(deadline.missed)
    return infos
