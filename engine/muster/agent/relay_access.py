"""Who may speak for a cluster to a relay: whoever has its token, or the certificate of one of its agents."""

import hashlib
import hmac
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from muster.agent.hub_copy import HubCopy


class Tokens:
    """Whose a token is, by a file of lines `<cluster> <SHA-256 of the token, in hexadecimal>`. It is read again when it
    changes."""

    def __init__(self, path: Path) -> None:
        self._path, self._seen, self._known = path, (0, 0), dict[str, str]()
        self._read()

    def is_of(self, cluster: str, token: str) -> bool:
        """Whether it is that cluster's."""
        self._read()
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        return hmac.compare_digest(self._known.get(cluster, ""), digest)

    def _read(self) -> None:
        status = self._path.stat()
        seen = status.st_mtime_ns, status.st_size
        if seen != self._seen:
            lines = (line.split() for line in self._path.read_text(encoding="utf-8").splitlines())
            self._known = {words[0]: words[1].lower() for words in lines if len(words) == 2}
            self._seen = seen


@dataclass(frozen=True, slots=True)
class Certificates:
    """Whose a certificate is that a connection showed, and that its authority signed: it has to stand at the hub, too,
    where one that was revoked or replaced does not stand any more."""

    hub: HubCopy
    clock: Callable[[], datetime]

    def is_of(self, cluster: str, shown: bytes) -> bool:
        """Whether it is that cluster's. `shown` is DER."""
        from muster.identity.certificate import issued_of

        found = issued_of(ssl.DER_cert_to_PEM_cert(shown).encode())
        if found is None or found.cluster != cluster:
            return False
        standing = ((one.user, one.key) for one in self.hub.issued(cluster))
        return (found.user, found.key) in standing and found.begin <= self.clock() < found.end


def server_context(certificate: Path, key: Path, client_authority: Path | None, *, optional: bool) -> ssl.SSLContext:
    """TLS as a relay speaks it. With a `client_authority` agents show certificates that it signed; `optional`: or none.

    OSError, of which ssl.SSLError is one, for files that cannot be used.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    if client_authority is not None:
        context.load_verify_locations(client_authority)
        context.verify_mode = ssl.CERT_OPTIONAL if optional else ssl.CERT_REQUIRED
    return context
