"""Who may speak for a cluster to a relay: whoever has its token, or the certificate of one of its agents."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from muster.agents.hub_copy import HubCopy
from muster.agents.serving.tokens import Reread, is_same


class Tokens:
    """Whose a token is, by a file of lines `<cluster> <SHA-256 of the token, in hexadecimal>`. It is read again when it
    changes."""

    def __init__(self, path: Path) -> None:
        self._known = Reread(path, _read)

    def is_of(self, cluster: str, token: str) -> bool:
        """Whether it is that cluster's."""
        return is_same((self._known() or {}).get(cluster, ""), token)


def _read(text: str) -> dict[str, str]:
    lines = (line.split() for line in text.splitlines())
    return {words[0]: words[1].lower() for words in lines if len(words) == 2}


@dataclass(frozen=True, slots=True)
class Certificates:
    """Whose a certificate is that a connection showed, and that its authority signed: it has to stand at the hub, too,
    where one that was revoked or replaced does not stand any more."""

    hub: HubCopy
    clock: Callable[[], datetime]

    def is_of(self, cluster: str, shown: bytes) -> bool:
        """Whether it is that cluster's. `shown` is DER."""
        from muster.git.signatures.certificate import issued_of

        found = issued_of(ssl.DER_cert_to_PEM_cert(shown).encode())
        if found is None or found.cluster != cluster:
            return False
        standing = ((one.user, one.key) for one in self.hub.issued(cluster))
        return (found.user, found.key) in standing and found.begin <= self.clock() < found.end
