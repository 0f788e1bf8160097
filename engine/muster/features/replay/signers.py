"""Who signed the commits of runs, and those of others: by the keys with which their signatures are made."""

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from muster.data.tree import dig
from muster.dataclass import dataclass
from muster.git.agents.settings import fleet_spec
from muster.git.derivedbranch import people_commit_of
from muster.git.errors import IdentityError, UnreadableError, require_library
from muster.git.log import read_log
from muster.git.repository import Repository


@dataclass(frozen=True, slots=True)
class CommitSigner:
    """A key, as OpenSSH names it (`SHA256:...`), with the comment that the Fleet gives it; both are empty for commits
    without a valid signature of OpenSSH's form. How many commits of runs and of others it signed."""

    key: str
    comment: str
    runs: int
    others: int


def signers_between(repository: Repository, start: str, end: str, runs: Iterable[str]) -> tuple[CommitSigner, ...]:
    """Return who signed the commits after `start` up to `end`, along first parents; `runs` are those of runs. Nothing
    if no commit is signed, or signatures cannot be checked on this machine."""
    try:
        require_library()
    except IdentityError:
        return ()
    of_runs, signed = frozenset(runs), Counter[tuple[str, bool]]()
    first, last = (people_commit_of(repository, commit) for commit in (start, end))
    logged = (entry.commit for entry in read_log(repository, f"{first}..{last}", first_parent=True))
    commits = list(dict.fromkeys((*logged, *sorted(of_runs))))
    for commit, answer in zip(commits, repository.objects.read(commits), strict=True):
        content = b"" if isinstance(answer, UnreadableError) else answer.content
        signed[_fingerprint(content), commit in of_runs] += 1
    keys = sorted({key for key, _ in signed}, key=lambda key: (not key, key))
    comments = _comments(repository, end) if any(keys) else {}
    signers = (CommitSigner(key, comments.get(key, ""), signed[key, True], signed[key, False]) for key in keys)
    return tuple(signers) if any(keys) else ()


def _fingerprint(commit: bytes) -> str:
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    from muster.git.signatures.signature import signing_key

    key = signing_key(commit)
    return "" if key is None else _of_key(load_der_public_key(key))


def _of_key(key: object) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    line = key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)  # type: ignore[attr-defined]
    digest = hashlib.sha256(base64.b64decode(line.split(b" ")[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _comments(repository: Repository, commit: str) -> Mapping[str, str]:
    """The comments of the keys that the Fleet of a commit names, by fingerprint."""
    named = dig(fleet_spec(repository, commit), "commit", "signers")
    comments = dict[str, str]()
    for line in named if isinstance(named, list) else ():
        words = str(line).split(maxsplit=2)
        if len(words) > 2:
            digest = hashlib.sha256(_decoded(words[1])).digest()
            comments[f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"] = words[2].strip()
    return comments


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
