"""Evaluating a shard: it is decided, or only checked.

This needs no repository, no state and nothing else of the fleet, so it runs wherever muster does. A shard is decided
without wide stages: the least duration of leases is part of it, and no budget holds. The run that cut the shard then
runs the wide stages over all summaries, and decides the affected neighbourhoods again. A check needs the names of all
sets, and then says of clusters what a check of the whole fleet does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from threading import Lock
from typing import Final, TypeVar

from muster.data.decision import Pulse
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import ADAPTER_REPORT, ALL, is_cluster, kind_of
from muster.data.snapshot import Snapshot
from muster.data.times import earliest
from muster.fleet.assemble import assemble
from muster.fleet.files import PREFIX
from muster.fleet.fleet import Beyond, Fleet
from muster.fleet.neighbourhoods import neighbourhood_names
from muster.fleet.shared import SET
from muster.rules.admission.reads import files_read
from muster.rules.checks.of_clusters import references_of_clusters
from muster.rules.checks.validate import validate
from muster.rules.compiling import compile_policies
from muster.rules.effects.allowance import Allowance
from muster.rules.policies.in_force import Compiled, FleetWithPolicies
from muster.run.checking import require_fleet_sound, with_findings
from muster.run.collector import without_collection
from muster.run.evaluate import evaluate_snapshot
from muster.run.memo.program import this_program
from muster.run.memo.state import NeighbourhoodRecord
from muster.run.neighbourhood_records import CONTEXT, ORPHANS, KeptNeighbourhoods, keep
from muster.run.overlay import Overlay
from muster.run.parts.affected import require_record
from muster.run.question import WholeNeeded, default_neighbourhood
from muster.run.run import Files, Run, Settled
from muster.run.shards.shard import Answered, NeighbourhoodAnswer, Shard, ShardFiles, SharedContext, number_of
from muster.run.transition import Transition
from muster.run.transitions.transitions import transitions_of

#: The assumed number of objects of each kind: a policy then has its lowest cost limit for each object. If that is too
#: low, the whole fleet is decided, so the real number makes no difference.
_COUNTLESS: Final = 1 << 60


def evaluate_shard(shard: Shard) -> Answered:
    """Return the answer of a shard."""
    if shard.common.program != (program := this_program()):
        return Answered(other_version=program)
    try:
        with _ONE_AT_A_TIME, without_collection():
            return _Evaluation(shard).answer()
    except WholeNeeded as needed:
        return Answered(whole=str(needed))


#: A Dask worker may have threads, which do not make deciding faster.
_ONE_AT_A_TIME = Lock()


class _Evaluation:
    """Decides a shard, or checks it. Satisfies `muster.run.scope.Scope`."""

    def __init__(self, shard: Shard) -> None:
        self.shard, self.common = shard, shard.common
        self.context = shard.common.paths
        self.snapshot = ShardFiles(shard)
        self.read = assemble(self.snapshot)

    def answer(self) -> Answered:
        """Decide or check. WholeNeeded if the shard cannot be evaluated alone."""
        read, context = self.read, self.context
        require_record(read, ())
        parts = [part for part in read.read.parts if part.source.path not in context]
        policies = frozenset(part.source.path for part in parts if kind_of(part.id) in CONTEXT)
        policies |= files_read(read, self.common.reads) - context
        fresh = not read.derived_paths
        if policies or (self.common.fresh and not fresh):
            return Answered(policies=policies, fresh=fresh)
        self.standing = frozenset(part.id for part in read.read.parts if part.source.path in context)
        if self.common.sets is not None:
            fleet = self.checked(self.snapshot)
            run = Run(with_findings(fleet, references_of_clusters(fleet)), self.common.now, None)
            require_record(run.fleet, run.fleet.findings)
            return self._put(run, run, {}, run.fleet.findings)
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
        return self._put(first, last, files, findings)

    def _run(self, files: Files) -> Run:
        files_to_read = Overlay(self.snapshot, files) if files else self.snapshot
        return evaluate_snapshot(files_to_read, self.common.now, self.shard.published, scope=self)

    # -- as the scope of its evaluation

    def checked(self, snapshot: Snapshot) -> FleetWithPolicies:
        """Check the shard under the policies of the fleet."""
        read = self.read if snapshot is self.snapshot else assemble(snapshot)
        base = None if self.common.sets is None else read  # what is checked is what was committed
        fleet = require_fleet_sound(_under_policies(replace(read, beyond=self._beyond()), base, self.common))
        if fleet.compiled.reads.foreign and any(
            document.source.path not in self.context for document in read.read.foreign_objects
        ):
            raise WholeNeeded("an admission policy may match objects of unknown kinds in files of clusters")
        return fleet

    def with_rest_of_fleet(self, fleet: FleetWithPolicies) -> FleetWithPolicies:
        """Return the fleet: a shard knows nothing of the rest."""
        require_record(fleet, ())
        return fleet

    def with_earlier_findings(self, run: Run) -> Run:
        """Return the run. WholeNeeded if muster failed in it."""
        if run.terms is None or run.unwritten:
            raise WholeNeeded("a fault in muster")
        return run

    def _beyond(self) -> Beyond:
        common = self.common
        return Beyond(
            standing=self.standing,
            counts=dict.fromkeys(ALL, _COUNTLESS),
            adapters=common.adapters,
            derived=not common.fresh,
            asked=False,
            lease_floor=common.lease_floor,
            files_unseen=True,
            names=frozenset(f"{SET}{name}" for name in common.sets or ()),
        )

    def _own(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings about these neighbourhoods, without those about what all shards share."""
        return [
            finding
            for finding in findings
            if finding.file not in self.context
            and not finding.file.startswith(PREFIX)
            and (finding.file or (finding.object is not None and finding.object not in self.standing))
        ]

    def _odd(self) -> set[str]:
        """The files that must be compared with their earlier content, or hold no object of these neighbourhoods, or one
        that others share."""
        parts = [part for part in self.read.read.parts if part.source.path not in self.context]
        decided = {part.source.path for part in parts if part.id not in self.standing}
        odd = self.snapshot.past.asked | {piece.path for piece in self.shard.files if not piece.ref} - decided
        odd.update(part.source.path for part in parts if part.id in self.standing and not part.source.ref)
        return odd - self.context

    def _put(self, first: Run, last: Run, files: Files, findings: Sequence[Finding]) -> Answered:
        kept = keep(
            last.fleet,
            last.terms,
            last.now,
            self._own(findings),
            written=files,
            there=first.fleet.read.parts,
            failed=last.failures,
            priced=False,
            object_format=self.common.object_format,
        )
        of = _neighbourhoods_of_both(first, last, kept)
        ids: dict[str, list[int]] = {}
        doubtful = set[str]()
        for id_, name in of.items():
            ids.setdefault(name, []).append(number_of(id_))
            if is_cluster(id_) and (id_ not in last.fleet.objects or id_.name not in self.shard.names):
                doubtful.add(name)  # it is removed, which may be held; or another shard has its agents
        # A part of these is in a file that every shard reads, and that only the run which cut the shards decides.
        names = {name: record.name for record in kept.records for name in record.names}
        doubtful.update(names[name] for name in map(default_neighbourhood, self.standing) if name in names)
        transitions = _by_neighbourhood(transitions_of(first.fleet), of) if first.terms is not None else {}
        pulses = _by_neighbourhood(last.fleet.pulses, of)
        locals_, written = [], set[str]()
        for record in kept.records:
            written_here = {file.path: files[file.path] for file in record.files if not file.ref and file.path in files}
            if not written.isdisjoint(written_here):
                raise WholeNeeded("a derived file holds parts of several neighbourhoods")
            written.update(written_here)
            sent = pulses.get(record.name, ())
            due = self._due(last, record, sent, kept.of) if sent else record.due
            again = record.name in doubtful or bool(record.totals.get(ORPHANS))  # its cluster has a name like another's
            locals_.append(
                NeighbourhoodAnswer(
                    record if due == record.due else replace(record, due=due),
                    record.due,
                    tuple(ids.get(record.name, ())),
                    written_here,
                    transitions.get(record.name, ()),
                    sent,
                    again,
                )
            )
        return Answered(tuple(locals_), kept.loose, frozenset(self._odd() | (files.keys() - written)))

    def _due(
        self, run: Run, record: NeighbourhoodRecord, pulses: Sequence[Pulse], of: Mapping[ObjectId, str]
    ) -> int | None:
        """When anything of a neighbourhood changes, once its pulses are published."""
        then = (pulse.horizon for pulse in pulses)
        wakes = (wake.horizon for wake in run.fleet.wakes if wake.pulse and of.get(wake.object) == record.name)
        settled = None if record.settled is None else datetime.fromtimestamp(record.settled, UTC)
        due = earliest(*then, *wakes, settled)
        return None if due is None else int(due.timestamp())


