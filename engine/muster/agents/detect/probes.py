"""Probes: one look at something, within a time.

A probe tells *their* failure from *ours*. What it looks at failing is an observation; that it could not look at all
(the command is not installed, there is no resolver configuration) is none, and must never make a cluster look broken.

What a probe says is committed for all to read, so it names programs without their arguments and URLs without
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

if TYPE_CHECKING:
    from dns.resolver import Resolver

_OK = range(200, 400)  # as the kubelet counts HTTP probes


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a probe saw: whether it works (None: the probe could not look), and in a few words why."""

    healthy: bool | None
    detail: str


class Probe(Protocol):
    """Anything that can look."""

    def look(self) -> ProbeResult:
        """Look once. Never raises for what it finds."""
        ...


class Bounded:
    """Holds a probe to its time, whatever it waits for: the system's resolver knows no limit, and a server may send its
    answer byte by byte. One that is late has failed, and the next look waits for it again: there is never a second.
    """

    def __init__(self, probe: Probe, limit_seconds: float) -> None:
        """Let `probe` look for `limit_seconds` at most."""
        self._probe, self._limit_seconds = probe, limit_seconds
        self._seen: ProbeResult | None = None
        self._thread: threading.Thread | None = None

    def look(self) -> ProbeResult:
        """Look once. A fault of the probe itself is no observation."""
        if self._thread is None or not self._thread.is_alive():
            self._seen = None
            self._thread = threading.Thread(target=self._look, daemon=True, name="muster-probe")
            self._thread.start()
        self._thread.join(self._limit_seconds)
        return self._seen or ProbeResult(healthy=False, detail=f"no answer within {self._limit_seconds:g} seconds")

    def _look(self) -> None:
        try:
            self._seen = self._probe.look()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is ours and not theirs
            self._seen = ProbeResult(healthy=None, detail=f"the probe failed: {type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class CommandProbe:
    """Runs a command, without a shell: it works if the command ends with status 0."""

    arguments: Sequence[str]
    limit_seconds: float

    def look(self) -> ProbeResult:
        """Run the command; past the limit it is killed with all its children."""
        name = self.arguments[0]
        try:
            # Its output goes nowhere: one that never stops printing would fill the memory.
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
    """Gets a URL: it works if the answer is 2xx or 3xx. Redirects are not followed."""

    url: str
    limit_seconds: float

    def look(self) -> ProbeResult:
        """Send one request on a connection of its own: a kept one would hide that no new ones can be made."""
        import urllib3

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
    """Connects to a port: it works if the connection is accepted."""

    host: str
    port: int
    limit_seconds: float

    def look(self) -> ProbeResult:
        """Connect and close again."""
        name = f"TCP {self.host}:{self.port}"
        try:
            socket.create_connection((self.host, self.port), self.limit_seconds).close()
        except OSError as error:
            return ProbeResult(healthy=False, detail=f"{name}: {error}")
        return ProbeResult(healthy=True, detail=f"{name}: connected")


@dataclass(frozen=True, slots=True)
class DnsProbe:
    """Resolves a name: it works if a server gives at least one address.

    `server` None asks the system's servers, with its search domains; else an IP address: a name would need
    the very thing that is looked at.
    """

    name: str
    server: tuple[str, int] | None
    limit_seconds: float

    def look(self) -> ProbeResult:
        """Ask once for an IPv4 address. ImportError where dnspython is not installed."""
        from dns.exception import DNSException
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
    """The error in one line, without the addresses of objects that some libraries put into theirs."""
    return type(error).__name__ if " object at 0x" in str(error) else " ".join(str(error).split())
