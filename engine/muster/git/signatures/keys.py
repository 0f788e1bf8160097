"""Public keys and names, as certificates and certificate requests carry them."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.x509.oid import NameOID

from muster.git.signatures.errors import IdentityError

_LEAST_BITS: Final = 2048  # of an RSA key

SoundKey: TypeAlias = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey


def common_name(of: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """In whose name something is; the last counts where there are several."""
    with any_length():
        names = of.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[-1].value) if names else ""


def sound_key(key: object) -> "SoundKey":
    """The key, where it is of a kind that agents may have: ECDSA P-256, Ed25519, RSA of 2048 bits and up. IdentityError
    for any other. P-384 and P-521 are no better here, and few things that sign take them."""
    curve = isinstance(key, ec.EllipticCurvePublicKey) and isinstance(key.curve, ec.SECP256R1)
    long = isinstance(key, rsa.RSAPublicKey) and key.key_size >= _LEAST_BITS
    if not (curve or long or isinstance(key, ed25519.Ed25519PublicKey)):
        raise IdentityError(f"its key is not ECDSA P-256, Ed25519, or RSA of {_LEAST_BITS} bits or more")
    return key  # type: ignore[return-value]


def public_bytes(key: PublicKeyTypes) -> bytes:
    """A key, to be compared."""
    encoded: bytes = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encoded


@contextmanager
def any_length() -> Iterator[None]:
    """Without the library's warning of names that X.509 finds too long."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Attribute's length must be", category=UserWarning)
        yield
