"""Turns a value of CEL into a tree: what YAML and JSON can say. Files, events and printed values are made this way.

A value is measured before it is copied (`muster.cel.runtime.size`): one that holds a part many times is small in memory
and may be too large to write.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final

from muster import cel
from muster.cel.runtime.describe import shown, type_name
from muster.cel.runtime.size import size_of
from muster.data.times import format_duration, format_time
from muster.data.tree import Tree
from muster.data.yaml import limits

#: The order of the first keys: of a Kubernetes object, and of its metadata.
_TOP: Final = ("apiVersion", "kind", "metadata")
_NAME: Final = ("name", "namespace")


class UnfitError(Exception):
    """A value that is not written: the reason, and what to do."""

    def __init__(self, reason: str, hint: str) -> None:
        super().__init__(reason)
        self.hint = hint


def tree_of(value: Any, most: int = limits.FILE) -> Tree:
    """Return a value as a tree. Raises UnfitError if YAML and JSON cannot say it, or if it has more than `most` values
    and characters: never more than the bytes of its text.

    Equal values give equal trees: keys are sorted, those of a Kubernetes object in their usual order.
    """
    try:
        size = size_of(value)
    except cel.EvaluationError as error:
        raise UnfitError(str(error), "make it flatter") from None
    if size > most:
        hint = "write less; a part that it holds twice is written twice"
        raise UnfitError(f"it has more than {most:,} values and characters when it is written out", hint)
    return _tree(value, 0)


def _tree(value: Any, depth: int) -> Tree:
    if depth > limits.DEPTH:
        raise UnfitError(f"it is nested deeper than {limits.DEPTH} levels", "make it flatter")
    if isinstance(value, Mapping):
        if wrong := [key for key in value if not isinstance(key, str)]:
            raise UnfitError(f"it has the key {shown(wrong[0])}, which is no text", "make it one: string(key)")
        first = _TOP if "apiVersion" in value and "kind" in value else _NAME if "name" in value else ()
        keys = (*(key for key in first if key in value), *sorted(value.keys() - frozenset(first)))
        return {key: _tree(value[key], depth + 1) for key in keys}
    if isinstance(value, list):
        return [_tree(part, depth + 1) for part in value]
    return _scalar(value)


def _scalar(value: Any) -> Tree:
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, float) and not isfinite(value):
        raise UnfitError(f"it has the number {value}, which JSON does not know", "make it a text: string(number)")
    if isinstance(value, cel.UInt):
        return int(value)
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise UnfitError(f"it has a value of type {type_name(value)}, which a file cannot hold", "make it a text")


def spoken_tree(value: Any) -> Tree:
    """Return a value as a tree for people: what YAML and JSON cannot say is text. For values of expressions, which are
    measured already."""
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else shown(key): spoken_tree(part) for key, part in value.items()}
    if isinstance(value, list):
        return [spoken_tree(part) for part in value]
    try:
        return shown(value) if isinstance(value, datetime | timedelta) else _scalar(value)
    except UnfitError:
        return shown(value)
