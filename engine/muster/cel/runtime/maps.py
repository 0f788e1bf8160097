"""Maps: plain dicts, with CEL's rules for keys.

Keys are strings, booleans, ints and uints; a number matches an equal number of any type. `True` and `1` are the same
key in Python, but not in CEL: a map with booleans and other keys is a `MixedMap`, which replaces the booleans.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from muster.cel.errors import EvaluationError
from muster.cel.runtime.describe import named, shown, spoken_type
from muster.cel.values import UInt

_COMPARED_NAMES, _COMPARED_LENGTH = 500, 120
"""The most keys, and the longest, that a misspelt key is compared with, because the comparison is slow."""


class _BoolKey:
    """The key of true or false in a MixedMap."""

    __slots__ = ("value",)

    def __init__(self, *, value: bool) -> None:
        self.value = value


_BOOL_KEYS = {True: _BoolKey(value=True), False: _BoolKey(value=False)}


class MixedMap(Mapping[Any, Any]):
    """A map with boolean and other keys. Immutable, as all CEL maps are."""

    __slots__ = ("_items",)

    def __init__(self, entries: Iterable[tuple[Any, Any]]) -> None:
        """Take entries with valid, distinct keys."""
        self._items = {_BOOL_KEYS[key] if key.__class__ is bool else key: value for key, value in entries}

    def __getitem__(self, key: Any) -> Any:
        return self._items[_BOOL_KEYS[key] if key.__class__ is bool else key]

    def __iter__(self) -> Iterator[Any]:
        return (key.value if key.__class__ is _BoolKey else key for key in self._items)

    def __len__(self) -> int:
        return len(self._items)


def find(mapping: Mapping[Any, Any], key: Any, default: Any) -> Any:
    """Return the value under a key by CEL's rules, or `default`."""
    kind = key.__class__
    if kind is str:
        return get(mapping, key, default)
    if kind is float:
        if key != key or key in (float("inf"), float("-inf")) or key != int(key):
            return default
    elif kind not in (int, UInt, bool):
        return default
    value = get(mapping, key, default)
    if value is default or key not in (0, 1) or isinstance(mapping, MixedMap):
        return value
    if len(mapping) > 2:
        return default if kind is bool else value  # a map with a boolean among other keys would be a MixedMap
    # 0 and False, 1 and True are the same key in Python: look at the key itself.
    stored = next(candidate for candidate in mapping if candidate == key)
    return value if (stored.__class__ is bool) == (kind is bool) else default


def get(mapping: Mapping[Any, Any], key: Any, default: Any) -> Any:
    """Return the value under a key by Python's rules, or `default`."""
    # Not `.get`: a mapping that computes its values on request only implements [].
    try:
        return mapping[key]
    except KeyError:
        return default


def build(entries: Iterable[tuple[Any, Any]]) -> Mapping[Any, Any]:
    """Return the map of a map literal. Raises EvaluationError for a key that is repeated or of a wrong type."""
    pairs = list(entries)
    identities: set[Any] = set()
    kinds: set[type] = set()
    for key, _ in pairs:
        kind = key.__class__
        if kind not in (str, int, UInt, bool):
            raise EvaluationError(f"unsupported key type: {spoken_type(key)} cannot be the key of a map")
        identity = _BOOL_KEYS[key] if kind is bool else key
        if identity in identities:
            raise EvaluationError(f"repeated key {shown(key)} in a map")
        identities.add(identity)
        kinds.add(kind)
    if bool in kinds and len(kinds) > 1:
        return MixedMap(pairs)
    return dict(pairs)


def keys(value: Any) -> list[Any]:
    """Return the items of a one-variable comprehension: the elements of a list, the keys of a map."""
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        return list(value)
    raise EvaluationError(lambda: f"no such overload: a {spoken_type(value)} is neither a list nor a map")


def pairs(value: Any) -> list[tuple[Any, Any]]:
    """Return the items of a two-variable comprehension: (index, element) of a list, (key, value) of a map."""
    if isinstance(value, list):
        return list(enumerate(value))
    if isinstance(value, Mapping):
        return [(key, value[key]) for key in value]
    raise EvaluationError(lambda: f"no such overload: a {spoken_type(value)} is neither a list nor a map")


def missing(mapping: Mapping[Any, Any], key: Any, label: str = "") -> EvaluationError:
    """Return the error for a missing key. It lists the keys that exist, the nearest first."""

    def message() -> str:
        names = sorted(name for name in mapping if isinstance(name, str))
        if isinstance(key, str) and len(key) <= _COMPARED_LENGTH:
            from difflib import get_close_matches  # 1.5 ms that only this message needs

            compared = [name for name in names[:_COMPARED_NAMES] if len(name) <= _COMPARED_LENGTH]
            near = get_close_matches(key, compared, n=2)
            names = [*near, *(name for name in names if name not in near)]
        place = f" in {label}" if label else ""
        return f"no such key: {named(key)}{place}" + (f"; it has {listed(names)}" if names else "")

    return EvaluationError(message)


def listed(names: list[str], most: int = 6) -> str:
    """Return names separated by commas, at most `most` of them."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in names[:most]) + more


def entries_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the entries of the map that one round of `transformMapEntry` gives."""
    if isinstance(value, Mapping):
        return [(key, value[key]) for key in value]
    raise EvaluationError(f"no such overload: transformMapEntry() needs a map, not a {spoken_type(value)}")
