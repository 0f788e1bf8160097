"""Probes: each checks one thing once, within a time limit.

A probe distinguishes failures of its target from its own. A target that fails is a result; a probe that could not be
made (the command is not installed, there is no resolver configuration) has no result, and must never make a cluster
look broken.

The details of a result are committed to the repository, so they name programs without arguments, and URLs without
credentials and queries.
"""

import ipaddress
import shlex
import threading
from collections.abc import Callable, Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING, NamedTuple, Protocol

import urllib3

from muster.data.tree import Tree, read_json
from muster.dataclass import dataclass
from muster.net.commands import run_command
from muster.net.deadline import Deadline
from muster.net.http import exchange, new_pool, reason
from muster.net.sockets import connect

if TYPE_CHECKING:
    from dns.resolver import Resolver

_OK = range(200, 400)  # as the kubelet counts HTTP probes


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of a probe: does the target work (None: the probe could not be made), and a short explanation."""

    healthy: bool | None
    detail: str


def _late(limit_seconds: float, *, healthy: bool | None = False) -> ProbeResult:
    """The result of a probe that took too long. Whoever notices says the same, so that reports do not alternate."""
    return ProbeResult(healthy, f"no answer within {limit_seconds:g} seconds")


class Probe(Protocol):
    """Anything that can be probed."""

    def run(self) -> ProbeResult:
        """Probe once. Never raises for a failing target."""
        ...


class BoundedProbe:
    """Limits the time of a probe: the system's resolver has no limit, and a server may send its answer byte by byte.
    A late probe counts as `late`: failed, unless the target is not to blame. The next run waits for the same one again:
    there is never a second at a time."""

    def __init__(self, probe: Probe, limit_seconds: float, *, late: bool | None = False) -> None:
        self._probe, self._limit_seconds, self._late = probe, limit_seconds, late
        self._result: ProbeResult | None = None
        self._thread: threading.Thread | None = None

    def run(self) -> ProbeResult:
        """Probe once. An exception of the probe itself is not a result."""
        if self._thread is None or not self._thread.is_alive():
            self._result = None
            self._thread = threading.Thread(target=self._run, daemon=True, name="muster-probe")
            self._thread.start()
        self._thread.join(self._limit_seconds)
        return self._result or _late(self._limit_seconds, healthy=self._late)

    def _run(self) -> None:
        try:
            self._result = self._probe.run()
        except Exception as error:  # noqa: BLE001 - the target did not raise it
            self._result = ProbeResult(healthy=None, detail=f"the probe failed: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class CommandProbe:
    """Runs a command, without a shell; it works if the command ends with status 0."""

    arguments: Sequence[str]
    limit_seconds: float

    def run(self) -> ProbeResult:
        """Run the command; after the limit it is killed with all its children."""
        # The output is discarded: a command that never stops printing would fill the memory.
        ended = _run(self.arguments, self.limit_seconds, reads=False)
        if ended.status is None:
            return ProbeResult(ended.healthy, ended.detail)
        return ProbeResult(healthy=ended.status == 0, detail=ended.detail)


@dataclass(frozen=True, slots=True)
class AnswerProbe:
    """Runs a command that prints JSON, as the command lines of clouds do; it works if `holds` says so of the value.

    A command that fails or prints something else gives no result: if a login ended or a cloud does not answer, the
    cluster is not to blame. `holds` raises ValueError if the value does not have what it needs.
    """

    arguments: Sequence[str]
    limit_seconds: float
    holds: Callable[[Tree], bool]

    def run(self) -> ProbeResult:
        """Run the command; after the limit it is killed with all its children."""
        ended = _run(self.arguments, self.limit_seconds, reads=True)
        if ended.status != 0:
            return ProbeResult(healthy=None, detail=ended.detail)
        name = self.arguments[0]
        try:
            healthy = self.holds(read_json(ended.output))
        except ValueError as error:
            return ProbeResult(healthy=None, detail=f"{name}: the answer cannot be judged: {_plain(error)}")
        return ProbeResult(healthy, f"{name}: the answer is {'as' if healthy else 'not as'} expected")


class _Ended(NamedTuple):
    """How a command ended: its status (None: it did not end, or could not be run), and the output."""

    status: int | None
    healthy: bool | None
    detail: str
    output: bytes = b""


def _run(arguments: Sequence[str], limit_seconds: float, *, reads: bool) -> _Ended:
    """Run a command, without a shell, and read a bounded part of its output."""
    name = arguments[0]
    try:
        ended = run_command(arguments, limit_seconds, reads=reads)
    except (OSError, ValueError) as error:
        return _Ended(None, healthy=None, detail=f"{name}: cannot be run: {error}")
    if ended.status is None:
        return _Ended(None, healthy=False, detail=f"{name}: no end within {limit_seconds:g} seconds")
    return _Ended(ended.status, ended.status == 0, f"{name}: ended with status {ended.status}", ended.output)


@dataclass(frozen=True, slots=True)
class HttpProbe:
    """Gets a URL; it works if the answer is 2xx or 3xx. Redirects are not followed."""

    url: str
    limit_seconds: float

    def run(self) -> ProbeResult:
        """Send one request on a new connection: a kept one would hide that no new connections can be made."""
        deadline = Deadline.after(self.limit_seconds)
        with new_pool() as pool:
            try:
                answer = exchange(pool, deadline, "GET", self.url)
            except (urllib3.exceptions.HTTPError, HTTPException, OSError) as error:
                if (why := reason(error, deadline)) == deadline.missed:
                    return _late(self.limit_seconds)
                return ProbeResult(healthy=False, detail=f"GET {_shown(self.url)}: {why}")
            status = answer.status
            answer.close()
        return ProbeResult(healthy=status in _OK, detail=f"GET {_shown(self.url)}: status {status}")


@dataclass(frozen=True, slots=True)
class TcpProbe:
    """Connects to a port; it works if the connection is accepted."""

    host: str
    port: int
    limit_seconds: float

    def run(self) -> ProbeResult:
        """Connect, and close the connection."""
        name = f"TCP {self.host}:{self.port}"
        try:
            connect((self.host, self.port), Deadline.after(self.limit_seconds)).close()
        except TimeoutError:
            return _late(self.limit_seconds)
        except OSError as error:
            return ProbeResult(healthy=False, detail=f"{name}: {error}")
        return ProbeResult(healthy=True, detail=f"{name}: connected")


@dataclass(frozen=True, slots=True)
class DnsProbe:
    """Resolves a name; it works if a server returns at least one address.

    `server` is an IP address, because its name would have to be resolved first; None for the system's servers and
    search domains.
    """

    name: str
    server: tuple[str, int] | None
    limit_seconds: float

    def run(self) -> ProbeResult:
        """Ask once for an IPv4 address. ImportError if dnspython is not installed."""
        from dns.exception import DNSException, Timeout  # needs the extra `detect`
        from dns.resolver import NoResolverConfiguration

        try:
            answer = self._resolver().resolve(self.name, "A", lifetime=self.limit_seconds, search=self.server is None)
        except NoResolverConfiguration as error:
            return ProbeResult(healthy=None, detail=f"DNS {self.name}: {error}")
        except Timeout:
            return _late(self.limit_seconds)
        except (DNSException, OSError) as error:
            return ProbeResult(healthy=False, detail=f"DNS {self.name}: {_plain(error)}")
        return ProbeResult(healthy=True, detail=f"DNS {self.name}: {len(answer)} addresses")

    def _resolver(self) -> "Resolver":
        from dns.resolver import Resolver

        resolver = Resolver(configure=self.server is None)
        if self.server is not None:
            address, port = self.server
            resolver.nameservers = [address]
            resolver.port = port
        return resolver


def _shown(url: str) -> str:
    scheme, _, rest = url.partition("?")[0].partition("#")[0].partition("//")
    host, slash, path = rest.partition("/")
    return f"{scheme}//{host.rpartition('@')[2]}{slash}{path}"


def _plain(error: Exception) -> str:
    """The error in one line, without the addresses of Python objects that some libraries include."""
    return type(error).__name__ if " object at 0x" in str(error) else " ".join(str(error).split())


def host_and_port(text: str) -> tuple[str, int]:
    """Parse HOST:PORT. ValueError if it is none."""
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise ValueError(f"{text!r} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def server_address(text: str) -> tuple[str, int]:
    """Parse the address of a DNS server, with or without a port. ValueError if it is none."""
    host, port = (text, 53) if _is_address(text) else host_and_port(text)
    if not _is_address(host):
        raise ValueError(f"{host!r} is not an IP address, and a name would need a server to be resolved")
    return host, port


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def probe_target(sort: str, text: str, server: str = "") -> tuple[str, ...]:
    """Parse what a probe of a sort (`command`, `http`, `tcp` or `dns`) checks: words, a URL, host and port, or a host
    and the DNS server to ask. ValueError."""
    if sort == "command":
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise ValueError(f"{text!r}: {error}") from error
        if not words:
            raise ValueError(f"{text!r} is empty")
        return words
    if sort == "http" and not _is_url(text):
        raise ValueError(f"{text!r} is not a URL such as http://10.0.0.1:8080/healthz")
    if sort == "tcp":
        host, port = host_and_port(text)
        return host, str(port)
    if server:
        address, port = server_address(server)
        return text, address, str(port)
    return (text,)


def _is_url(text: str) -> bool:
    scheme, separator, rest = text.partition("://")
    return bool(separator) and scheme.lower() in ("http", "https") and rest[:1] not in ("", "/")


def probe_of(sort: str, target: Sequence[str], limit_seconds: float) -> Probe:
    """Return the probe of a sort for what `probe_target` returned."""
    host, *rest = target
    if sort == "command":
        return CommandProbe(target, limit_seconds)
    if sort == "http":
        return HttpProbe(host, limit_seconds)
    if sort == "tcp":
        return TcpProbe(host, int(rest[0]), limit_seconds)
    return DnsProbe(host, (rest[0], int(rest[1])) if rest else None, limit_seconds)
