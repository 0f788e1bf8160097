"""What is remembered of pulses: a git ref of its own, `refs/muster/pulses`, one root commit replaced in place.

So the memory makes no noise in the fleet's history, and a clone that has just been made can have it: it lies in the
repository, and with a remote on the remote, which is asked before pulses are decided and told after they went out.
Losing it, or two runs at one time, costs a pulse twice, never a pulse.

The commit's tree has up to 256 files of JSON, by a hash of the object, so that one pulse changes one small file.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from muster.data.codec import MalformedError, from_tree, to_tree
from muster.data.decision import NOTHING_PUBLISHED, Memory, Published, PulseKey
from muster.data.ids import ObjectId
from muster.data.times import try_time
from muster.data.tree import Tree, read_json
from muster.git.errors import RepositoryError
from muster.git.repository import Repository, open_repository, ref_tip
from muster.git.rootref import RefContents, RootRef, files_of, store_files

REF = "refs/muster/pulses"
_MESSAGE = "What muster remembers of its pulses\n"


@dataclass(frozen=True, slots=True)
class Arrived:
    """An event that some sinks have and others do not have yet."""

    event: str
    sinks: frozenset[str]


@dataclass
class PulseMemory:
    """The memory in hand: the last pulse of each object and policy, and what is only half delivered.

    `objects`, where known, are those that exist: nothing else is remembered.
    """

    published: dict[PulseKey, Published] = field(default_factory=dict)
    arrived: dict[PulseKey, Arrived] = field(default_factory=dict)
    objects: Collection[ObjectId] | None = field(default=None, compare=False)

    def add(self, other: "PulseMemory") -> None:
        """Take over what another memory knows better: of two pulses the later."""
        for key, theirs in other.published.items():
            mine = self.published.get(key)
            if mine is None or (theirs.time, theirs.count) > (mine.time, mine.count):
                self.published[key] = theirs
                self.arrived.pop(key, None)
        for key, half in other.arrived.items():
            known = self.arrived.get(key)
            if known is not None and known.event == half.event:
                self.arrived[key] = Arrived(half.event, known.sinks | half.sinks)
            elif known is None and self.published.get(key) == other.published.get(key):
                self.arrived[key] = half
        self._forget()

    def keep(self, objects: Collection[ObjectId]) -> None:
        """Forget objects that are gone, now and whatever is added."""
        self.objects = objects
        self._forget()

    def _forget(self) -> None:
        if self.objects is None:
            return
        for known in (self.published, self.arrived):
            for key in [key for key in known if key.object not in self.objects]:
                del known[key]


def read_memory(repository: Repository, remote: str | None = None) -> PulseMemory:
    """Return what the repository remembers, and the remote where one is given. RepositoryError if that is not there."""
    memory = decoded(RootRef(repository, REF).look().files)
    if remote is not None:
        memory.add(decoded(RootRef(repository, REF, remote).look().files))
    return memory


@dataclass(frozen=True)
class Remembered:
    """What went out before, read when it is asked for. `at` changes whenever it does: both are of one look."""

    repository: Repository
    remote: str | None = None

    @cached_property
    def memory(self) -> Memory:
        """The last pulse of each object and policy. RepositoryError if the remote's cannot be had."""
        if self.remote is None:
            return decoded(files_of(self.repository, self.at) if self.at else {}).published
        return read_memory(self.repository, self.remote).published

    @cached_property
    def at(self) -> str:
        """The commit that remembers; with a remote, what it remembers."""
        if self.remote is None:
            return ref_tip(self.repository, REF) or ""
        return hashlib.sha256(repr(sorted(self.memory.items())).encode()).hexdigest()


def memory_of(path: Path, environ: Mapping[str, str]) -> Memory:
    """What the repository at a path remembers; a plain directory remembers nothing."""
    try:
        repository = open_repository(path, environ)
    except RepositoryError:
        return NOTHING_PUBLISHED
    return read_memory(repository).published


def remember(repository: Repository, memory: PulseMemory, remote: str | None = None) -> str:
    """Store a memory, together with what others stored meanwhile. Returns why it could not be stored, or nothing."""

    def merged(standing: RefContents) -> Mapping[str, bytes]:
        memory.add(decoded(standing.files))
        return encoded(memory)

    return store_files(repository, REF, merged, _MESSAGE, remote)


def encoded(memory: PulseMemory) -> Mapping[str, bytes]:
    """A memory as files: the same memory gives the same bytes."""
    shards: dict[str, dict[str, dict[str, Tree]]] = {}
    for key in sorted({*memory.published, *memory.arrived}):
        name = "/".join(key.object)
        shard = hashlib.sha256(name.encode()).hexdigest()[:2]
        shards.setdefault(f"{shard}.json", {}).setdefault(name, {})[key.policy] = _entry(memory, key)
    if not shards:
        return {"empty.json": b"{}\n"}
    return {path: (json.dumps(content, indent=0, sort_keys=True) + "\n").encode() for path, content in shards.items()}


def _entry(memory: PulseMemory, key: PulseKey) -> Tree:
    last, half = memory.published.get(key), memory.arrived.get(key)
    entry: Tree = to_tree(last) if last is not None else {}
    return {**entry, "arrived": to_tree(half)} if half is not None else entry


def decoded(files: Mapping[str, bytes]) -> PulseMemory:
    """The memory in files. What cannot be read is forgotten, which costs a pulse twice."""
    memory = PulseMemory()
    for content in files.values():
        try:
            objects = read_json(content)
        except ValueError:
            continue
        for name, policies in objects.items() if isinstance(objects, dict) else ():
            parts = name.split("/")
            if len(parts) == len(ObjectId._fields) and isinstance(policies, dict) and _is_text(name):
                _read(memory, ObjectId(*parts), policies.items())
    return memory


def _is_text(name: str) -> bool:
    """Whether a name could be an object's: JSON can hold halves of characters, which nothing can be called."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _read(memory: PulseMemory, id_: ObjectId, entries: Iterable[tuple[str, Tree]]) -> None:
    for policy, entry in entries:
        key, known = PulseKey(id_, policy), entry if isinstance(entry, dict) else {}
        with suppress(MalformedError):
            memory.published[key] = from_tree(Published, {**known, "time": try_time(known.get("time"))})
        with suppress(MalformedError):
            memory.arrived[key] = from_tree(Arrived, known.get("arrived"))
