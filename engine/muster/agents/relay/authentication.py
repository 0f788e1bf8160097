"""Who sends a request to a relay: by bearer token or client certificate; and how many requests each may send."""

import ssl
from collections.abc import Callable, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Final

from muster.agents.hub.local import LocalHub
from muster.data.agentref import Mandate, is_cluster_name
from muster.dataclass import dataclass
from muster.net.serving.http11 import HttpRequest
from muster.net.serving.tokens import ReloadedFile, matches_digest, token_digest

_HEX: Final = "0123456789abcdefABCDEF"


@dataclass(frozen=True, slots=True)
class Sender:
    """A collector, or the agent of a cluster: its name, and the clusters that it may report on."""

    name: str
    clusters: Mandate


@dataclass(frozen=True, slots=True)
class _Tokens:
    agents: dict[str, list[str]]  # by cluster, the digests of its agent's tokens
    senders: dict[str, Sender]  # by digest


class TokenFile:
    """The tokens: a file of lines, reloaded on changes.

    `<cluster> <SHA-256 of the token, in hexadecimal>` is of a cluster's agent, which may have several while it is given
    another one; with a third word, `<clusters>`, the line is of a collector: names and patterns of the clusters that it
    may report on, separated by commas. Empty lines and lines with `#` in front are left out. `say` gets a line about
    each other one, without its content.
    """

    def __init__(self, path: Path, say: Callable[[str], None] = lambda _: None) -> None:
        self._path, self._say = path, say
        self._tokens = ReloadedFile(path, self._read)

    def admits(self, cluster: str, token: str) -> bool:
        """Does the token belong to the cluster's agent?"""
        tokens = self._tokens()
        digests = tokens.agents.get(cluster, ()) if tokens is not None else ()
        return any(matches_digest(digest, token) for digest in digests)

    def sender(self, token: str) -> Sender | None:
        """Return who has the token."""
        tokens = self._tokens()
        return None if tokens is None else tokens.senders.get(token_digest(token))

    def _read(self, text: str) -> _Tokens:
        tokens = _Tokens({}, {})
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            if problem := _problem_of(words):
                self._say(f"{self._path}:{number}: {problem}: the line does not count")
                continue
            name, digest = words[0], words[1].lower()
            if len(words) == 2:
                tokens.agents.setdefault(name, []).append(digest)
            tokens.senders[digest] = Sender(name, Mandate(words[2].split(",") if len(words) == 3 else [name]))
        return tokens


def _problem_of(words: Sequence[str]) -> str:
    """What is wrong with a line of tokens; empty for nothing."""
    if len(words) not in (2, 3):
        return "a line is `<cluster> <SHA-256 of the token>` or `<name> <SHA-256 of the token> <clusters>`"
    if not is_cluster_name(words[0]):
        return "the first word is not a name: lower case letters, digits and '-'"
    return (
        ""
        if len(words[1]) == 64 and not words[1].strip(_HEX)
        else "the second word is not the SHA-256 of a token, in 64 hexadecimal digits"
    )


@dataclass(frozen=True, slots=True)
class ClientCertificates:
    """The agents' certificates.

    TLS has verified that the authority signed a certificate. It must also be at the hub, which no longer has one that
    was revoked or replaced.
    """

    hub: LocalHub
    clock: Callable[[], datetime]

    def cluster(self, certificate: bytes) -> str:
        """Return the cluster whose agent has the certificate (DER); empty for none."""
        from muster.git.signatures.certificate import issued_of  # needs the extra `identity`

        names = issued_of(ssl.DER_cert_to_PEM_cert(certificate).encode())
        if names is None or not names.begin <= self.clock() < names.end:
            return ""
        issued = ((issued_key.user, issued_key.key) for issued_key in self.hub.issued(names.cluster))
        return names.cluster if (names.user, names.key) in issued else ""


@dataclass(frozen=True, slots=True)
class Authentication:
    """How senders authenticate: by tokens, by certificates, or by either. With a `context` connections use TLS."""

    tokens: TokenFile | None = None
    certificates: ClientCertificates | None = None
    context: ssl.SSLContext | None = None

    def admits(self, cluster: str, request: HttpRequest) -> bool:
        """Does the request come from an agent of the cluster?"""
        if self.tokens and request.bearer is not None and self.tokens.admits(cluster, request.bearer):
            return True
        return self._cluster(request) == cluster

    def sender(self, request: HttpRequest) -> Sender | None:
        """Return who sends the request; None if it shows neither a known token nor a valid certificate."""
        if self.tokens and request.bearer is not None and (holder := self.tokens.sender(request.bearer)):
            return holder
        cluster = self._cluster(request)
        return Sender(cluster, Mandate([cluster])) if cluster else None

    def _cluster(self, request: HttpRequest) -> str:
        if self.certificates is None or request.certificate is None:
            return ""
        return self.certificates.cluster(request.certificate)


@dataclass
class RateLimit:
    """At most `per_second` requests of each sender, of which `burst` may come at once. Thread-safe.

    Senders are known by then, so the memory is bounded.
    """

    per_second: float
    burst: float
    clock: Callable[[], float] = monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=dict)  # by sender: requests left at an instant
    _lock: Lock = field(default_factory=Lock)

    def wait_seconds(self, sender: str) -> float:
        """Count a request; return 0 if it is within the limit, else after how many seconds the next one will be."""
        now = self.clock()
        with self._lock:
            left, since = self._left.get(sender, (self.burst, now))
            left = min(self.burst, left + (now - since) * self.per_second)
            self._left[sender] = (left - 1 if left >= 1 else left), now
        return 0.0 if left >= 1 else (1 - left) / self.per_second
