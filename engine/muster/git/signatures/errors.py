"""What goes wrong with keys and certificates, in words."""

from importlib.util import find_spec
from typing import Final

EXTRA: Final = "muster-fleet[identity]"


class IdentityError(Exception):
    """A key, a request or a certificate cannot be had, read or made; the message says why."""


def require_library() -> None:
    """IdentityError where the library that makes keys and signatures is not installed."""
    if find_spec("cryptography") is None:
        raise IdentityError(f"keys and certificates need an extra: pip install '{EXTRA}'")
