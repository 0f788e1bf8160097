"""Secrets in files: reloaded when they change, compared by digest."""

import hashlib
import hmac
from collections.abc import Callable
from pathlib import Path
from typing import Final, Generic, TypeVar

#: Characters of a secret; a shorter one could be guessed.
MIN_SECRET: Final = 16

T = TypeVar("T")


class ReloadedFile(Generic[T]):
    """The content of a file, as `read` parses it. The constructor raises OSError or ValueError if it cannot be read."""

    def __init__(self, path: Path, read: Callable[[str], T]) -> None:
        self._path, self._read = path, read
        self._stamped, self._content = self._stamp(), read(path.read_text(encoding="utf-8"))

    def __call__(self) -> T | None:
        """Return the present content; None if it cannot be read any more: without the file nobody is admitted."""
        try:
            if (stamp := self._stamp()) != self._stamped:
                self._content, self._stamped = self._read(self._path.read_text(encoding="utf-8")), stamp
        except (OSError, ValueError):
            return None
        return self._content

    def _stamp(self) -> tuple[int, int, int]:
        status = self._path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino


def check_length(text: str) -> str:
    """Return the secret in a text, without the space around it. ValueError if it is too short."""
    if len(secret := text.strip()) < MIN_SECRET:
        raise ValueError(f"a token or secret has at least {MIN_SECRET} characters")
    return secret


def token_digest(token: str) -> str:
    """Return the digest by which a token is stored and compared: its SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def matches_digest(digest: str, token: str) -> bool:
    """Does the digest belong to the token? Takes the same time for every token."""
    return hmac.compare_digest(digest, token_digest(token))
