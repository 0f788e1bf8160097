"""The records of a run in the state, and the compact form of summaries.

Everything else is encoded as it is (`muster.data.codec`). There are as many summaries as clusters, and their fields
repeat from one cluster to the next. So each field is encoded on its own, and equal bytes are decoded once: a cluster
takes 5.8 kB of memory instead of 18.8 kB.
"""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from sys import intern
from typing import NamedTuple, TypeAlias, TypeVar

from muster.data.codec import MalformedError, decode, decode_tree, encode
from muster.data.decision import Because, Decision, Failed, Held, Path, Published, PulseKey
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.rules.effects.budget import Usage
from muster.rules.policies.in_force import NOTHING_READ, PolicyReads

T = TypeVar("T")
#: A section of a body (`spec`): each field as bytes, each element of a field that is a list. Or another value.
_Section: TypeAlias = dict[str, bytes | list[bytes]] | list[object] | str | int | float | bool | None


class RunInputs(NamedTuple):
    """Agents' refs and published pulses at a run: large, and read only if their digests differ."""

    tips: str
    published: tuple[tuple[PulseKey, Published], ...] = ()


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The record of a run as a whole.

    `now` is in seconds since the epoch. `memory` changes whenever pulses are published, `tips_digest` whenever agents
    report. `given`: what every cluster was given. `frozen`: the freezes in force. `steady`: what the run wrote is at
    rest; else it is evaluated again once it is there. `slips`: incomplete files, and the names of the objects that they
    contained; of a check, the files that differed from the commit. `users`: a policy reads who changed objects.
    `reads`: what admission policies read.
    `withheld`: further repositories that did not answer, with their clusters. `loose` findings are of no neighbourhood.
    `inputs` are stored apart: None leaves them unchanged.
    """

    commit: str
    now: int = 0
    tips_digest: str = ""
    withheld: list[tuple[str, list[str]]] = field(default_factory=list)
    memory: str = ""
    lease_floor: int = 0
    given: str = ""
    settings: Tree = None
    holds: list[Tree] = field(default_factory=list)
    frozen: list[Tree] = field(default_factory=list)
    slips: tuple[list[str], list[str]] = ([], [])
    totals: dict[str, int] = field(default_factory=dict)
    held: tuple[Held, ...] = ()
    usage: tuple[Usage, ...] = ()
    loose: tuple[Finding, ...] = ()
    reads: PolicyReads = NOTHING_READ
    failed: tuple[Finding, ...] = ()
    steady: bool = True
    users: bool = False
    inputs: RunInputs | None = None


class StoredObject(NamedTuple):
    """An object that others may read, and the decisions about it without their horizons, which are recorded for the
    neighbourhood as a whole."""

    id: ObjectId
    body: dict[str, _Section]
    paths: bytes
    reasons: tuple[bytes, ...]
    values: tuple[bytes, ...]


class StoredSummary(NamedTuple):
    """The stored form of a summary."""

    objects: tuple[StoredObject, ...]
    held: tuple[Held, ...]
    disrupted: tuple[ObjectId, ...]
    asked: tuple[ObjectId, ...]
    works: tuple[StoredObject, ...]


def kept(type_: type[T], data: bytes) -> T:
    """Decode a value of the state. Raises sqlite3.DatabaseError if it is damaged."""
    try:
        return decode(type_, data)
    except MalformedError as error:
        raise sqlite3.DatabaseError(f"not a {type_.__name__}: {error}") from error


def digest(data: bytes) -> str:
    """Return a digest of bytes."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def stored(id_: ObjectId, body: Tree, decisions: Mapping[Path, Decision]) -> StoredObject:
    """Return the stored form of an object with its decisions, but for those that take something away: afterwards it is
    as if they had never been."""
    decided = {path: decision for path, decision in decisions.items() if decision.value is not None}
    reasons = tuple(_reason_bytes(decision.because) for decision in decided.values())
    values = tuple(encode(decision.value) for decision in decided.values())
    return StoredObject(id_, _of_each_field(body, encode), _paths_bytes(tuple(decided)), reasons, values)


def body_of(stored_object: StoredObject) -> Tree:
    """Return its body."""
    return _of_each_field(stored_object.body, _value)


def decisions_of(stored_object: StoredObject) -> Mapping[Path, Decision]:
    """Return its decisions. Raises sqlite3.DatabaseError if they are damaged."""
    paths = _paths(stored_object.paths)
    if not len(paths) == len(stored_object.reasons) == len(stored_object.values):
        raise sqlite3.DatabaseError("not as many decisions as paths")
    for read, all_data in ((_reason, stored_object.reasons), (_value, stored_object.values)):
        for data in all_data:
            read(data)  # whether they are damaged is known before anything is decided
    return _Decisions(
        stored_object.id, paths, tuple(map(_same, stored_object.reasons)), tuple(map(_same, stored_object.values))
    )


def _of_each_field(body: Tree, made: Callable[[Tree], Tree]) -> Tree:
    def shared(value: Tree) -> Tree:
        return [made(item) for item in value] if isinstance(value, list) else made(value)

    def of_section(section: Tree) -> Tree:
        if isinstance(section, dict):
            return {field: shared(value) for field, value in section.items()}
        return _shared(section)

    return {name: of_section(section) for name, section in body.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Decisions(Mapping[Path, Decision]):
    """Decisions that share their paths, reasons and values with other objects', and are made when read: most never
    are."""

    id: ObjectId
    paths: Mapping[Path, int]
    reasons: tuple[bytes, ...]
    values_: tuple[bytes, ...]

    def __getitem__(self, path: Path) -> Decision:
        index = self.paths[path]
        return Decision(self.id, path, _value(self.values_[index]), _reason(self.reasons[index]))

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


_paths_bytes = lru_cache(1 << 12)(encode)
_reason_bytes = lru_cache(1 << 12)(encode)


@lru_cache(1 << 12)
def _paths(data: bytes) -> Mapping[Path, int]:
    """The number of each path."""
    return {path: number for number, path in enumerate(kept(tuple[Path, ...], data))}


@lru_cache(1 << 12)
def _same(data: bytes) -> bytes:
    """Return bytes that equal ones share."""
    return data


@lru_cache(1 << 12)
def _reason(data: bytes) -> Because:
    return kept(Because, data)


@lru_cache(1 << 12)
def _value(data: bytes) -> Tree:
    try:
        return _shared(decode_tree(data))
    except MalformedError as error:
        raise sqlite3.DatabaseError(f"not a value: {error}") from error


def _shared(value: Tree) -> Tree:
    """Return a value with texts that others share: most are in many values, or several times in one object."""
    if isinstance(value, str):
        return intern(value)
    if isinstance(value, dict):
        return {name: _shared(item) for name, item in value.items()}
    return [_shared(item) for item in value] if isinstance(value, list) else value


def failure_row(failed: Failed, order: tuple[int, str, str]) -> tuple[str, bytes, bytes, str, bytes]:
    """Return the row of an expression that failed for an object: stage, policy, place, a text that sorts as the
    object's `order` does, and the whole failure."""
    kind, namespace, name = order
    at = f"{kind:03}\x1f{namespace}\x1f{name}"
    return failed.stage, encode(failed.policy), encode(failed.at), at, encode(failed)
