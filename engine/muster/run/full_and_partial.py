"""One run: read the files, decide until nothing more is due, and answer; for the whole fleet, or for a part."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from muster.data.decision import OF_ITSELF, Because, Held, Wake
from muster.data.finding import Finding
from muster.data.kinds import FLEET, is_cluster
from muster.data.snapshot import Snapshot
from muster.data.source import SourceFile
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.rules.checks.validate import validate
from muster.rules.effects.allowance import EVERYTHING, Allowance
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.answer import RunAnswer, facts_of
from muster.run.checking import require_fleet_sound
from muster.run.memo.state import RunState
from muster.run.neighbourhood_records import KeptNeighbourhoods, keep
from muster.run.overlay import Overlay
from muster.run.parts.affected import (
    AFTER_DECIDING,
    Deciding,
    beyond_record,
    require_record,
)
from muster.run.parts.growing import enlarged_part, read_part
from muster.run.parts.part import FleetPart
from muster.run.progress import RunStep, doing
from muster.run.question import Question, WholeNeeded
from muster.run.run import Run, Settled
from muster.run.scope import WHOLE, Scope
from muster.run.settle import settle

_BECAUSE: Final = Because("state", OF_ITSELF, "it is evaluated again then")
_THE_FLEET: Final = FLEET.id("")
#: Stands for what the last run derived of a cluster that is not evaluated: only that there is something.
_DERIVED: Final[Tree] = {}


# -- the whole fleet


class WorkerLost(Exception):  # noqa: N818 - the text of a finding
    """The worker that decided the content of a file died of it."""


@dataclass(frozen=True, slots=True)
class Unread(Overlay):
    """A snapshot without the contents of the files with these `labels`: workers died of them. Their objects keep their
    derived state, and a finding names each file."""

    labels: frozenset[str] = frozenset()

    def files(self) -> Iterator[SourceFile]:
        """Yield all files; reading one of those raises WorkerLost."""
        for file in self.below.files():
            yield file._replace(read=_refuse) if file.label in self.labels else file


def _refuse() -> bytes:
    raise WorkerLost


def run_whole(question: Question, why: str, unread: frozenset[str] = frozenset()) -> RunAnswer:
    """Decide the whole fleet, without cached state, and without the contents of the files with the labels `unread`."""
    doing(RunStep.READING)
    snapshot = question.snapshot()
    settled = _settled(question, Unread(snapshot, {}, unread) if unread else snapshot, WHOLE)
    run, looked_at = settled.last, f"the whole fleet: {why}"
    unkept = beyond_record(run.fleet, settled.findings, slips=True)
    if run.terms is None or not settled.rested:
        unkept = "not all came to rest, or muster failed in deciding it"
    if unkept:
        unkept = f"nothing is kept of the last run: {unkept}"
        return RunAnswer(settled, None, None, None, looked_at, unkept=unkept)
    kept = _kept(settled, settled.findings, question.repository.object_format)
    facts = facts_of(question, settled, kept.totals, kept.loose, first=not settled.first.fleet.derived_paths)
    return RunAnswer(settled, facts, kept, None, looked_at)


def _settled(question: Question, snapshot: Snapshot, scope: Scope) -> Settled:
    return settle(snapshot, question.now, question.remembered.memory, question.witness, scope)


# -- a part


def run_part(part: FleetPart) -> RunAnswer:
    """Decide a part, enlarged as far as that turns out to be required. WholeNeeded if the whole fleet is."""
    while True:
        doing(RunStep.READING)
        part, snapshot, fleet = read_part(part)
        if fleet is None:
            continue
        settled = _settled(part.question, snapshot, _PartScope(part, snapshot, fleet))
        run = settled.last
        if not settled.rested or run.terms is None:
            raise WholeNeeded("not all came to rest")
        findings = part.own_findings(settled.findings)
        require_record(run.fleet, findings, slips=True)
        kept = _kept(settled, findings, part.question.repository.object_format)
        deciding = Deciding(part, run, kept)
        larger = enlarged_part(part, AFTER_DECIDING, deciding)
        if larger is None:
            break
        part = larger
    shards = part.rest.shards
    first = shards is not None and shards.fresh
    facts = facts_of(part.question, settled, deciding.totals, (*kept.loose, *part.loose), first=first)
    if part.near:
        last = part.facts
        facts = replace(facts, lease_floor=last.lease_floor, holds=last.holds, frozen=last.frozen, usage=last.usage)
    reach = "wide" if not part.near else "steps" if part.stepping else "near"
    looked_at = f"{len(kept.records)} neighbourhoods, {reach}"
    return RunAnswer(settled, facts, kept, part.chosen, looked_at)


@dataclass(frozen=True, slots=True)
class _PartScope:
    """How a part is evaluated; `fleet` is assembled from `snapshot`. Satisfies `Scope`."""

    part: FleetPart
    snapshot: Snapshot
    fleet: Fleet

    def checked(self, snapshot: Snapshot) -> FleetWithPolicies:
        """Check the part; in a later pass, with the derived files over it."""
        read = self.fleet if snapshot is self.snapshot else assemble(snapshot, partial=True)
        return require_fleet_sound(validate(replace(read, beyond=self.part.beyond(read))))

    def with_rest_of_fleet(self, fleet: FleetWithPolicies) -> FleetWithPolicies:
        """Add the summaries of the rest."""
        require_record(fleet, (), slips=True)
        part, objects = self.part, self.part.summarised
        summaries = part.summaries.values()
        clusters = (id_ for id_ in filter(is_cluster, objects) if id_ not in part.new_clusters)
        return replace(
            fleet,
            objects={**objects, **fleet.objects},
            previous={**dict.fromkeys(clusters, _DERIVED), **fleet.previous},
            decided={id_: decided for summary in summaries for id_, decided in summary.decisions()},
            held=tuple(held for summary in summaries for held in summary.held),
            wakes=rest_wakes(part.state, part.chosen),
        )

    def with_earlier_findings(self, run: Run) -> Run:
        """Add the findings of the rest, and update the counts in the texts of its held effects."""
        findings, held = tuple(self.part.with_the_others(run.fleet)), tuple(self._held(run))
        return replace(run, fleet=replace(run.fleet, findings=findings, held=held))

    def _held(self, run: Run) -> Iterator[Held]:
        standing, allowance = run.fleet.beyond.standing, run.terms.of(Allowance) if run.terms else EVERYTHING
        for held in run.fleet.held:
            yield allowance.with_present_text(run.fleet, held) if held.object in standing else held


def _kept(settled: Settled, findings: Collection[Finding], object_format: str) -> KeptNeighbourhoods:
    """The records of a run for the state."""
    run = settled.last
    return keep(
        run.fleet,
        run.terms,
        run.now,
        findings,
        written=settled.files,
        there=settled.first.fleet.read.parts,
        failed=run.failures,
        object_format=object_format,
    )


def rest_wakes(state: RunState, but: Collection[int]) -> tuple[Wake, ...]:
    """Wakes for when the next neighbourhood except these is due, and the next for more than a pulse."""
    due, settled = state.next_due(but)
    return (*_wakes(due, pulse=True), *_wakes(settled, pulse=False))


def _wakes(second: int | None, *, pulse: bool) -> Iterator[Wake]:
    if second is not None:
        yield Wake(_THE_FLEET, _BECAUSE, datetime.fromtimestamp(second, UTC), pulse)
