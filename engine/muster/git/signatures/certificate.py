"""Certificates of agents, as far as whoever checks signatures looks at them."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from muster.data.agentref import agent_named
from muster.git.signatures.keys import common_name, public_bytes, sound_key


@dataclass(frozen=True, slots=True, order=True)
class Issued:
    """A certificate of the agent of a cluster: whose it is, its key as `public_bytes` gives it, and from when until
    when it counts. `openssh` is the key as `ssh-keygen` writes it, `digest` that of the certificate's text."""

    cluster: str
    user: str
    key: bytes
    openssh: str
    begin: datetime
    end: datetime
    digest: str

    def allowed_signer(self) -> str:
        """The line of an `allowed_signers` file of OpenSSH, by which git tells whose signature it is, and whether it is
        of the life of the certificate."""
        begin, end = (f"{instant:%Y%m%d%H%M%SZ}" for instant in (self.begin, self.end))
        return f'{self.user} namespaces="git",valid-after="{begin}",valid-before="{end}" {self.openssh}'


@lru_cache(maxsize=1 << 15)
def issued_of(pem: bytes, authority: str = "") -> Issued | None:
    """Read a certificate; None where it is none, or no agent's, or not signed by the `authority` that is named: one or
    several certificates as PEM."""
    try:
        made = x509.load_pem_x509_certificate(pem)
        if authority and not any(_signed_by(made, one) for one in authorities(authority)):
            return None
        user, key = common_name(made), sound_key(made.public_key())
        begin, end = made.not_valid_before_utc, made.not_valid_after_utc
        openssh = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    except Exception:  # noqa: BLE001 - the library raises much for what a stranger may write
        return None
    if not (cluster := agent_named(user)):
        return None
    return Issued(cluster, user, public_bytes(key), openssh, begin, end, hashlib.sha256(pem).hexdigest())


@lru_cache(maxsize=8)
def authorities(text: str) -> tuple[x509.Certificate, ...]:
    """The certificates of authorities in a text; none where it cannot be read: then nothing is signed by them."""
    try:
        return tuple(one for one in x509.load_pem_x509_certificates(text.encode()) if _is_authority(one))
    except ValueError:
        return ()


def _is_authority(certificate: x509.Certificate) -> bool:
    return any(isinstance(one.value, x509.BasicConstraints) and one.value.ca for one in certificate.extensions)


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # noqa: BLE001 - the library raises much for what a stranger may write
        return False
    return True
