"""Base64."""

import binascii
from base64 import b64decode, b64encode
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Library, part_of
from muster.cel.library.standard import encoded
from muster.cel.runtime.describe import no_overload, shown

LIBRARY = Library("encoders")


@LIBRARY.linear("base64_decode_string  base64.decode  (string) -> bytes", weight=20, gives=part_of)
def decode(text: Any) -> bytes:
    """`base64.decode(text)`: the octets; padding is optional."""
    if text.__class__ is not str:
        raise no_overload("base64.decode", text)
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError(f"{shown(text)} is not base64") from None


@LIBRARY.linear("base64_encode_bytes  base64.encode  (bytes) -> string", weight=10, gives=encoded)
def encode(value: Any) -> str:
    """`base64.encode(octets)`: with padding."""
    if value.__class__ is not bytes:
        raise no_overload("base64.encode", value)
    return b64encode(value).decode()
