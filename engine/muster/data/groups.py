"""Grouping: values by their keys."""

from collections.abc import Hashable, Iterable
from typing import TypeVar

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")


def grouped(pairs: Iterable[tuple[_K, _V]]) -> dict[_K, list[_V]]:
    """Return the values of each key; keys and values keep their order of appearance."""
    by_key: dict[_K, list[_V]] = {}
    for key, value in pairs:
        by_key.setdefault(key, []).append(value)
    return by_key
