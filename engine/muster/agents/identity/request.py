"""An agent's key and its certificate request, as upstream's registration agent makes them.

Source: seed 002 ("rotated with an ephemeral and random identity") and upstream's `reg/register/csr`: the name is
`system:open-cluster-management:<cluster>:<agent>` with a random agent, the groups are the cluster's and the one of all
clusters. The key is ECDSA P-256, as for Kubernetes' own clients: every signer accepts it, and git signs with it.
"""

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import field
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from muster.data.agentref import GROUP
from muster.dataclass import dataclass
from muster.git.errors import IdentityError
from muster.git.signatures.certificate import any_length, common_name, public_bytes

_EVERYBODY: Final = f"{GROUP}managed-clusters"
_LONGEST: Final = 200  # characters of a cluster's name in the name of its request


@dataclass(frozen=True, slots=True)
class CertificateRequest:
    """A key and the certificate request for it, both as PEM. The key never leaves the machine.

    `manifest` is the CertificateSigningRequest that was sent: the hub's decision is bound to each of its fields.
    """

    key: bytes = field(repr=False)
    pem: bytes
    manifest: bytes = b""

    @property
    def user(self) -> str:
        """The name that the request asks for."""
        return common_name(_parsed(self.pem))

    def object_name(self, cluster: str) -> str:
        """Return the name of the request's object: the cluster, as upstream has it, and a digest of the request."""
        der = _parsed(self.pem).public_bytes(serialization.Encoding.DER)
        return f"{cluster[:_LONGEST].rstrip('-.')}-{hashlib.sha256(der).hexdigest()[:12]}"

    def fits(self, certificate: x509.Certificate) -> bool:
        """Does a certificate have this key and this name?"""
        return public_bytes(certificate.public_key()) == public_bytes(_parsed(self.pem).public_key()) and (
            common_name(certificate) == self.user
        )


def new_request(cluster: str, user: str = "") -> CertificateRequest:
    """Make a key, and a request in the name of `user`; in the name of a new agent of the cluster if that is empty."""
    key = ec.generate_private_key(ec.SECP256R1())
    user = user or f"{GROUP}{cluster}:{secrets.token_hex(8)}"
    made = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(subject([f"{GROUP}{cluster}", _EVERYBODY], user))
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return CertificateRequest(pem, made.public_bytes(serialization.Encoding.PEM))


def subject(organizations: Iterable[str], user: str) -> x509.Name:
    """Return the subject with these groups and this name. They may exceed X.509's upper bounds, as Kubernetes' names
    do."""
    with any_length():
        groups = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name, _validate=False) for name in organizations]
        return x509.Name([*groups, x509.NameAttribute(NameOID.COMMON_NAME, user, _validate=False)])


def _parsed(pem: bytes) -> x509.CertificateSigningRequest:
    try:
        return x509.load_pem_x509_csr(pem)
    except ValueError as error:
        raise IdentityError(f"the request cannot be read: {error}") from error
