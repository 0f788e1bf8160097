"""A certificate authority: it signs exactly what was approved.

A certificate has the approved name and groups and nothing else that the request contains: no further attributes, no
alternative names, no extensions. Its usages are those of a client (upstream requests
`kubernetes.io/kube-apiserver-client`, whose signer permits no others). Its lifetime is limited by the request, by the
signer and by the authority's own certificate.
"""

import stat
from collections.abc import Iterable, Sequence
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from muster.agents.identity.request import subject
from muster.dataclass import dataclass
from muster.git.errors import IdentityError
from muster.git.signatures.certificate import SoundKey, public_bytes, sound_key

Signing: TypeAlias = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
_CLIENT: Final = "client auth"
_DIGITAL, _ENCIPHERMENT = "digital signature", "key encipherment"
_USAGES: Final = frozenset((_CLIENT, _DIGITAL, _ENCIPHERMENT))
#: A certificate is valid from this long before its signature, because clocks differ; at most a tenth of its life.
_BACKDATED: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Approved:
    """An approved request: the request as PEM, its name and groups, its usages and its lifetime in seconds."""

    pem: bytes
    common_name: str
    organizations: Sequence[str]
    usages: Sequence[str]
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate and its key. It signs no certificate for longer than `longest`."""

    certificate: x509.Certificate
    key: Signing = field(repr=False)
    longest: timedelta

    def sign(self, asked: Approved, now: datetime) -> bytes:
        """Return the certificate as PEM. IdentityError if the request must not be signed."""
        key = _proven_key(asked.pem)
        usages = _sound_usages(asked.usages)
        wanted = self.longest if asked.seconds is None else min(self.longest, timedelta(seconds=asked.seconds))
        until = min(now + wanted, self.certificate.not_valid_after_utc)
        if until <= now or now < self.certificate.not_valid_before_utc:
            raise IdentityError("the authority's own certificate is not valid now")
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject(asked.organizations, asked.common_name))
            .issuer_name(self.certificate.subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - min(_BACKDATED, (until - now) / 10))
            .not_valid_after(until)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )
        if usages > {_CLIENT}:
            builder = builder.add_extension(_key_usage(usages), critical=True)
        digest = None if isinstance(self.key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        made: bytes = builder.sign(self.key, digest).public_bytes(serialization.Encoding.PEM)
        return made


def load_authority(certificate: Path, key: Path, longest: timedelta, now: datetime) -> Authority:
    """Read an authority from its files.

    IdentityError if they are not an authority, if it is not valid at `now`, or if every user of this machine can use
    the key.
    """
    made, private = _certificate(certificate), _private(key)
    if public_bytes(private.public_key()) != public_bytes(made.public_key()):
        raise IdentityError(f"{key} is not the key of {certificate}")
    constraints = [e.value for e in made.extensions if isinstance(e.value, x509.BasicConstraints)]
    if not any(constraint.ca for constraint in constraints):
        raise IdentityError(f"{certificate} is not the certificate of an authority: its basic constraints lack CA")
    if not made.not_valid_before_utc <= now < made.not_valid_after_utc:
        raise IdentityError(f"{certificate} is not valid now: it ends at {made.not_valid_after_utc:%Y-%m-%dT%H:%M:%SZ}")
    return Authority(made, private, longest)


def _certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        raise IdentityError(f"{path} cannot be read as a certificate: {error}") from error


def _private(path: Path) -> Signing:
    try:
        if path.stat().st_mode & stat.S_IRWXO:
            raise IdentityError(f"every user of this machine may use {path}: chmod 600 {path}")
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except TypeError as error:
        raise IdentityError(f"{path} is encrypted: give a plain key, for example from a mounted secret") from error
    except (OSError, ValueError) as error:
        raise IdentityError(f"{path} cannot be read as a key: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey):
        raise IdentityError(f"{path} is a key that cannot sign certificates; give ECDSA, Ed25519 or RSA")
    return key


def _proven_key(pem: bytes) -> SoundKey:
    """The key of a request, after its signature has proved that the requester holds it."""
    try:
        request = x509.load_pem_x509_csr(pem)
        key, proven = request.public_key(), request.is_signature_valid
    except Exception as error:  # the library raises many kinds of errors for foreign input
        raise IdentityError(f"it cannot be read: {error}") from error
    if not proven:
        raise IdentityError("it is not signed with its own key")
    return sound_key(key)


def _sound_usages(usages: Iterable[str]) -> frozenset[str]:
    """The requested usages. IdentityError if a client's certificate may not have them."""
    asked = frozenset(usages)
    if strange := sorted(asked - _USAGES):
        raise IdentityError(f"it asks for {', '.join(strange)}, which a client's certificate may not have")
    if _CLIENT not in asked:
        raise IdentityError(f"it does not ask for {_CLIENT!r}")
    return asked


def _key_usage(usages: frozenset[str]) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=_DIGITAL in usages,
        key_encipherment=_ENCIPHERMENT in usages,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
