"""Where an agent keeps its key, its certificate request and its certificate, and the seal that signs with them.

The store is a folder with one file for each identity. `agent.pem` is the current one: certificate, key and request in
one file that is replaced as a whole, as kubelet's `kubelet-client-current.pem` is. `next.pem` is a key and a request
that wait for an answer. `before.pem` is the previous certificate: what its key signed still counts as the agent's own.
The folder and its files (0600) belong to the user alone: whoever has the key is the agent.
"""

import base64
import os
import tempfile
from dataclasses import field
from datetime import datetime
from pathlib import Path

from cryptography import x509

from muster.agents.identity.request import CertificateRequest
from muster.data.agentref import agent_named
from muster.data.printable import is_ours
from muster.dataclass import dataclass
from muster.git.errors import IdentityError
from muster.git.signatures.certificate import public_bytes, sound_key
from muster.git.signatures.signature import sealed, signing_key

CURRENT, NEXT, BEFORE = "agent.pem", "next.pem", "before.pem"
_BEGIN, _END, _DASHES = b"-----BEGIN ", b"-----END ", b"-----\n"
_CERTIFICATE, _KEY = "CERTIFICATE", "PRIVATE KEY"
_REQUEST, _MANIFEST = "CERTIFICATE REQUEST", "MUSTER MANIFEST"


@dataclass(frozen=True, slots=True)
class AgentIdentity:
    """A request with its key, and the certificate that answers it, as PEM."""

    request: CertificateRequest
    pem: bytes
    certificate: x509.Certificate = field(repr=False)

    @property
    def begin(self) -> datetime:
        """The first instant at which the certificate is valid."""
        begin: datetime = self.certificate.not_valid_before_utc
        return begin

    @property
    def end(self) -> datetime:
        """The instant at which the certificate expires."""
        end: datetime = self.certificate.not_valid_after_utc
        return end


def identity_of(request: CertificateRequest, pem: bytes) -> AgentIdentity:
    """Join a request and its certificate. IdentityError if that is not a valid certificate for this request."""
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        fits = request.fits(certificate)
    except Exception as error:  # the library raises many kinds of errors for foreign input
        raise IdentityError(f"the certificate cannot be read: {error}") from error
    if not fits:
        raise IdentityError("the certificate has another key, or another name")
    if not agent_named(request.user):
        raise IdentityError(f"the certificate has the name {request.user!r}, which is not the name of an agent")
    try:
        sound_key(certificate.public_key())
    except IdentityError as error:
        raise IdentityError(f"the certificate cannot be used: {error}") from error
    return AgentIdentity(request, pem, certificate)


@dataclass(frozen=True, slots=True)
class Store:
    """The folder, which is created when something is written. Every method may raise IdentityError."""

    folder: Path

    @property
    def current_file(self) -> Path:
        """The file with the current certificate and its key, in the form that TLS libraries read."""
        return self.folder / CURRENT

    def current(self) -> AgentIdentity | None:
        """Return the current identity; None if the agent has no certificate yet."""
        files = self._read(CURRENT)
        return identity_of(_request(files), files.get(_CERTIFICATE, b"")) if files else None

    def signing_keys(self) -> frozenset[bytes]:
        """Return the public keys of the current and the previous certificate, as `public_bytes` encodes them."""
        pems = (self._read(name).get(_CERTIFICATE) for name in (CURRENT, BEFORE))
        try:
            return frozenset(public_bytes(x509.load_pem_x509_certificate(pem).public_key()) for pem in pems if pem)
        except ValueError as error:
            raise IdentityError(f"a certificate in {self.folder} cannot be read: {error}") from error

    def pending(self) -> CertificateRequest | None:
        """Return the request that waits for an answer."""
        files = self._read(NEXT)
        return _request(files) if files else None

    def set_pending(self, request: CertificateRequest) -> None:
        """Keep a request until it is answered."""
        self._write(NEXT, _blocks(request))

    def set_current(self, identity: AgentIdentity) -> None:
        """Replace the current identity; nothing is pending afterwards."""
        if before := self._read(CURRENT).get(_CERTIFICATE):
            self._write(BEFORE, before)
        self._write(CURRENT, identity.pem + _blocks(identity.request))
        self.drop_pending()

    def drop_current(self) -> None:
        """Remove the current identity, whose certificate is no longer valid."""
        self._remove(CURRENT)

    def drop_pending(self) -> None:
        """Remove the request that waits for an answer."""
        self._remove(NEXT)

    def _read(self, name: str) -> dict[str, bytes]:
        """The PEM blocks of a file by type; empty if there is no such file."""
        try:
            self._require_private()
            text = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise IdentityError(f"{self.folder / name} cannot be read: {error.strerror}") from error
        files: dict[str, bytes] = {}
        for block in text.split(_BEGIN)[1:]:
            kind, _, content = block.partition(_DASHES)
            content, ends, _ = content.partition(_END + kind + _DASHES)
            if ends:
                name = kind.decode("ascii", "replace")
                files[name] = b"".join((files.get(name, b""), _BEGIN, kind, _DASHES, content, ends))
        return files

    def _write(self, name: str, content: bytes) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._require_private()
            descriptor, temporary = tempfile.mkstemp(dir=self.folder, prefix=f".{name}.")  # 0600, by its contract
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(self.folder / name)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise IdentityError(f"{self.folder / name} cannot be written: {error.strerror}") from error

    def _remove(self, name: str) -> None:
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise IdentityError(f"{self.folder / name} cannot be removed: {error.strerror}") from error

    def _require_private(self) -> None:
        """Raise IdentityError if others may write into the folder, FileNotFoundError if it does not exist."""
        if not is_ours(self.folder.stat()):
            raise IdentityError(f"others on this machine may write into {self.folder}: chmod 700 {self.folder}")


def _blocks(request: CertificateRequest) -> bytes:
    kind, manifest = _MANIFEST.encode(), base64.encodebytes(request.manifest)
    return request.key + request.pem + b"-----BEGIN %b-----\n%b-----END %b-----\n" % (kind, manifest, kind)


def _request(files: dict[str, bytes]) -> CertificateRequest:
    if not {_KEY, _REQUEST, _MANIFEST} <= files.keys():
        raise IdentityError("the store of the agent's identity lacks its key or its request: remove it to start anew")
    manifest = b"".join(files[_MANIFEST].splitlines()[1:-1])
    return CertificateRequest(files[_KEY], files[_REQUEST], base64.b64decode(manifest))


@dataclass(frozen=True, slots=True)
class AgentSeal:
    """Signs an agent's commits with the current key of its store. Satisfies `muster.git.memory.rootref.Seal`."""

    store: Store

    def sealed(self, commit: bytes) -> bytes:
        """Return the signed commit; the commit itself if the agent has no certificate yet."""
        try:
            current = self.store.current()
        except IdentityError:  # the rotation reports it, and the hub does not receive an unsigned commit
            return commit
        return commit if current is None else sealed(commit, current.request.key)

    def vouches(self, commit: bytes) -> bool:
        """Did the agent itself sign the commit, with its current or its previous key? False without a certificate."""
        try:
            return self.store.current() is None or signing_key(commit) in self.store.signing_keys()
        except IdentityError:
            return False
