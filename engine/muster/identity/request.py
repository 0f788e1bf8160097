"""An agent's key and its request for a certificate, as upstream's registration agent makes them.

Source: seed 002 ("rotated with an ephemeral and random identity") and upstream's `reg/register/csr`: the name is
`system:open-cluster-management:<cluster>:<agent>` with a random agent, the groups are the cluster's and that of all
clusters. The key is ECDSA P-256, as of Kubernetes' own clients: every signer takes it, and git signs with it.
"""

import hashlib
import secrets
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.x509.oid import NameOID

from muster.identity.errors import IdentityError
from muster.model.agentref import GROUP

_EVERYBODY: Final = f"{GROUP}managed-clusters"
_LEAST_BITS: Final = 2048  # of an RSA key
_LONGEST: Final = 200  # characters of a cluster's name in that of its request


SoundKey: TypeAlias = ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | rsa.RSAPublicKey


@dataclass(frozen=True, slots=True)
class Request:
    """A key and what asks for a certificate for it, both as PEM. The key never leaves the machine.

    `manifest` is the CertificateSigningRequest in which it was sent: what is decided of it is bound to every field.
    """

    key: bytes = field(repr=False)
    pem: bytes
    manifest: bytes = b""

    @property
    def user(self) -> str:
        """In whose name it asks."""
        return common_name(_parsed(self.pem))

    def object_name(self, cluster: str) -> str:
        """How the request is called: after its cluster, as upstream does, and after what is in it."""
        der = _parsed(self.pem).public_bytes(serialization.Encoding.DER)
        return f"{cluster[:_LONGEST].rstrip('-.')}-{hashlib.sha256(der).hexdigest()[:12]}"

    def fits(self, certificate: x509.Certificate) -> bool:
        """Whether a certificate is of this key, and in this name."""
        return public_bytes(certificate.public_key()) == public_bytes(_parsed(self.pem).public_key()) and (
            common_name(certificate) == self.user
        )


def new_request(cluster: str, user: str = "") -> Request:
    """Make a key, and a request in the name of `user`; of a new agent of the cluster where that is empty."""
    key = ec.generate_private_key(ec.SECP256R1())
    user = user or f"{GROUP}{cluster}:{secrets.token_hex(8)}"
    made = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject([f"{GROUP}{cluster}", _EVERYBODY], user))
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )  # fmt: skip
    return Request(pem, made.public_bytes(serialization.Encoding.PEM))


def subject(organizations: Iterable[str], user: str) -> x509.Name:
    """The groups and the name of a subject. They may be longer than X.509's upper bounds: Kubernetes' names are."""
    with _any_length():
        groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name, _validate=False) for name in organizations]
        return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, user, _validate=False)])


def common_name(of: x509.Certificate | x509.CertificateSigningRequest) -> str:
    """In whose name something is; the last counts where there are several."""
    with _any_length():
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
def _any_length() -> Iterator[None]:
    """Without the library's warning of names that X.509 finds too long."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Attribute's length must be", category=UserWarning)
        yield


def _parsed(pem: bytes) -> x509.CertificateSigningRequest:
    try:
        return x509.load_pem_x509_csr(pem)
    except ValueError as error:
        raise IdentityError(f"the request cannot be read: {error}") from error
