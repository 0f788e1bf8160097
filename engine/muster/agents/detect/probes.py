"""Probes: each checks one thing once, within a time limit.

A probe distinguishes failures of its target from its own. A target that fails is a result; a probe that could not be
made (the command is not installed, there is no resolver configuration) has no result, and must never make a cluster
look broken.

The details of a result are committed to the repository, so they name programs without arguments, and URLs without
credentials and queries.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import urllib3

if TYPE_CHECKING:
    from dns.resolver import Resolver

_OK = range(200, 400)  # as the kubelet counts HTTP probes


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """The result of a probe: does the target work (None: the probe could not be made), and a short explanation."""

    healthy: bool | None
    detail: str


class Probe(Protocol):
    """Anything that can be probed."""

    def run(self) -> ProbeResult:
        """Probe once. Never raises for a failing target."""
        ...


class BoundedProbe:
    """Limits the time of a probe: the system's resolver has no limit, and a server may send its answer byte by byte.
    A late probe counts as failed, and the next run waits for the same one again: there is never a second at a time."""

    def __init__(self, probe: Probe, limit_seconds: float) -> None:
        self._probe, self._limit_seconds = probe, limit_seconds
        self._result: ProbeResult | None = None
        self._thread: threading.Thread | None = None

    def run(self) -> ProbeResult:
        """Probe once. An exception of the probe itself is not a result."""
        if self._thread is None or not self._thread.is_alive():
            self._result = None
            self._thread = threading.Thread(target=self._run, daemon=True, name="muster-probe")
            self._thread.start()
        self._thread.join(self._limit_seconds)
        return self._result or ProbeResult(healthy=False, detail=f"no answer within {self._limit_seconds:g} seconds")

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
        name = self.arguments[0]
        try:
            # The output is discarded: a command that never stops printing would fill the memory.
            process = subprocess.Popen(
                self.arguments, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            return ProbeResult(healthy=None, detail=f"{name}: cannot be run: {error}")
        try:
            status = process.wait(self.limit_seconds)
        except subprocess.TimeoutExpired:
            return ProbeResult(healthy=False, detail=f"{name}: no end within {self.limit_seconds:g} seconds")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return ProbeResult(healthy=status == 0, detail=f"{name}: ended with status {status}")


@dataclass(frozen=True, slots=True)
class HttpProbe:
    """Gets a URL; it works if the answer is 2xx or 3xx. Redirects are not followed."""

    url: str
    limit_seconds: float

    def run(self) -> ProbeResult:
        """Send one request on a new connection: a kept one would hide that no new connections can be made."""
        with urllib3.PoolManager(timeout=urllib3.Timeout(total=self.limit_seconds), retries=False) as pool:
            try:
                answer = pool.request("GET", self.url, preload_content=False, redirect=False)
            except urllib3.exceptions.HTTPError as error:
                return ProbeResult(healthy=False, detail=f"GET {_shown(self.url)}: {_plain(error)}")
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
            socket.create_connection((self.host, self.port), self.limit_seconds).close()
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
        from dns.exception import DNSException  # needs the extra `detect`
        from dns.resolver import NoResolverConfiguration

        try:
            answer = self._resolver().resolve(self.name, "A", lifetime=self.limit_seconds, search=self.server is None)
        except NoResolverConfiguration as error:
            return ProbeResult(healthy=None, detail=f"DNS {self.name}: {error}")
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
    return re.sub(r"//[^/]*@", "//", re.split(r"[?#]", url)[0])


def _plain(error: Exception) -> str:
    """The error in one line, without the addresses of Python objects that some libraries include."""
    return type(error).__name__ if " object at 0x" in str(error) else " ".join(str(error).split())
