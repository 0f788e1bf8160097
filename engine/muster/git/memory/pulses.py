"""The memory of pulses: a git ref, `refs/muster/pulses`, with one root commit that is replaced in place.

So it adds nothing to the fleet's history, and a new clone has it: it is in the repository, and with a remote on the
remote, which is read before pulses are decided and updated after they are published. If it is lost, or if two runs are
made at once, a pulse is published twice, but never lost.

The commit's tree has up to 256 JSON files, by a hash of the object, so that one pulse changes one small file.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import field
from functools import cached_property

from muster.data.codec import MalformedError, from_tree, to_tree
from muster.data.decision import Memory, Published, PulseKey
from muster.data.ids import ObjectId
from muster.data.times import try_time
from muster.data.tree import Tree, read_json
from muster.dataclass import dataclass
from muster.git.agents.refs import PULSES
from muster.git.memory.rootref import RefContents, RootRef, files_of, store_files
from muster.git.repository import Repository, ref_tip

_MESSAGE = "What muster remembers of its pulses\n"


@dataclass(frozen=True, slots=True)
class Arrived:
    """An event that only some sinks have received."""

    event: str
    sinks: frozenset[str]


@dataclass
class PulseMemory:
    """A memory: the last pulse of each object and policy, and partly delivered events.

    `objects`, if known, are the existing ones: nothing else is remembered.
    """

    published: dict[PulseKey, Published] = field(default_factory=dict)
    arrived: dict[PulseKey, Arrived] = field(default_factory=dict)
    objects: Collection[ObjectId] | None = field(default=None, compare=False)

    def add(self, other: "PulseMemory") -> None:
        """Add what another memory knows: of two pulses the later one."""
        for key, theirs in other.published.items():
            mine = self.published.get(key)
            if mine is None or (theirs.time, theirs.count) > (mine.time, mine.count):
                self.published[key] = theirs
                self.arrived.pop(key, None)
        for key, half in other.arrived.items():
            arrival = self.arrived.get(key)
            if arrival is not None and arrival.event == half.event:
                self.arrived[key] = Arrived(half.event, arrival.sinks | half.sinks)
            elif arrival is None and self.published.get(key) == other.published.get(key):
                self.arrived[key] = half
        self._forget()

    def keep(self, objects: Collection[ObjectId]) -> None:
        """Forget objects that are gone, now and in later additions."""
        self.objects = objects
        self._forget()

    def _forget(self) -> None:
        if self.objects is None:
            return
        for pulses in (self.published, self.arrived):
            for key in [key for key in pulses if key.object not in self.objects]:
                del pulses[key]


def read_memory(repository: Repository, remote: str | None = None) -> PulseMemory:
    """Return the memory of the repository, and of the remote if one is given. RepositoryError if the remote cannot be
    read."""
    memory = decoded(RootRef(repository, PULSES).look().files)
    if remote is not None:
        memory.add(decoded(RootRef(repository, PULSES, remote).look().files))
    return memory


@dataclass(frozen=True)
class Remembered:
    """The earlier pulses, read on demand. `at` changes whenever they do, and both are from one read. `listed` are the
    repository's refs if the caller has listed them."""

    repository: Repository
    remote: str | None = None
    listed: Mapping[str, str] | None = None

    @cached_property
    def memory(self) -> Memory:
        """The last pulse of each object and policy. RepositoryError if the remote cannot be read."""
        if self.remote is None:
            return decoded(files_of(self.repository, self.at) if self.at else {}).published
        return read_memory(self.repository, self.remote).published

    @cached_property
    def at(self) -> str:
        """The commit of the memory; with a remote, a digest of its content."""
        if self.remote is None:
            return (ref_tip(self.repository, PULSES) if self.listed is None else self.listed.get(PULSES)) or ""
        return hashlib.sha256(repr(sorted(self.memory.items())).encode()).hexdigest()


def remember(repository: Repository, memory: PulseMemory, remote: str | None = None) -> str:
    """Store a memory, merged with what others have stored meanwhile. Return why it could not be stored, or nothing."""

    def merged(standing: RefContents) -> Mapping[str, bytes]:
        memory.add(decoded(standing.files))
        return encoded(memory)

    return store_files(repository, PULSES, merged, _MESSAGE, remote)


def encoded(memory: PulseMemory) -> Mapping[str, bytes]:
    """Return a memory as files: the same memory gives the same bytes."""
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
    """Return the memory in files. What cannot be read is dropped, so a pulse may be published twice."""
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
    """Can an object have this name? JSON can contain lone surrogates, which no name has."""
    return not any("\ud800" <= character <= "\udfff" for character in name)


def _read(memory: PulseMemory, id_: ObjectId, entries: Iterable[tuple[str, Tree]]) -> None:
    for policy, entry in entries:
        key, fields = PulseKey(id_, policy), entry if isinstance(entry, dict) else {}
        with suppress(MalformedError):
            memory.published[key] = from_tree(Published, {**fields, "time": try_time(fields.get("time"))})
        with suppress(MalformedError):
            memory.arrived[key] = from_tree(Arrived, fields.get("arrived"))
