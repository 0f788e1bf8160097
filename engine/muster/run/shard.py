"""A shard: some neighbourhoods of a fleet and what all of them share, as a value; and its answer, as another.

`decide_shard` needs no repository, no state and nothing else of the fleet, so it runs wherever muster does. It decides
these neighbourhoods without wide stages: the least duration of leases is part of the shard, and no budget holds. The
run that cut the shard then runs the wide stages over all summaries, and decides the affected neighbourhoods again.

Both values are plain data: texts, bytes, numbers, and values of `muster.run` and `muster.data` made of these.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from threading import Lock
from typing import Final, NamedTuple, TypeVar

from muster.data.decision import Memory, Pulse
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, ALL, is_cluster, kind_of
from muster.data.snapshot import Agents, SignerIdentity, Snapshot, Withheld
from muster.data.source import SourceFile
from muster.data.times import earliest
from muster.dataclass import dataclass
from muster.fleet.assemble import assemble
from muster.fleet.files import PREFIX
from muster.fleet.fleet import Beyond, Fleet
from muster.fleet.neighbourhoods import homes
from muster.git.objects import SHA1
from muster.rules.checks.validate import validate
from muster.rules.compiling import compile_policies
from muster.rules.effects.allowance import Allowance
from muster.rules.policies.in_force import Compiled, FleetWithPolicies
from muster.run.affected import require_record
from muster.run.change import Change
from muster.run.changes import changes
from muster.run.checking import require_fleet_sound
from muster.run.collector import without_collection
from muster.run.evaluate import evaluate_snapshot
from muster.run.homes import CONTEXT, KeptNeighbourhoods, keep
from muster.run.overlay import Overlay
from muster.run.program import this_program
from muster.run.question import WholeNeeded, default_home
from muster.run.run import Files, Run, Settled
from muster.run.state import Home

#: The assumed number of objects of each kind: a policy then has its lowest cost limit for each object. If that is too
#: low, the whole fleet is decided, so the real number makes no difference.
_COUNTLESS: Final = 1 << 60


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
    several passes.
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

    `home` is its record, due when anything of it changes next; `later` is when the next run evaluates it: pulses are
    due until they are published. `again`: it must be decided again, because the shard did not have all of it. `ids` are
    digests of the names of its objects.
    """

    home: Home
    later: int | None
    ids: tuple[int, ...]
    files: Files = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
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
    `whole`: why the whole fleet must be decided together; `stranger`: the version of muster of the worker, if it is
    another one; then there is nothing else.
    """

    homes: tuple[NeighbourhoodAnswer, ...] = ()
    loose: tuple[Finding, ...] = ()
    odd: frozenset[str] = frozenset()
    policies: frozenset[str] = frozenset()
    fresh: bool = True
    adapters: bool = False
    whole: str = ""
    stranger: str = ""


Decide = Callable[[Shard], Answered]


def decide_shard(shard: Shard) -> Answered:
    """Return the answer of a shard."""
    if shard.common.program != (own := this_program()):
        return Answered(stranger=own)
    try:
        with _ONE_AT_A_TIME, without_collection():
            return _Deciding(shard).answer()
    except WholeNeeded as needed:
        return Answered(whole=str(needed))


#: A Dask worker may have threads, which do not make deciding faster.
_ONE_AT_A_TIME = Lock()


class _Deciding:
    """Decides a shard. Satisfies `muster.run.scope.Scope`."""

    def __init__(self, shard: Shard) -> None:
        self.shard, self.common = shard, shard.common
        self.context = shard.common.paths
        self.snapshot = ShardFiles(shard)
        self.read = assemble(self.snapshot)

    def answer(self) -> Answered:
        """Decide. WholeNeeded if the shard cannot be decided alone."""
        read, context = self.read, self.context
        require_record(read, ())
        own = [part for part in read.read.parts if part.source.path not in context]
        policies = frozenset(part.source.path for part in own if kind_of(part.id) in CONTEXT)
        fresh = not read.derived_paths
        if policies or (self.common.fresh and not fresh):
            return Answered(policies=policies, fresh=fresh)
        self.standing = frozenset(part.id for part in read.read.parts if part.source.path in context)
        first = last = self._run({})
        adapters = any(map(ADAPTER_REPORT.has, (*first.fleet.objects, *first.fleet.previous)))
        if adapters and not self.common.adapters:
            return Answered(fresh=fresh, adapters=True)
        files = {path: text for path, text in first.files.items() if path not in context}
        if files and self.common.twice:
            last = self._run(files)
            assert first.terms is not None
            assert last.terms is not None
            # The last pass does not ask again what budgets allow, but wide stages must still judge the first pass.
            last.terms.of(Allowance).asked.update(first.terms.of(Allowance).asked)
            if any(path not in context for path in last.files):
                raise WholeNeeded("not all came to rest in one pass")
        findings = Settled(first, last, files, [], rested=True).findings
        require_record(last.fleet, findings)
        found = self._own(findings)
        decided_here = {part.source.path for part in own if part.id not in self.standing}
        odd = self.snapshot.past.asked | {f.path for f in self.shard.files if not f.ref} - decided_here
        odd.update(part.source.path for part in own if part.id in self.standing and not part.source.ref)
        return self._put(first, last, files, found, frozenset(odd) - context)

    def _run(self, files: Files) -> Run:
        files_to_read = Overlay(self.snapshot, files) if files else self.snapshot
        return evaluate_snapshot(files_to_read, self.common.now, self.shard.published, scope=self)

    # -- as the scope of its evaluation

    def checked(self, snapshot: Snapshot) -> FleetWithPolicies:
        """Check the shard under the policies of the fleet."""
        read = self.read if snapshot is self.snapshot else assemble(snapshot)
        return require_fleet_sound(_under_policies(replace(read, beyond=self._beyond()), self.common))

    def joined(self, fleet: FleetWithPolicies) -> FleetWithPolicies:
        """Return the fleet: a shard knows nothing of the rest."""
        require_record(fleet, ())
        return fleet

    def told(self, run: Run) -> Run:
        """Return the run. WholeNeeded if muster failed in it."""
        if run.terms is None or run.unwritten:
            raise WholeNeeded("a fault in muster")
        return run

    def _beyond(self) -> Beyond:
        common = self.common
        return Beyond(
            standing=self.standing, counts=dict.fromkeys(ALL, _COUNTLESS), adapters=common.adapters,
            derived=not common.fresh, asked=False, lease_floor=common.lease_floor, files_unseen=True,
        )  # fmt: skip

    def _own(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings about these neighbourhoods, without those about what all shards share."""
        return [
            one for one in findings
            if one.file not in self.context
            and not one.file.startswith(PREFIX)
            and (one.file or (one.object is not None and one.object not in self.standing))
        ]  # fmt: skip

    def _put(self, first: Run, last: Run, files: Files, found: Sequence[Finding], odd: frozenset[str]) -> Answered:
        kept = keep(
            last.fleet,
            last.terms,
            last.now,
            found,
            written=files,
            there=first.fleet.read.parts,
            failed=last.failures,
            priced=False,
            object_format=self.common.object_format,
        )
        of = _homes_of_both(first, last, kept)
        ids: dict[str, list[int]] = {}
        doubtful = set[str]()
        for id_, name in of.items():
            ids.setdefault(name, []).append(number_of(id_))
            if is_cluster(id_) and (id_ not in last.fleet.objects or id_.name not in self.shard.names):
                doubtful.add(name)  # it is removed, which may be held; or another shard has its agents
        # A part of these is in a file that every shard reads, and that only the run which cut the shards decides.
        names = {name: home.name for home in kept.homes for name in home.names}
        doubtful.update(names[name] for name in map(default_home, self.standing) if name in names)
        transitions = _by_home(changes(first.fleet), of)
        pulses = _by_home(last.fleet.pulses, of)
        locals_, written = [], set[str]()
        for home in kept.homes:
            own = {file.path: files[file.path] for file in home.files if not file.ref and file.path in files}
            if not written.isdisjoint(own):
                raise WholeNeeded("a derived file holds parts of several neighbourhoods")
            written.update(own)
            sent = pulses.get(home.name, ())
            due = self._due(last, home, sent, kept.of) if sent else home.due
            record = home if due == home.due else replace(home, due=due)
            locals_.append(
                NeighbourhoodAnswer(
                    record, home.due, tuple(ids.get(home.name, ())),
                    own, transitions.get(home.name, ()), sent, home.name in doubtful,
                )
            )  # fmt: skip
        return Answered(tuple(locals_), kept.loose, odd | (files.keys() - written))

    def _due(self, run: Run, home: Home, pulses: Sequence[Pulse], of: Mapping[ObjectId, str]) -> int | None:
        """When anything of a neighbourhood changes, once its pulses are published."""
        then = (pulse.horizon for pulse in pulses)
        wakes = (wake.horizon for wake in run.fleet.wakes if wake.pulse and of.get(wake.object) == home.name)
        settled = None if home.settled is None else datetime.fromtimestamp(home.settled, UTC)
        found = earliest(*then, *wakes, settled)
        return None if found is None else int(found.timestamp())


