"""Derived parts as trees and as files: from decisions to the object written under `derived/`.

The bytes depend on the decisions alone: keys have a fixed order (below `status.muster` that of
`muster.fleet.bookkeeping`), lists are sorted by their key if they have one. Only transitions change files, because a
decision contains no time but that of a transition.
"""

import hashlib
from collections.abc import Callable, Mapping
from copy import copy
from functools import cache
from typing import TypeGuard

from muster.data.decision import Decision, Path
from muster.data.ids import ObjectId
from muster.data.kinds import OPTIONAL_KEYS, ListKeys, kind_of
from muster.data.tree import Tree, mapping_at
from muster.fleet.merge import element_key

HEADER = "Written by muster. Edits are overwritten by the next reconcile."

_TOP_ORDER = ("apiVersion", "kind", "metadata", "spec", "status")
_METADATA_ORDER = ("name", "namespace", "generation", "creationTimestamp", "deletionTimestamp", "labels", "annotations")
_CONDITION_ORDER = ("type", "status", "reason", "message", "lastTransitionTime", "observedGeneration")


def derived_body(id_: ObjectId, decisions: Mapping[Path, Decision]) -> Tree:
    """Return the partial object that the decisions make; None if they make nothing."""
    values = {path: decision.value for path, decision in decisions.items() if decision.value is not None}
    if not values:
        return None
    kind = kind_of(id_)
    body: Tree = {}
    for path, value in values.items():
        _set_at(body, path, value, kind.list_keys)
    metadata = body.setdefault("metadata", {})
    metadata["name"] = id_.name
    if id_.namespace:
        metadata["namespace"] = id_.namespace
    body["apiVersion"], body["kind"] = kind.api_version, kind.name
    return in_order(body)


def _set_at(body: Tree, path: Path, value: Tree, list_keys: ListKeys) -> None:
    """Set `path` in a tree under construction, creating mappings, lists and keyed elements on the way."""
    walked: list[str] = []
    parent = body
    for position, step in enumerate(path):
        last = position == len(path) - 1
        if isinstance(step, tuple):
            fields = list_keys[".".join(walked)]
            element = _element(parent, fields, step)
            named = dict(zip(fields, step, strict=True))
            if element is None:
                element = {name: text for name, text in named.items() if name not in OPTIONAL_KEYS}
                parent.append(element)
            if last:
                element.update(value)
            element.update((name, text) for name, text in named.items() if name in OPTIONAL_KEYS and text)
            parent = element
            continue
        walked.append(step)
        if last:
            # A kept value belongs to the last run's part, and other decisions are set inside it.
            parent[step] = copy(value)
        else:
            nested: Tree = [] if isinstance(path[position + 1], tuple) else {}
            parent = parent.setdefault(step, nested)


def _element(elements: list[Tree], fields: tuple[str, ...], key: tuple[str, ...]) -> Tree:
    if len(fields) == 1:  # most lists: conditions
        (field,), (value,) = fields, key
        return next(
            (element for element in elements if isinstance(element, dict) and element.get(field) == value), None
        )
    return next((element for element in elements if element_key(element, fields) == key), None)


def in_order(body: Tree) -> Tree:
    """Return an object, or a part of one, with its keys and keyed lists in order: equal decisions give equal bytes."""
    kind = kind_of(ObjectId(body["apiVersion"].partition("/")[0], body["kind"], "", ""))
    body = {**body, "metadata": _keys_in_order(body["metadata"], _METADATA_ORDER)}
    if _is_of_mappings(conditions := (body.get("status") or {}).get("conditions")):
        ordered = [_keys_in_order(condition, _CONDITION_ORDER) for condition in conditions]
        body["status"] = {**body["status"], "conditions": ordered}
    for dotted, fields in kind.list_keys.items():
        section, _, name = dotted.partition(".")
        if _is_of_mappings(elements := (body.get(section) or {}).get(name)):
            keyed = (element if name == "conditions" else _keys_first(element, fields) for element in elements)
            ordered = sorted(keyed, key=_sort_key(fields))
            body[section] = {**body[section], name: ordered}
    if (book := mapping_at(body, "status").get("muster")) is not None:
        from muster.fleet.bookkeeping import order_at

        body["status"] = {**body["status"], "muster": order_at(kind).of(book)}
    return {
        key: _sorted(body[key], keep_order=key in ("metadata",))
        for key in (*_TOP_ORDER, *sorted(set(body) - set(_TOP_ORDER)))
        if key in body
    }


@cache
def _sort_key(fields: tuple[str, ...]) -> Callable[[Tree], list[str] | str]:
    """The sort key for elements of a list with these key fields."""
    if len(fields) == 1:
        (only,) = fields
        return lambda element: str(element.get(only) or "")
    return lambda element: [str(element.get(field) or "") for field in fields]


def _sorted(section: Tree, *, keep_order: bool) -> Tree:
    """The section's fields by name; `status.muster`, bookkeeping, comes last."""
    if not isinstance(section, dict) or keep_order:
        return section
    return {key: section[key] for key in sorted(section, key=lambda name: (name == "muster", name))}


def _keys_in_order(mapping: Tree, order: tuple[str, ...]) -> Tree:
    first = {key: mapping[key] for key in order if key in mapping}
    if len(first) < len(mapping):
        first.update((key, mapping[key]) for key in sorted(set(mapping) - set(order)))
    return first


def _is_of_mappings(tree: Tree) -> TypeGuard[list[Tree]]:
    return isinstance(tree, list) and all(isinstance(element, dict) for element in tree)


def _keys_first(element: Tree, fields: tuple[str, ...]) -> Tree:
    """An element of a keyed list with its key fields first; the rest keeps its order."""
    first = (name for name in fields if name in element and name not in OPTIONAL_KEYS)
    return {**{name: element[name] for name in first}, **element}


def derived_text(body: Tree) -> str:
    """Return the file's text. UnwritableError if the next run could not read it."""
    from muster.data.yaml.emitter import file_text  # checks that write nothing need not load it

    return file_text(body, header=HEADER)


def content_id(content: bytes) -> str:
    """Return a digest for comparing contents, independent of the repository's object format (sha1 or sha256)."""
    return hashlib.sha256(content).hexdigest()
