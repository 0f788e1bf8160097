"""Signatures of commits: git and ssh-keygen say the same of them as we do."""

import base64
import subprocess
from pathlib import Path

import pytest
from cryptography import x509

from muster.agents.identity.request import CertificateRequest, new_request
from muster.git.signatures.certificate import public_bytes
from muster.git.signatures.signature import sealed, signing_key
from tests.support.git import Repo, new_repository


@pytest.fixture(scope="module")
def request_() -> CertificateRequest:
    return new_request("c1")


def key_of(request: CertificateRequest) -> bytes:
    return public_bytes(x509.load_pem_x509_csr(request.pem).public_key())


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_git_verifies_what_we_sign(tmp_path: Path, request_: CertificateRequest, object_format: str) -> None:
    repo = new_repository(tmp_path / "repo", object_format=object_format)
    commit = repo.commit({"a.yaml": "a: 1\n"}, "Beat\n\ngpgsig is a word here")
    raw = repo.git_bytes("cat-file", "commit", commit)
    signed = sealed(raw, request_.key)
    assert signing_key(signed) == key_of(request_)
    assert signing_key(raw) is None
    made = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=signed).strip()
    key = tmp_path / "key"
    key.write_bytes(request_.key)
    key.chmod(0o600)
    public = subprocess.run(["ssh-keygen", "-y", "-f", str(key)], capture_output=True, text=True, check=True).stdout
    allowed = tmp_path / "allowed"
    allowed.write_text(f'c1 namespaces="git",valid-after="20250101",valid-before="20270101" {public}')
    verify = ("-c", f"gpg.ssh.allowedSignersFile={allowed}", "-c", "gpg.format=ssh", "verify-commit")
    repo.git(*verify, made)
    allowed.write_text(f'c1 namespaces="git",valid-before="20250101" {public}')
    with pytest.raises(AssertionError):
        repo.git(*verify, made)


def signed_by_git(repo: Repo, tmp_path: Path, kind: str) -> bytes:
    key = tmp_path / kind
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(key)], check=True)
    repo.write("b.yaml", kind)
    repo.git("add", ".")
    repo.git("-c", "gpg.format=ssh", "-c", f"user.signingKey={key}", "commit", "--quiet", "-S", "-m", "Beat")
    return repo.git_bytes("cat-file", "commit", "HEAD")


def test_we_verify_what_git_signs_and_nothing_that_was_changed_since(tmp_path: Path) -> None:
    repo = new_repository(tmp_path / "repo")
    for kind in ("ed25519", "ecdsa"):
        commit = signed_by_git(repo, tmp_path, kind)
        assert signing_key(commit) is not None
        for old, new in (
            (b"Beat", b"beat"),
            (b"ada@", b"eve@"),
            (b"tree ", b"tree 0"),
            (b"\n U1NIU0lH", b"\n V1NIU0lH"),
        ):
            assert old in commit
            assert signing_key(commit.replace(old, new, 1)) is None
        head, _, rest = commit.partition(b"\n\n")
        assert signing_key(head + b"\ngpgsig x\n\n" + rest) is None  # two signatures
    assert signing_key(signed_by_git(repo, tmp_path, "rsa")) is None  # no agent of ours has such a key


COMMIT = b"tree " + b"0" * 40 + b"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nBeat\n"


def in_a_header(armor: bytes) -> bytes:
    """The commit with a signature."""
    head, blank, message = COMMIT.partition(b"\n\n")
    return head + b"\ngpgsig " + armor.strip().replace(b"\n", b"\n ") + blank + message


def test_a_signature_that_was_made_for_something_else_is_none_of_a_commits(tmp_path: Path) -> None:
    """With the same key one signs files, too."""
    key, text = tmp_path / "key", tmp_path / "text"
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(key)], check=True)
    text.write_bytes(COMMIT)
    for namespace, good in (("git", True), ("file", False)):
        sign = ["ssh-keygen", "-q", "-Y", "sign", "-n", namespace, "-f", str(key), str(text)]
        subprocess.run(sign, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        signature = Path(f"{text}.sig")
        assert (signing_key(in_a_header(signature.read_bytes())) is not None) is good
        signature.unlink()


def test_a_signature_with_anything_more_in_it_is_none(request_: CertificateRequest) -> None:
    """As for git and ssh-keygen: of one commit there are no two that are both good."""
    commit = sealed(COMMIT, request_.key)
    armor = b"\n".join(line.removeprefix(b"gpgsig ").strip() for line in commit.splitlines()[3:] if line)
    armor = armor.partition(b"-----END SSH SIGNATURE-----")[0] + b"-----END SSH SIGNATURE-----"
    blob = base64.b64decode(b"".join(armor.splitlines()[1:-1]))
    namespace, nothing = b"\0\0\0\x03git", b"\0\0\0\0"
    assert blob.count(namespace + nothing) == 1

    def framed(content: bytes) -> bytes:
        return b"-----BEGIN SSH SIGNATURE-----\n%b-----END SSH SIGNATURE-----" % base64.encodebytes(content)

    assert signing_key(in_a_header(framed(blob))) == signing_key(in_a_header(armor)) == key_of(request_)
    changed = {
        "after it": framed(blob + b"x"),
        "reserved": framed(blob.replace(namespace + nothing, namespace + b"\0\0\0\1x")),
        "another version": framed(blob.replace(b"SSHSIG\0\0\0\1", b"SSHSIG\0\0\0\2")),
        "no base64": framed(blob).replace(b"\n-----END", b"*\n-----END"),
        "another begin": framed(blob).replace(b"BEGIN SSH", b"BEGIN PGP"),
        "another end": framed(blob).replace(b"END SSH", b"END PGP"),
    }
    assert [name for name, one in changed.items() if signing_key(in_a_header(one)) is not None] == []
