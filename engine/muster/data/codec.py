"""The one codec: values of muster's own types as bytes, and back.

The state is MessagePack. JSON, in refs and in files outside the repository, goes through a tree. The types are the
engine's own dataclasses and named tuples: `decode` and `from_tree` return one, or raise MalformedError for anything
else, however damaged. Callers treat that as missing data.

msgspec is loaded on first use: commands that do not need such values do not wait for it.
"""

from collections.abc import Hashable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from muster.data.tree import Tree

if TYPE_CHECKING:
    import msgspec

T = TypeVar("T")
#: What msgspec raises for a malformed value; its own errors are ValueErrors.
_DECODING_ERRORS = (ValueError, TypeError, RecursionError, OverflowError, MemoryError)


class MalformedError(ValueError):
    """The bytes or the tree are not a value of the type."""


@cache
def _encoder() -> "msgspec.msgpack.Encoder":
    import msgspec

    return msgspec.msgpack.Encoder()


@cache
def _decoder(type_: Hashable) -> Any:
    import msgspec

    return msgspec.msgpack.Decoder(type_)


def encode(value: object) -> bytes:
    """Return a value as MessagePack: the same value gives the same bytes."""
    return _encoder().encode(value)


def decode(type_: type[T], data: bytes) -> T:
    """Return the value of a type from MessagePack. Raises MalformedError."""
    kind: Any = type_
    decoder: msgspec.msgpack.Decoder[T] = _decoder(kind)
    try:
        return decoder.decode(data)
    except _DECODING_ERRORS as error:
        raise MalformedError(str(error)) from None


def decode_tree(data: bytes) -> Tree:
    """Return a tree from MessagePack. Raises MalformedError."""
    any_type: Any = Any
    return decode(any_type, data)


def from_tree(type_: type[T], tree: Tree) -> T:
    """Return the value of a type from a tree of JSON; unknown fields are ignored. Raises MalformedError."""
    import msgspec

    try:
        return msgspec.convert(tree, type_)
    except _DECODING_ERRORS as error:
        raise MalformedError(str(error)) from None


def to_tree(value: object) -> Tree:
    """Return a value as a tree of JSON. Sets become sorted lists, instants RFC 3339 in UTC."""
    import msgspec

    return msgspec.to_builtins(value, order="deterministic")
