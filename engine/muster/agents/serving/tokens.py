"""Files of secrets, read again when they change."""

import hashlib
import hmac
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")


class Reread(Generic[T]):
    """What a file says, by whoever reads it. OSError or ValueError where it cannot be had at first."""

    def __init__(self, path: Path, read: Callable[[str], T]) -> None:
        self._path, self._read = path, read
        self._seen, self._said = self._stamp(), read(path.read_text(encoding="utf-8"))

    def __call__(self) -> T | None:
        """What it says now; None where that cannot be had any more: a file that is taken away lets nobody in."""
        try:
            if (seen := self._stamp()) != self._seen:
                self._said, self._seen = self._read(self._path.read_text(encoding="utf-8")), seen
        except (OSError, ValueError):
            return None
        return self._said

    def _stamp(self) -> tuple[int, int, int]:
        status = self._path.stat()
        return status.st_mtime_ns, status.st_size, status.st_ino


def digest_of(token: str) -> str:
    """What is kept of a token, and compared: its SHA-256, in hexadecimal."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def is_same(digest: str, token: str) -> bool:
    """Whether a digest is that of a token; how long that takes tells nothing."""
    return hmac.compare_digest(digest, digest_of(token))
