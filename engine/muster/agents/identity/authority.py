"""A certificate authority: it signs what was approved, and no more than that.

A certificate has the name and groups that were approved and nothing else of what the request asks for beside them: no
further attributes, no alternative names, no extensions. The usages are those of a client (upstream asks for
`kubernetes.io/kube-apiserver-client`, whose signer permits no others). It lives no longer than it asks for, than the
signer allows, and than the authority itself.
"""

import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from muster.agents.identity.request import subject
from muster.git.signatures.errors import IdentityError
from muster.git.signatures.keys import SoundKey, public_bytes, sound_key

Signing: TypeAlias = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey
_CLIENT: Final = "client auth"
_DIGITAL, _ENCIPHERMENT = "digital signature", "key encipherment"
_USAGES: Final = frozenset((_CLIENT, _DIGITAL, _ENCIPHERMENT))
#: A certificate begins this much before it was signed: clocks differ. Of a short one a tenth of its life.
_BACKDATED: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Approved:
    """What was approved: the request as PEM, its name and groups, and what it asks for."""

    pem: bytes
    common_name: str
    organizations: Sequence[str]
    usages: Sequence[str]
    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate and its key. No certificate that it signs lives longer than `longest`."""

    certificate: x509.Certificate
    key: Signing = field(repr=False)
    longest: timedelta

    def sign(self, asked: Approved, now: datetime) -> bytes:
        """Return the certificate as PEM. IdentityError for what is not to be signed."""
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
    """Read an authority from its files. IdentityError where they are not one, or not valid at `now`, or the key is open
    to everybody on this machine."""
    made, private = _certificate(certificate), _private(key)
    if public_bytes(private.public_key()) != public_bytes(made.public_key()):
        raise IdentityError(f"{key} is not the key of {certificate}")
    constraints = [e.value for e in made.extensions if isinstance(e.value, x509.BasicConstraints)]
    if not any(constraint.ca for constraint in constraints):
        raise IdentityError(f"{certificate} is no authority's: its basic constraints do not say CA")
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
            raise IdentityError(f"everybody on this machine may use {path}: chmod 600 {path}")
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except TypeError as error:
        raise IdentityError(f"{path} is encrypted: give one that is not, for example from a mounted secret") from error
    except (OSError, ValueError) as error:
        raise IdentityError(f"{path} cannot be read as a key: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey):
        raise IdentityError(f"{path} is a key that signs no certificates; give ECDSA, Ed25519 or RSA")
    return key


def _proven_key(pem: bytes) -> SoundKey:
    """The key for which a request asks, once it is shown that whoever asks has it."""
    try:
        request = x509.load_pem_x509_csr(pem)
        key, proven = request.public_key(), request.is_signature_valid
    except Exception as error:  # the library raises much for what a stranger may write
        raise IdentityError(f"it cannot be read: {error}") from error
    if not proven:
        raise IdentityError("it is not signed with the key that it is about")
    return sound_key(key)


def _sound_usages(usages: Iterable[str]) -> frozenset[str]:
    """The usages asked for, as far as a client's certificate may have them."""
    asked = frozenset(usages)
    if strange := sorted(asked - _USAGES):
        raise IdentityError(f"it asks for {', '.join(strange)}, which a client's certificate does not have")
    if _CLIENT not in asked:
        raise IdentityError(f"it does not ask for {_CLIENT!r}")
    return asked


def _key_usage(usages: frozenset[str]) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=_DIGITAL in usages, key_encipherment=_ENCIPHERMENT in usages, content_commitment=False,
        data_encipherment=False, key_agreement=False, key_cert_sign=False, crl_sign=False, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip
