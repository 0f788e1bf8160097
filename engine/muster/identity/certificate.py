"""Certificates of agents, as far as whoever checks signatures looks at them."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from muster.identity.request import GROUP, common_name, public_bytes


@dataclass(frozen=True, slots=True, order=True)
class Issued:
    """A certificate of the agent of a cluster: whose it is, its key as `public_bytes` gives it, and from when until
    when it counts. `openssh` is the key as `ssh-keygen` writes it."""

    cluster: str
    user: str
    key: bytes
    openssh: str
    begin: datetime
    end: datetime

    def allowed_signer(self) -> str:
        """The line of an `allowed_signers` file of OpenSSH, by which git tells whose signature it is, and whether it is
        of the life of the certificate."""
        begin, end = (f"{instant:%Y%m%d%H%M%SZ}" for instant in (self.begin, self.end))
        return f'{self.user} namespaces="git",valid-after="{begin}",valid-before="{end}" {self.openssh}'


@lru_cache(maxsize=1 << 15)
def issued_of(pem: bytes) -> Issued | None:
    """Read a certificate; None where it is none, or no agent's."""
    try:
        made = x509.load_pem_x509_certificate(pem)
        user, key = common_name(made), made.public_key()
        begin, end = made.not_valid_before_utc, made.not_valid_after_utc
        openssh = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    except Exception:  # noqa: BLE001 - the library raises much for what a stranger may write
        return None
    cluster, _, agent = user.removeprefix(GROUP).partition(":")
    if not user.startswith(GROUP) or not agent or ":" in agent:
        return None
    return Issued(cluster, user, public_bytes(key), openssh, begin, end)
