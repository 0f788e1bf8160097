"""Kubernetes' JSONPath, as far as feedback rules and ignored fields use it.

Source: client-go `util/jsonpath`: fields, indexes, `*`, and filters that compare with a value. A missing field has no
values.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

from muster.data.tree import Tree

_STEP: Final = re.compile(r"""
    \.(?P<field>(?:[^.\[\]\\*]|\\.)+)
  | (?P<all>\.\*|\[\*\])
  | \[(?P<index>-?\d+)\]
  | \[(?P<quote>['"])(?P<key>(?:[^'"\\]|\\.)*)(?P=quote)\]
  | \[\?\(\s*@(?P<left>[^=!<>\s]*)\s*(?P<operator>==|!=)\s*(?P<right>'[^']*'|"[^"]*"|[-\w.]+)\s*\)\]
""", re.VERBOSE)  # fmt: skip

_Step = Callable[[Tree], Iterator[Tree]]


def find_values(tree: Tree, path: str) -> list[Tree]:
    """Return the values at a path. ValueError if the path cannot be understood."""
    found = [tree]
    for step in _steps(path):
        found = [value for one in found for value in step(one)]
    return found


def _steps(path: str) -> list[_Step]:
    text = path.strip().removeprefix("$")
    text = text if not text or text[0] in ".[" else f".{text}"
    at, steps = 0, list[_Step]()
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise ValueError(f"the JSONPath {path!r} cannot be understood at {text[at:]!r}")
        steps.append(_step(found))
        at = found.end()
    return steps


def _step(found: re.Match[str]) -> _Step:
    if found["index"] is not None:
        return lambda tree: _item(tree, int(found["index"]))
    if found["all"] is not None:
        return _children
    if found["left"] is not None:
        left, right, equal = _steps(found["left"]), _literal(found["right"]), found["operator"] == "=="
        return lambda tree: (one for one in _children(tree) if _compares(one, left, right, equal=equal))
    name = re.sub(r"\\(.)", r"\1", found["field"] or found["key"] or "")
    return lambda tree: iter([tree[name]] if isinstance(tree, dict) and name in tree else [])


def _item(tree: Tree, index: int) -> Iterator[Tree]:
    if isinstance(tree, list) and -len(tree) <= index < len(tree):
        yield tree[index]


def _children(tree: Tree) -> Iterator[Tree]:
    return iter(tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else [])


def _compares(tree: Tree, path: list[_Step], literal: Tree, *, equal: bool) -> bool:
    values = [tree]
    for step in path:
        values = [value for one in values for value in step(one)]
    return any((value == literal) is equal for value in values)


def _literal(text: str) -> Tree:
    if text[0] in "'\"":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text
