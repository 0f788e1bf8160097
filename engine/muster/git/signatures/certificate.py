"""Certificates of agents, and the public keys and names that certificates and certificate requests carry."""

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import lru_cache
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.x509.oid import NameOID

from muster.data.agentref import agent_named
from muster.dataclass import dataclass
from muster.git.errors import IdentityError

_LEAST_BITS: Final = 2048  # of an RSA key

SoundKey: TypeAlias = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey


def common_name(of: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """Return the common name of a certificate or request; the last one if there are several."""
    with any_length():
        names = of.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def sound_key(key: object) -> "SoundKey":
    """Return the key if agents may have it: ECDSA P-256, Ed25519, RSA of 2048 bits or more; else IdentityError.

    P-384 and P-521 are no better here, and few signers accept them.
    """
    curve = isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    long = isinstance(key, rsa.RSAPublicKey) and key.key_size >= _LEAST_BITS
    if not (curve or long or isinstance(key, ed25519.Ed25519PublicKey)):
        raise IdentityError(f"its key is not ECDSA P-256, Ed25519, or RSA of {_LEAST_BITS} bits or more")
    return key  # type: ignore[return-value]


def public_bytes(key: PublicKeyTypes) -> bytes:
    """Return a key in the form in which keys are compared."""
    encoded: bytes = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encoded


@contextmanager
def any_length() -> Iterator[None]:
    """Silence the library's warning about names that are too long for X.509."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Attribute's length must be", category=UserWarning)
        yield


@dataclass(frozen=True, slots=True, order=True)
class Issued:
    """A certificate of a cluster's agent: its user, its key (see `public_bytes`) and its lifetime. `openssh` is the key
    as `ssh-keygen` writes it, `digest` that of the certificate's text."""

    cluster: str
    user: str
    key: bytes
    openssh: str
    begin: datetime
    end: datetime
    digest: str

    def allowed_signer(self) -> str:
        """Return the line of OpenSSH's `allowed_signers` file by which git checks the signer and the lifetime."""
        begin, end = (f"{instant:%Y%m%d%H%M%SZ}" for instant in (self.begin, self.end))
        return f'{self.user} namespaces="git",valid-after="{begin}",valid-before="{end}" {self.openssh}'


@lru_cache(maxsize=1 << 15)
def issued_of(pem: bytes, authority: str = "") -> Issued | None:
    """Read a certificate; None if it is none, or no agent's, or not signed by the `authority`: one or several
    certificates as PEM, or empty for any but the certificate itself: nobody issued that one."""
    try:
        made = x509.load_pem_x509_certificate(pem)
        if authority and not any(_signed_by(made, issuer) for issuer in authorities(authority)):
            return None
        if _signed_by(made, made):
            return None
        user, key = common_name(made), sound_key(made.public_key())
        begin, end = made.not_valid_before_utc, made.not_valid_after_utc
        openssh = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    except Exception:  # noqa: BLE001 - the library raises many errors for hostile input
        return None
    if not (cluster := agent_named(user)):
        return None
    return Issued(cluster, user, public_bytes(key), openssh, begin, end, hashlib.sha256(pem).hexdigest())


@lru_cache(maxsize=8)
def authorities(text: str) -> tuple[x509.Certificate, ...]:
    """Return the certificates of authorities in a text; none if it cannot be read: then they signed nothing."""
    try:
        return tuple(
            certificate for certificate in x509.load_pem_x509_certificates(text.encode()) if _is_authority(certificate)
        )
    except ValueError:
        return ()


def _is_authority(certificate: x509.Certificate) -> bool:
    return any(
        isinstance(extension.value, x509.BasicConstraints) and extension.value.ca
        for extension in certificate.extensions
    )


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # noqa: BLE001 - the library raises many errors for hostile input
        return False
    return True
