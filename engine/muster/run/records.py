"""What is kept of a run, as text: JSON of outcomes and findings, read back as the values they were."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from muster.data.codes import CODES, Severity
from muster.data.decision import ApprovalWait, Because, Decision, Failed, Held, Input, Path
from muster.data.finding import Finding, Waiver
from muster.data.ids import ObjectId
from muster.data.times import format_time, try_time
from muster.data.tree import At, Tree, read_json

_TEXT: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def text_of(tree: Tree) -> str:
    """Return a tree as text, the same for the same."""
    return _TEXT.encode(tree)


def tree_of(text: str) -> Tree:
    """Return the tree that a text is of."""
    return read_json(text)


def digest(text: str) -> str:
    """A short text that differs where texts do."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def put_body(body: Tree) -> Tree:
    """An object's body, each field of its sections as a text of its own, and of a list each element.

    Many are the same from one cluster to the next: those are made into trees once, which all of them share.
    """
    return _of_each_field(body, text_of)


def get_body(tree: Tree) -> Tree:
    """The body."""
    return _of_each_field(tree, _value_of)


def _of_each_field(body: Tree, made: Callable[[Tree], Tree]) -> Tree:
    def shared(value: Tree) -> Tree:
        return [made(one) for one in value] if isinstance(value, list) else made(value)

    return {
        name: {field: shared(value) for field, value in section.items()} if isinstance(section, dict) else section
        for name, section in body.items()
    }


def put_decisions(decided: Mapping[Path, Decision]) -> Tree:
    """An object's decisions, but for when time changes them: that is kept for a neighbourhood as a whole.

    All paths are one text, all reasons are, and each value is, as in `put_body`.
    """
    return [
        _paths_text(tuple(decided)),
        _reasons_text(tuple(decision.because for decision in decided.values())),
        [text_of(decision.value) for decision in decided.values()],
    ]


def get_decisions(id_: ObjectId, tree: Tree) -> Mapping[Path, Decision]:
    """The decisions about an object."""
    paths, reasons, values = tree
    return _Decisions(id_, _paths_of(paths), _reasons_of(reasons), tuple(map(_value_of, values)))


@dataclass(frozen=True, slots=True, eq=False)
class _Decisions(Mapping[Path, Decision]):
    """Decisions of which only what tells one object's from another's is kept; most are never asked about."""

    id: ObjectId
    paths: Mapping[Path, int]
    reasons: tuple[Because, ...]
    values_: tuple[Tree, ...]

    def __getitem__(self, path: Path) -> Decision:
        index = self.paths[path]
        return Decision(self.id, path, self.values_[index], self.reasons[index])

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


@lru_cache(1 << 12)
def _paths_text(paths: tuple[Path, ...]) -> str:
    return text_of([_put_path(path) for path in paths])


@lru_cache(1 << 12)
def _paths_of(text: str) -> Mapping[Path, int]:
    """The number of each path."""
    return {_get_path(steps): number for number, steps in enumerate(tree_of(text))}


@lru_cache(1 << 12)
def _reasons_text(reasons: tuple[Because, ...]) -> str:
    return text_of([_put_because(because) for because in reasons])


@lru_cache(1 << 12)
def _reasons_of(text: str) -> tuple[Because, ...]:
    return tuple(map(_get_because, tree_of(text)))


_value_of = lru_cache(1 << 12)(tree_of)


def put_held(held: Iterable[Held]) -> Tree:
    """Effects that are held."""
    return [
        [list(one.object), one.effect, one.reason, _put_because(one.because), put_time(one.horizon),
         one.wait and [one.wait.topic, put_time(one.wait.since), one.wait.approved]]
        for one in held
    ]  # fmt: skip


def get_held(tree: Tree) -> list[Held]:
    """The effects."""
    return [
        Held(ObjectId(*id_), effect, reason, _get_because(because), try_time(horizon), _get_wait(*(wait or ())))
        for id_, effect, reason, because, horizon, wait in tree
    ]


def _get_wait(topic: str = "", since: Tree = None, approved: Tree = None) -> ApprovalWait | None:
    instant = try_time(since)
    return None if instant is None else ApprovalWait(topic, instant, approved is True)


def put_failed(failed: Failed, order: tuple[int, str, str]) -> tuple[str, ...]:
    """An expression that failed for an object, in texts: by stage, policy and place; what sorts it among all
    that failed there, as its `order` does; and what there is to say of it."""
    kind, namespace, name = order
    said = [list(failed.object), failed.message, failed.offset, failed.cut_off]
    return (
        failed.stage, text_of(list(failed.policy)), text_of(list(failed.at)), f"{kind:03}\x1f{namespace}\x1f{name}",
        text_of(said),
    )  # fmt: skip


def get_failed(row: tuple[str, str, str, str, int]) -> Failed:
    """The first object for which an expression failed, and for how many it did."""
    stage, policy, at, said, count = row
    id_, message, offset, cut_off = tree_of(said)
    return Failed(
        ObjectId(*tree_of(policy)), tuple(tree_of(at)), ObjectId(*id_), message, offset, cut_off is True, count, stage
    )


def put_findings(findings: Iterable[Finding]) -> Tree:
    """Findings, sorted by place."""
    return [
        [f.code.value, f.severity.value, f.message, f.file, f.line, f.column, list(f.object or ()), f.hint, f.excerpt,
         *([list(astuple(f.waiver))] if f.waiver else [])]
        for f in sorted(findings, key=Finding.sort_key)
    ]  # fmt: skip


def get_findings(tree: Tree) -> list[Finding]:
    """The findings."""
    return [
        Finding(
            CODES[code], Severity(severity), message, file, line, column, ObjectId(*id_) if id_ else None, hint,
            excerpt, waiver=_get_waiver(*waiver),
        )
        for code, severity, message, file, line, column, id_, hint, excerpt, *waiver in tree
    ]  # fmt: skip


def _get_waiver(fields: Tree = None) -> Waiver | None:
    if fields is None:
        return None
    name, code, about, digests, *rest = fields
    return Waiver(name, code, about, tuple(digests), *rest)


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