def _homes_of_both(first: Run, last: Run, kept: KeptNeighbourhoods) -> Mapping[ObjectId, str]:
    """The neighbourhood of each object, including those that only the first pass knows."""
    if first is last:
        return kept.of
    names = {name: home.name for home in kept.homes for name in home.names}
    before = homes(first.fleet.looked_at()).of
    return {**{id_: names.get(home, home) for id_, home in before.items()}, **kept.of}


_T = TypeVar("_T", Change, Pulse)


def _by_home(found: Sequence[_T], of: Mapping[ObjectId, str]) -> dict[str, tuple[_T, ...]]:
    return {home: tuple(some) for home, some in grouped((of[one.object], one) for one in found).items()}


def number_of(id_: ObjectId) -> int:
    """Return a digest of an object's id as a number; collisions are improbable."""
    return int.from_bytes(blake2b("\0".join(id_).encode(), digest_size=8).digest())


_compiled: dict[SharedContext, Compiled] = {}


def _under_policies(fleet: Fleet, common: SharedContext) -> FleetWithPolicies:
    """Check a shard under the policies of the fleet, which are compiled once per process."""

    def known(fleet: Fleet) -> Compiled:
        found = _compiled.get(common)
        if found is None:
            _compiled.clear()
            found = _compiled[common] = compile_policies(fleet)
        return found

    return validate(fleet, policies=known)


class ShardFiles(Snapshot):
    """The files of a shard as a snapshot."""

    commit: str | None = None
    agents: Agents = Agents()

    def __init__(self, shard: Shard) -> None:
        self._files = sorted((*shard.common.files, *shard.files), key=lambda file: (file.ref, file.path))
        self.commit = shard.common.commit
        common = shard.common
        self.agents = Agents(
            shard.present, common.asked, shard.gone, withheld=common.withheld, identities=shard.identities,
            retired=shard.retired,
        )  # fmt: skip

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
        """Say nothing."""
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
