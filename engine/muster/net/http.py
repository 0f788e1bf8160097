"""Requests over HTTP with urllib3, each within a deadline for all of it: connecting, TLS, head and body.

`pool` makes a pool of connections, `exchange` sends a request on one. The body of the answer is read before the same
deadline.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from socket import gaierror
from typing import Any, Final

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs

from muster.net.deadline import Deadline
from muster.net.sockets import BoundedSocket, DeadlineSocket, connect, with_deadlines

#: The deadline of the request that this thread sends: urllib3 passes nothing through to its connections.
_SENDING: ContextVar[Deadline] = ContextVar("deadline of a request")
_AUTHORITIES: Final = ("ca_certs", "ca_cert_dir", "ca_cert_data")


class _Plain(HTTPConnection):
    """A connection whose socket has the deadline of the present request."""

    def _new_conn(self) -> DeadlineSocket:
        deadline = _SENDING.get()
        try:
            return connect((self._dns_host, self.port), deadline, self.socket_options or ())
        except gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except TimeoutError as error:
            raise ConnectTimeoutError(self, deadline.missed) from error
        except OSError as error:
            raise NewConnectionError(self, f"Failed to establish a new connection: {error}") from error

    def request(self, *arguments: Any, **options: Any) -> None:
        """See `HTTPConnection`. A kept connection gets the deadline of this request."""
        if isinstance(self.sock, BoundedSocket):
            self.sock.deadline = _SENDING.get()
        super().request(*arguments, **options)


class _Secure(_Plain, HTTPSConnection):
    """The same over TLS."""

    def connect(self) -> None:
        """See `HTTPSConnection`."""
        if self.ssl_context is None:
            self.ssl_context = create_urllib3_context(cert_reqs=resolve_cert_reqs(self.cert_reqs))
            if not any(getattr(self, name) for name in _AUTHORITIES):
                self.ssl_context.load_default_certs()
        with_deadlines(self.ssl_context)
        super().connect()


class _PlainPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Secure


def bounded(pool: urllib3.PoolManager) -> urllib3.PoolManager:
    """Let a pool make connections with deadlines; not through a SOCKS proxy, which has connections of its own."""
    pool.pool_classes_by_scheme = {"http": _PlainPool, "https": _SecurePool}
    return pool


def new_pool(**options: Any) -> urllib3.PoolManager:
    """Return a pool that retries nothing and follows no redirection. `options` are urllib3's."""
    return bounded(urllib3.PoolManager(retries=False, **options))


@contextmanager
def sending(deadline: Deadline) -> Iterator[None]:
    """Send requests within the deadline while the block runs."""
    token = _SENDING.set(deadline)
    try:
        yield
    finally:
        _SENDING.reset(token)


def exchange(
    pool: urllib3.PoolManager, deadline: Deadline, method: str, url: str, **options: Any
) -> urllib3.BaseHTTPResponse:
    """Send a request and return the answer, whose body is not read yet. urllib3.exceptions.HTTPError or OSError if
    there is none."""
    limit = urllib3.Timeout(total=deadline.require())  # for connections that are not ours: through a SOCKS proxy
    with sending(deadline):
        return pool.request(method, url, timeout=limit, preload_content=False, redirect=False, retries=False, **options)


def reason(error: Exception, deadline: Deadline) -> str:
    """Return why an exchange failed, in a few words: the last of urllib3's nested causes, which is the specific one."""
    timed_out = isinstance(error, urllib3.exceptions.TimeoutError) and not isinstance(error, NewConnectionError)
    if deadline.expired or timed_out:
        return deadline.missed
    return str(error).rpartition(": ")[2] or type(error).__name__
