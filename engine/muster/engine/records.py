"""What is kept of a run, as text: JSON of outcomes and findings, read back as the values they were."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from typing import Final

from muster.model.decision import Because, Decision, Held, Input, Path
from muster.model.finding import Finding, Severity
from muster.model.ids import ObjectId
from muster.model.times import format_time, try_time
from muster.model.tree import At, Tree

_TEXT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def text_of(tree: Tree) -> str:
    """Return a tree as text, the same for the same."""
    return _TEXT.encode(tree)


def tree_of(text: str) -> Tree:
    """Return the tree that a text is of."""
    tree: Tree = json.loads(text)
    return tree


def put_body(body: Tree) -> Tree:
    """An object's body, each field of its sections as a text of its own.

    Many are the same from one cluster to the next: those are made into trees once, which all of them share.
    """
    return {
        name: {field: text_of(value) for field, value in section.items()} if isinstance(section, dict) else section
        for name, section in body.items()
    }


def get_body(tree: Tree) -> Tree:
    """The body."""
    return {
        name: {field: _value_of(text) for field, text in section.items()} if isinstance(section, dict) else section
        for name, section in tree.items()
    }


def put_decisions(decided: Mapping[Path, Decision]) -> Tree:
    """An object's decisions, but for when time changes them: that is kept for a neighbourhood as a whole.

    Paths, values and reasons are texts of their own, as in `put_body`.
    """
    return [
        [_path_text(path), text_of(decision.value), _because_text(decision.because)]
        for path, decision in decided.items()
    ]


def get_decisions(id_: ObjectId, tree: Tree) -> dict[Path, Decision]:
    """The decisions about an object."""
    found: dict[Path, Decision] = {}
    for steps, value, because in tree:
        path = _path_of(steps)
        found[path] = Decision(id_, path, _value_of(value), _because_of(because))
    return found


@lru_cache(1 << 12)
def _path_text(path: Path) -> str:
    return text_of(_put_path(path))


@lru_cache(1 << 12)
def _path_of(text: str) -> Path:
    return _get_path(tree_of(text))


@lru_cache(1 << 12)
def _because_text(because: Because) -> str:
    return text_of(_put_because(because))


@lru_cache(1 << 12)
def _because_of(text: str) -> Because:
    return _get_because(tree_of(text))


_value_of = lru_cache(1 << 12)(tree_of)


def put_held(held: Iterable[Held]) -> Tree:
    """Effects that a budget holds."""
    return [
        [list(one.object), one.effect, one.reason, _put_because(one.because), put_time(one.horizon)] for one in held
    ]


def get_held(tree: Tree) -> list[Held]:
    """The effects."""
    return [
        Held(ObjectId(*id_), effect, reason, _get_because(because), try_time(horizon))
        for id_, effect, reason, because, horizon in tree
    ]


def put_findings(findings: Iterable[Finding]) -> Tree:
    """Findings, sorted by place."""
    return [
        [f.code, f.severity.value, f.message, f.file, f.line, f.column, list(f.object or ()), f.hint, f.excerpt]
        for f in sorted(findings, key=Finding.sort_key)
    ]


def get_findings(tree: Tree) -> list[Finding]:
    """The findings."""
    return [
        Finding(code, Severity(severity), message, file, line, column, ObjectId(*id_) if id_ else None, hint, excerpt)
        for code, severity, message, file, line, column, id_, hint, excerpt in tree
    ]


def put_time(instant: datetime | None) -> str | None:
    """An instant so that texts sort as instants do; None for never."""
    return None if instant is None else format_time(instant)


def _put_because(because: Because) -> Tree:
    inputs = [[_put_path(found.path), found.object] for found in because.inputs]
    return [because.rule, inputs, because.text]


def _get_because(tree: Tree) -> Because:
    rule, inputs, text = tree
    found = (Input(_get_path(steps), ObjectId(*id_) if id_ else None) for steps, id_ in inputs)
    return Because(rule, tuple(found), text)


def _put_path(path: Path | At) -> Tree:
    return [list(step) if isinstance(step, tuple) else step for step in path]


def _get_path(steps: Tree) -> Path:
    return tuple(tuple(step) if isinstance(step, list) else step for step in steps)
