"""Base64."""

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.library.registry import Function, linear
from muster.cel.runtime.describe import no_overload, shown


def decode(text: Any) -> bytes:
    """`base64.decode(text)`; padding may be missing."""
    if text.__class__ is not str:
        raise no_overload("base64.decode", text)
    try:
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError(f"{shown(text)} is not base64") from None


def encode(value: Any) -> str:
    """`base64.encode(octets)`"""
    if value.__class__ is not bytes:
        raise no_overload("base64.encode", value)
    return b64encode(value).decode()


FUNCTIONS: Mapping[str, Function] = {
    "base64.decode": linear(decode, 1, weight=20),
    "base64.encode": linear(encode, 1, weight=10),
}
METHODS: Mapping[str, Function] = {}
