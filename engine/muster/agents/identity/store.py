"""Where an agent keeps its key, its request and its certificate: a folder of its own, one file for each identity.

`agent.pem` is what the agent is known by: certificate, key and the request that led to it, in one file that is replaced
as a whole, as kubelet's `kubelet-client-current.pem` is. `next.pem` is a key and its request that wait for an answer,
`before.pem` the certificate before the current one: what was signed with its key is the agent's own word still. The
folder is the user's alone, and so are the files (0600): whoever has the key is the agent.
"""

import base64
import os
import re
import tempfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography import x509

from muster.agents.identity.request import CertificateRequest
from muster.data.agentref import agent_named
from muster.data.printable import is_ours
from muster.git.signatures.errors import IdentityError
from muster.git.signatures.keys import public_bytes, sound_key

CURRENT, NEXT, BEFORE = "agent.pem", "next.pem", "before.pem"
_BLOCK: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----\n.*?-----END \1-----\n", re.DOTALL)
_CERTIFICATE, _KEY = "CERTIFICATE", "PRIVATE KEY"
_REQUEST, _MANIFEST = "CERTIFICATE REQUEST", "MUSTER MANIFEST"


@dataclass(frozen=True, slots=True)
class AgentKeys:
    """A key, the request for it, and the certificate that came of that, as PEM."""

    request: CertificateRequest
    pem: bytes
    certificate: x509.Certificate = field(repr=False)

    @property
    def begin(self) -> datetime:
        """From when on the certificate counts."""
        begin: datetime = self.certificate.not_valid_before_utc
        return begin

    @property
    def end(self) -> datetime:
        """Until when it does."""
        end: datetime = self.certificate.not_valid_after_utc
        return end


def identity_of(request: CertificateRequest, pem: bytes) -> AgentKeys:
    """Join a request and what came of it. IdentityError where that is no certificate, or not of this request."""
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        fits = request.fits(certificate)
    except Exception as error:  # the library raises much for what somebody else may write
        raise IdentityError(f"the certificate cannot be read: {error}") from error
    if not fits:
        raise IdentityError("the certificate is of another key, or in another name")
    if not agent_named(request.user):
        raise IdentityError(f"the certificate is in the name {request.user!r}, which is no agent's")
    try:
        sound_key(certificate.public_key())
    except IdentityError as error:
        raise IdentityError(f"the certificate does not do: {error}") from error
    return AgentKeys(request, pem, certificate)


@dataclass(frozen=True, slots=True)
class Store:
    """The folder. It is made where there is none."""

    folder: Path

    @property
    def current_file(self) -> Path:
        """The file with the current certificate and its key, where there is one: what TLS takes."""
        return self.folder / CURRENT

    def current(self) -> AgentKeys | None:
        """What the agent is known by; None where it has no certificate yet. IdentityError where it cannot be read."""
        found = self._read(CURRENT)
        return identity_of(_request(found), found.get(_CERTIFICATE, b"")) if found else None

    def hands(self) -> frozenset[bytes]:
        """The keys, as `public_bytes` gives them, of the current certificate and of the one before."""
        pems = (self._read(name).get(_CERTIFICATE) for name in (CURRENT, BEFORE))
        try:
            return frozenset(public_bytes(x509.load_pem_x509_certificate(pem).public_key()) for pem in pems if pem)
        except ValueError as error:
            raise IdentityError(f"a certificate in {self.folder} cannot be read: {error}") from error

    def waiting(self) -> CertificateRequest | None:
        """The request that waits for an answer."""
        found = self._read(NEXT)
        return _request(found) if found else None

    def wait_for(self, request: CertificateRequest) -> None:
        """Keep a request until it is answered."""
        self._write(NEXT, _text(request))

    def become(self, identity: AgentKeys) -> None:
        """Be known by this from now on; what was waited for is here."""
        if before := self._read(CURRENT).get(_CERTIFICATE):
            self._write(BEFORE, before)
        self._write(CURRENT, identity.pem + _text(identity.request))
        self._remove(NEXT)

    def forget(self) -> None:
        """Be known by nothing: the certificate has ended."""
        self._remove(CURRENT)

    def give_up(self) -> None:
        """Wait for nothing."""
        self._remove(NEXT)

    def _read(self, name: str) -> dict[str, bytes]:
        """The blocks of a file by their type; nothing where there is none."""
        try:
            self._require_ours()
            text = (self.folder / name).read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise IdentityError(f"{self.folder / name} cannot be read: {error.strerror}") from error
        found: dict[str, bytes] = {}
        for block in _BLOCK.finditer(text):
            kind = block[1].decode()
            found[kind] = found.get(kind, b"") + block[0]
        return found

    def _write(self, name: str, content: bytes) -> None:
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._require_ours()
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

    def _require_ours(self) -> None:
        """FileNotFoundError where there is no folder."""
        if not is_ours(self.folder.stat()):
            raise IdentityError(f"others on this machine may write into {self.folder}: chmod 700 {self.folder}")


def _text(request: CertificateRequest) -> bytes:
    manifest = base64.encodebytes(request.manifest)
    return request.key + request.pem + b"-----BEGIN %b-----\n%b-----END %b-----\n" % (_M, manifest, _M)


_M: Final = _MANIFEST.encode()


def _request(found: dict[str, bytes]) -> CertificateRequest:
    if not {_KEY, _REQUEST, _MANIFEST} <= found.keys():
        raise IdentityError(
            "what is kept of the agent's identity lacks its key or its request: remove it to begin anew"
        )
    manifest = b"".join(found[_MANIFEST].splitlines()[1:-1])
    return CertificateRequest(found[_KEY], found[_REQUEST], base64.b64decode(manifest))
