"""Edits of YAML files that a person wrote: one field changes, every other byte stays.

Comments, quotes, indentation and line ends survive because the text itself is edited (`muster.data.yaml.splice`), not
a tree that is written out again. Each edit is then proven: the result is loaded and compared with the tree that it
should give. Whatever splicing could get wrong ends as an `EditError`, never as a damaged file.
"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Protocol

from muster.data.tree import Tree
from muster.data.yaml.emitter import emit
from muster.data.yaml.loader import load_documents
from muster.data.yaml.nodes import Path, Step
from muster.data.yaml.problem import Loaded
from muster.data.yaml.splice import EditError, Splicer, named

__all__ = ["EditError", "append", "remove", "set_value"]


def set_value(text: str, document_index: int, path: Path, value: Tree) -> str:
    """Return `text` with `value` at `path`, making parents that are missing.

    A mapping that replaces a mapping changes only the fields that differ. A list's length as the last step
    appends. Raises EditError if the document cannot be read, a parent is neither a mapping nor a list, or the
    text cannot be edited safely.
    """
    expected = _with_value(_body(text, document_index), path, _valid(value), path)
    return _proven(text, document_index, expected, partial(_set, text, document_index, path, value))


def append(text: str, document_index: int, path: Path, item: Tree) -> str:
    """Return `text` with `item` at the end of the list at `path`, which is made if it is missing or null.

    Raises EditError as `set_value` does.
    """
    target = _value_at(_body(text, document_index), path)
    if target is None:
        return set_value(text, document_index, path, [item])
    if not isinstance(target, list):
        raise EditError(f"{named(path)} is not a list")
    return set_value(text, document_index, (*path, len(target)), item)


def remove(text: str, document_index: int, path: Path) -> str:
    """Return `text` without the field or item at `path`. A parent that is left empty stays, as `{}` or `[]`.

    Raises EditError if nothing is there, and as `set_value` does.
    """
    before = _body(text, document_index)
    if not path:
        raise EditError("a document cannot be removed from its file")
    parent = _value_at(before, path[:-1])
    if not _has_child(parent, path[-1]):
        raise EditError(f"there is no {named(path)}")
    expected = _with_value(before, path[:-1], _without_child(parent, path[-1]), path)
    return _proven(text, document_index, expected, partial(_remove, text, document_index, path))


def _set(text: str, index: int, path: Path, value: Tree, *, one_line: bool = False) -> str:
    """Splice `value` in; field by field if the old and the new value are both mappings with content."""
    old = _value_at(_body(text, index), path)
    if not (isinstance(old, dict) and isinstance(value, dict) and old and value):
        return Splicer(text, index, one_line=one_line).set(path, value)
    for key in value:
        if key not in old or not _same_json(old[key], value[key]):
            text = _set(text, index, (*path, key), value[key], one_line=one_line)
    for key in old:
        if key not in value:
            text = _remove(text, index, (*path, key))
    return text


def _remove(text: str, index: int, path: Path, *, one_line: bool = False) -> str:
    """Splice one child out; the only child is replaced by an empty collection."""
    parent = _value_at(_body(text, index), path[:-1])
    splicer = Splicer(text, index, one_line=one_line)
    return splicer.set(path[:-1], type(parent)()) if len(parent) == 1 else splicer.remove(path)


class _Edit(Protocol):
    """An edit of a text, on request with new values on one line."""

    def __call__(self, *, one_line: bool) -> str: ...


def _proven(text: str, index: int, expected: Tree, edit: _Edit) -> str:
    """Return the edited text if it loads as `expected`, with all other documents unchanged. Else raise EditError."""
    if not isinstance(expected, dict):
        raise EditError("a document is a mapping, it cannot be anything else")
    before = _load(text)
    wanted = {document.index: document.body for document in before.documents} | {index: expected}
    for candidate in _candidates(text, edit):
        after = _load(candidate)
        loaded = {document.index: document.body for document in after.documents}
        if len(after.problems) == len(before.problems) and _same_json(list(wanted.items()), list(loaded.items())):
            return candidate
    raise EditError("the text around this place is written in a way that cannot be edited safely; edit it by hand")


def _candidates(text: str, edit: _Edit) -> Iterator[str]:
    """Yield the edited text in the ways that may be right, the nicest first.

    A literal block would swallow an indented comment below it, which a value on one line does not; and one that
    now ends the file may need the line end that the file did without.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    for one_line in (False, True):
        try:
            edited = edit(one_line=one_line)
        except EditError:
            if one_line:
                raise
            continue
        yield edited
        yield edited + newline


def _valid(value: Tree) -> Tree:
    """Return the value. EditError if it could not be read back."""
    try:
        emit({"value": value})
    except (ValueError, TypeError) as error:
        raise EditError(str(error)) from error
    return value


def _load(text: str) -> Loaded:
    return load_documents(text.encode("utf-8", "surrogatepass"), "")


def _body(text: str, index: int) -> dict[str, Tree]:
    """Return the document's tree. EditError if it cannot be read."""
    loaded = _load(text)
    for document in loaded.documents:
        if document.index == index:
            return document.body
    for problem in loaded.problems:
        if problem.index == index:
            raise EditError(f"the document cannot be read: line {problem.line}: {problem.message}")
    raise EditError(f"the file has no document {index}")


def _has_child(tree: Tree, step: Step) -> bool:
    if isinstance(tree, dict):
        return step in tree
    return isinstance(tree, list) and isinstance(step, int) and 0 <= step < len(tree)


def _value_at(tree: Tree, path: Path) -> Tree:
    """Return the value at `path`, None if there is none."""
    for step in path:
        if not _has_child(tree, step):
            return None
        tree = tree[step]
    return tree


def _with_value(tree: Tree, path: Path, value: Tree, whole: Path) -> Tree:
    """Return a copy of `tree` with `value` at `path`. EditError if the path leads through a scalar."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, str) and (tree is None or isinstance(tree, dict)):
        return (tree or {}) | {step: _with_value((tree or {}).get(step), rest, value, whole)}
    if isinstance(step, int) and (tree is None or isinstance(tree, list)) and 0 <= step <= len(items := tree or []):
        below = items[step] if step < len(items) else None
        return [*items[:step], _with_value(below, rest, value, whole), *items[step + 1 :]]
    depth = len(whole) - len(path)
    kind = "a mapping" if isinstance(tree, dict) else "a list" if isinstance(tree, list) else "a single value"
    raise EditError(f"{named(whole[:depth])} is {kind}: there is no place for {named(whole)}")


def _without_child(parent: Tree, step: Step) -> Tree:
    """Return a copy of a mapping or list without one child."""
    if isinstance(parent, dict):
        return {key: value for key, value in parent.items() if key != step}
    return [item for index, item in enumerate(parent) if index != step]


def _same_json(left: Tree, right: Tree) -> bool:
    """Whether two trees are the same in JSON's terms: `1`, `1.0` and `true` differ, the order of keys does not."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
