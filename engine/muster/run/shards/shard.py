"""A shard: some neighbourhoods of a fleet and what all of them share, as a value; and its answer, as another.

Both values are plain data: texts, bytes, numbers, and values of `muster.run` and `muster.data` made of these.
`muster.run.shards.evaluation` makes one of the other.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from muster.data.decision import Memory, Pulse
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.snapshot import Agents, SignerIdentity, Snapshot, Withheld
from muster.data.source import SourceFile
from muster.dataclass import dataclass
from muster.git.store.objects import SHA1
from muster.rules.policies.in_force import NOTHING_READ, PolicyReads
from muster.run.memo.state import NeighbourhoodRecord
from muster.run.run import Files
from muster.run.transition import Transition


class Piece(NamedTuple):
    """A file: see `muster.data.source.SourceFile`."""

    path: str
    oid: str
    data: bytes
    ref: str = ""


@dataclass(frozen=True, slots=True)
class SharedContext:
    """What all shards of a run share: the instant, the files with policies and settings, and other facts of the fleet
    that decisions depend on.

    `program` is the version of muster that cut them: no other may decide them. `asked` and `withheld`: see
    `muster.data.snapshot.Agents`. `fresh`: nothing is derived yet; `adapters`: some adapter reports. `lease_floor`: the
    least duration of leases, in seconds. `twice`: evaluate again over the derived files, because the fleet takes
    several passes. `sets`: the names of all sets if the shards are to be checked and not decided. `reads`: what
    admission policies read: it is in these files.
    """

    program: str
    commit: str | None
    now: datetime
    files: tuple[Piece, ...]
    asked: bool
    fresh: bool
    adapters: bool
    lease_floor: int = 0
    twice: bool = False
    withheld: tuple[Withheld, ...] = ()
    object_format: str = SHA1
    sets: frozenset[str] | None = None
    reads: PolicyReads = NOTHING_READ

    @property
    def paths(self) -> frozenset[str]:
        """The paths of its files."""
        return frozenset(piece.path for piece in self.files)


@dataclass(frozen=True, slots=True)
class Shard:
    """Some neighbourhoods, by their guessed names: their files, which of their clusters' agents could be reached and
    who signed for them, and their earlier pulses."""

    common: SharedContext
    names: tuple[str, ...]
    files: tuple[Piece, ...]
    present: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    retired: frozenset[str] = frozenset()
    identities: Mapping[str, SignerIdentity] | None = None
    published: Memory = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NeighbourhoodAnswer:
    """The answer for one neighbourhood.

    `record` is what the state keeps of it, due when anything of it changes next; `later` is when the next run evaluates
    it: pulses are due until they are published. `again`: it must be decided again, because the shard did not have all
    of it. `ids` are digests of the names of its objects.
    """

    record: NeighbourhoodRecord
    later: int | None
    ids: tuple[int, ...]
    files: Files = field(default_factory=dict)
    changes: tuple[Transition, ...] = ()
    pulses: tuple[Pulse, ...] = ()
    again: bool = False

    @property
    def silent(self) -> bool:
        """Is there nothing to write, show or publish?"""
        return not (self.files or self.changes or self.pulses)


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of a shard.

    `loose` are findings of no neighbourhood, `odd` files without one, or that must be compared with their earlier
    content. `policies` are files with a policy or a setting, `fresh` and `adapters` what the shard says about these.
    `whole`: why the whole fleet must be decided together; `other_version`: the worker's version of muster if it is
    another one; then there is nothing else.
    """

    neighbourhoods: tuple[NeighbourhoodAnswer, ...] = ()
    loose: tuple[Finding, ...] = ()
    odd: frozenset[str] = frozenset()
    policies: frozenset[str] = frozenset()
    fresh: bool = True
    adapters: bool = False
    whole: str = ""
    other_version: str = ""


#: Makes the answer of a shard.
Evaluate = Callable[[Shard], Answered]


def number_of(id_: ObjectId) -> int:
    """Return a digest of an object's id as a number; collisions are improbable."""
    return int.from_bytes(blake2b("\0".join(id_).encode(), digest_size=8).digest())


class ShardFiles(Snapshot):
    """The files of a shard as a snapshot."""

    commit: str | None = None
    agents: Agents = Agents()

    def __init__(self, shard: Shard) -> None:
        self._files = sorted((*shard.common.files, *shard.files), key=lambda file: (file.ref, file.path))
        self.commit = shard.common.commit
        common = shard.common
        self.agents = Agents(
            shard.present,
            common.asked,
            shard.gone,
            withheld=common.withheld,
            identities=shard.identities,
            retired=shard.retired,
        )

    @cached_property
    def past(self) -> "_Unasked":
        """Records which files need history."""
        return _Unasked()

    def files(self) -> Iterator[SourceFile]:
        """Yield the files."""
        for path, oid, data, ref in self._files:
            yield SourceFile(path, oid, lambda data=data: data, ref)  # type: ignore[misc]


class _Unasked:
    """Records the files whose history would be read: the run that has the history decides them. Satisfies `Past`."""

    commit = "unknown"
    lingers = False
    proven = True
    allowances = ()
    earlier_allowances = ()

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def before(self, paths: Collection[str]) -> Mapping[str, Sequence[SourceFile]]:
        """Record the files; there is no history here."""
        self.asked.update(paths)
        return {}

    def below(self, folder: str) -> Mapping[str, Sequence[SourceFile]]:  # noqa: ARG002 - it has none
        """Always empty: a shard has no history."""
        return {}

    def had(self, path: str, oid: str) -> bool:  # noqa: ARG002 - it has none
        """Always False: a shard has no history."""
        return False

    def replaced(self, paths: Collection[str]) -> Mapping[str, tuple[str, Sequence[SourceFile]]]:  # noqa: ARG002
        """Always empty: a shard has no history."""
        return {}

    def changed_since(self, commit: str) -> Sequence[SourceFile]:  # noqa: ARG002 - it has none
        """Always empty: a shard has no history."""
        return ()