def _neighbourhoods_of_both(first: Run, last: Run, kept: KeptNeighbourhoods) -> Mapping[ObjectId, str]:
    """The neighbourhood of each object, including those that only the first pass knows."""
    if first is last:
        return kept.of
    names = {name: record.name for record in kept.records for name in record.names}
    before = neighbourhood_names(first.fleet.looked_at()).of
    return {**{id_: names.get(neighbourhood, neighbourhood) for id_, neighbourhood in before.items()}, **kept.of}


_T = TypeVar("_T", Transition, Pulse)


def _by_neighbourhood(outcomes: Sequence[_T], of: Mapping[ObjectId, str]) -> dict[str, tuple[_T, ...]]:
    return {
        neighbourhood: tuple(of_neighbourhood)
        for neighbourhood, of_neighbourhood in grouped((of[outcome.object], outcome) for outcome in outcomes).items()
    }


_compiled: dict[SharedContext, Compiled] = {}


def _under_policies(fleet: Fleet, base: Fleet | None, common: SharedContext) -> FleetWithPolicies:
    """Check a shard under the policies of the fleet, which are compiled once per process."""

    def known(fleet: Fleet) -> Compiled:
        compiled = _compiled.get(common)
        if compiled is None:
            _compiled.clear()
            compiled = _compiled[common] = compile_policies(fleet)
        return compiled

    return validate(fleet, base, policies=known)
