"""Signatures of commits in OpenSSH's form (`gpg.format=ssh`), made and checked with the key of a certificate.

The format is that of OpenSSH's `PROTOCOL.sshsig`, in the namespace `git`: what `git verify-commit` hands to
`ssh-keygen -Y verify`. A commit's signature is over its text without the header that holds it.
"""

import base64
import hashlib
from typing import Final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from muster.git.errors import IdentityError
from muster.git.signatures.certificate import public_bytes
from muster.git.store.objects import commit_tree

_MAGIC: Final = b"SSHSIG"
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----", b"-----END SSH SIGNATURE-----"
_NAMESPACE: Final = b"git"
_HASHES: Final = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_CURVES: Final = {b"ecdsa-sha2-nistp256": hashes.SHA256}
_WIDTH, _SHA256_DIGITS = 70, 64


def sealed(commit: bytes, key: bytes) -> bytes:
    """Return the text of a commit with its signature in it. `key` is an ECDSA key as PEM."""
    private = serialization.load_pem_private_key(key, password=None)
    if not isinstance(private, ec.EllipticCurvePrivateKey) or not isinstance(private.curve, ec.SECP256R1):
        raise IdentityError("the agent's key is not ECDSA P-256")
    r, s = decode_dss_signature(private.sign(_signed_data(b"sha512", commit), ec.ECDSA(hashes.SHA256())))
    algorithm = b"ecdsa-sha2-nistp256"
    openssh = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    signature = _string(algorithm) + _string(_number(r) + _number(s))
    fields = (base64.b64decode(openssh.partition(b" ")[2]), _NAMESPACE, b"", b"sha512", signature)
    text = base64.b64encode(_MAGIC + (1).to_bytes(4) + b"".join(map(_string, fields)))
    lines = [_BEGIN, *(text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)), _END]
    head, _, message = commit.partition(b"\n\n")
    return b"%b\n%b %b\n\n%b" % (head, _header(commit), b"\n ".join(lines), message)


def signing_key(commit: bytes) -> bytes | None:
    """Return the key that signed a commit (see `public_bytes`); None without a signature, or if it is not valid."""
    parts = _taken_apart(commit)
    if parts is None:
        return None
    try:
        return _checked(*parts)
    except Exception:  # noqa: BLE001 - the library raises much for what a stranger may write
        return None


def ssh_key(line: str) -> bytes | None:
    """Return the key of a line in OpenSSH's format of public keys (see `public_bytes`); None if it cannot sign a
    commit."""
    try:
        key = serialization.load_ssh_public_key(line.strip().encode())
    except Exception:  # noqa: BLE001 - the library raises much for what people may write
        return None
    return public_bytes(key) if isinstance(key, ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey) else None


def _taken_apart(commit: bytes) -> tuple[bytes, bytes] | None:
    """Return the signed text and the signature; None if there is not exactly one."""
    head, blank, message = commit.partition(b"\n\n")
    header = _header(commit) + b" "
    kept: list[bytes] = []
    signature: list[bytes] = []
    inside = False
    for line in head.split(b"\n"):
        if line.startswith(header):
            if signature:
                return None
            inside = True
            signature.append(line.partition(b" ")[2])
        elif inside and line.startswith(b" "):
            signature.append(line[1:])
        else:
            inside = False
            kept.append(line)
    if not signature or any(line.startswith(b"gpgsig") for line in kept):
        return None
    return b"\n".join(kept) + blank + message, b"\n".join(signature)


def _checked(signed: bytes, armor: bytes) -> bytes:
    body = armor.strip()
    if not body.startswith(_BEGIN) or not body.endswith(_END):
        raise ValueError("no signature of OpenSSH's")
    blob = base64.b64decode(b"".join(body[len(_BEGIN) : -len(_END)].split()), validate=True)
    if not blob.startswith(_MAGIC + (1).to_bytes(4)):
        raise ValueError("another version")
    public, rest = _read(blob[len(_MAGIC) + 4 :])
    namespace, rest = _read(rest)
    reserved, rest = _read(rest)
    algorithm, rest = _read(rest)
    signature, rest = _read(rest)
    if namespace != _NAMESPACE or reserved or rest:
        raise ValueError("made for something else")
    data = _signed_data(algorithm, signed)
    kind, _ = _read(public)
    key = serialization.load_ssh_public_key(kind + b" " + base64.b64encode(public))
    name, rest = _read(signature)
    value, _ = _read(rest)
    if isinstance(key, ed25519.Ed25519PublicKey) and name == b"ssh-ed25519":
        key.verify(value, data)
    elif isinstance(key, ec.EllipticCurvePublicKey) and name == kind:
        r, rest = _read(value)
        s, _ = _read(rest)
        numbers = encode_dss_signature(int.from_bytes(r), int.from_bytes(s))
        key.verify(numbers, data, ec.ECDSA(_CURVES[name]()))
    else:
        raise ValueError("another kind of key")
    return public_bytes(key)


def _signed_data(algorithm: bytes, text: bytes) -> bytes:
    digest = _HASHES[algorithm](text).digest()
    return b"".join((_MAGIC, _string(_NAMESPACE), _string(b""), _string(algorithm), _string(digest)))


def _header(commit: bytes) -> bytes:
    """Return the header of a commit that contains its signature: it has another name in a repository of SHA-256."""
    return b"gpgsig-sha256" if len(commit_tree(commit)) == _SHA256_DIGITS else b"gpgsig"


def _string(data: bytes) -> bytes:
    return len(data).to_bytes(4) + data


def _number(value: int) -> bytes:
    return _string(value.to_bytes(value.bit_length() // 8 + 1))


def _read(data: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(data[:4])
    if len(data) < 4 + length:
        raise ValueError("cut off")
    return data[4 : 4 + length], data[4 + length :]
