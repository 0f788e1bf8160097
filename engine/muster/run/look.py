"""One run: read the files, decide until rest, and answer; over the whole fleet, or over a part beside what is kept."""

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final, Protocol

from muster.data.decision import OF_ITSELF, Because, Held, Wake
from muster.data.finding import Finding
from muster.data.kinds import FLEET, is_cluster
from muster.data.snapshot import Snapshot
from muster.data.source import SourceFile
from muster.data.tree import Tree
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.rules.checks.validate import validate
from muster.rules.effects.allowance import EVERYTHING, Allowance
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.affected import (
    AFTER_DECIDING,
    Deciding,
    beyond_record,
    require_record,
)
from muster.run.answer import RunAnswer, facts_of
from muster.run.checking import require_fleet_sound
from muster.run.growing import noticed, read_part
from muster.run.homes import KeptNeighbourhoods, keep
from muster.run.overlay import Overlay
from muster.run.part import FleetPart
from muster.run.progress import RunStep, doing
from muster.run.question import Question, WholeNeeded
from muster.run.run import Run, Settled
from muster.run.scope import WHOLE, Scope
from muster.run.settle import settle
from muster.run.state import RunState

_BECAUSE: Final = Because("state", OF_ITSELF, "what stands is looked at again then")
_NOBODY: Final = FLEET.id("")
#: What is read of what the last run derived of a cluster that is not looked at: that it derived something.
_DERIVED: Final[Tree] = {}


# -- one run


class Look(Protocol):
    """What a run looks at, and what it makes of that: the whole fleet, or a part of it beside what is kept."""

    def read(self) -> "AbstractContextManager[tuple[Snapshot, Scope] | Look]":
        """Read the files: those and the scope of their evaluation; or what has to be looked at instead."""

    def answer(self, settled: Settled, scope: Scope) -> "RunAnswer | Look":
        """The answer; or what has to be looked at instead."""


def run(question: Question, look: Look) -> RunAnswer:
    """Read, decide until rest, and answer; look further as long as the answer takes it."""
    while True:
        doing(RunStep.READING)
        with look.read() as found:
            if not isinstance(found, tuple):
                look = found
                continue
            snapshot, scope = found
            settled = settle(snapshot, question.now, question.remembered.memory, question.witness, scope)
        outcome = look.answer(settled, scope)
        if isinstance(outcome, RunAnswer):
            return outcome
        look = outcome


# -- the whole fleet


class WorkerLost(Exception):  # noqa: N818 - the text of a finding
    """The worker that decided what is in a file died of it."""


@dataclass(frozen=True, slots=True)
class Unread(Overlay):
    """A snapshot without the contents of the files with these `labels`: workers died of them. What they hold keeps what
    was derived of it, and a finding names each file."""

    labels: frozenset[str] = frozenset()

    def files(self) -> Iterator[SourceFile]:
        """Yield all files; those cannot be read."""
        for file in self.below.files():
            yield file._replace(read=_refuse) if file.label in self.labels else file


def _refuse() -> bytes:
    raise WorkerLost


@dataclass(frozen=True, slots=True)
class WholeFleet:
    """The whole fleet, without what is kept. Satisfies `Look`."""

    question: Question
    why: str
    unread: frozenset[str] = frozenset()

    @contextmanager
    def read(self) -> Iterator[tuple[Snapshot, Scope]]:
        with self.question.snapshot() as snapshot:
            yield (Unread(snapshot, {}, self.unread) if self.unread else snapshot), WHOLE

    def answer(self, settled: Settled, scope: Scope) -> RunAnswer:  # noqa: ARG002 - it is always the whole
        run, looked_at = settled.last, f"the whole fleet: {self.why}"
        unkept = beyond_record(run.fleet, settled.findings, slips=True)
        if run.context is None or not settled.rested:
            unkept = "not all came to rest, or muster failed in deciding it"
        if unkept:
            unkept = f"nothing is kept of the last run: {unkept}"
            return RunAnswer(settled, None, None, None, looked_at, unkept=unkept)
        kept = _kept(settled, settled.findings)
        return RunAnswer(settled, facts_of(self.question, run, kept.totals, kept.loose), kept, None, looked_at)


# -- a part


def run_part(part: FleetPart) -> RunAnswer:
    """Decide a part. WholeNeeded if that is not enough to answer."""
    return run(part.question, _PartLook(part))


@dataclass(frozen=True, slots=True)
class _PartLook:
    """A part of the fleet, beside what is kept. Satisfies `Look`."""

    part: FleetPart

    @contextmanager
    def read(self) -> "Iterator[tuple[Snapshot, Scope] | Look]":
        with read_part(self.part) as (part, snapshot, fleet):
            yield _PartLook(part) if fleet is None else (snapshot, _PartScope(part, snapshot, fleet))

    def answer(self, settled: Settled, scope: Scope) -> "RunAnswer | Look":
        assert isinstance(scope, _PartScope)
        part, run = scope.part, settled.last
        if not settled.rested or run.context is None:
            raise WholeNeeded("not all came to rest")
        own = part.own_findings(settled.findings)
        require_record(run.fleet, own, slips=True)
        kept = _kept(settled, own)
        deciding = Deciding(part, run, kept)
        if (larger := noticed(part, AFTER_DECIDING, deciding)) is not None:
            return _PartLook(larger)
        facts = facts_of(part.question, run, deciding.totals, (*kept.loose, *part.loose))
        if part.near:
            then = part.facts
            facts = replace(facts, lease_floor=then.lease_floor, holds=then.holds, usage=then.usage)
        looked_at = f"{len(kept.homes)} neighbourhoods, {'near' if part.near else 'wide'}"
        return RunAnswer(settled, facts, kept, part.chosen, looked_at)


@dataclass(frozen=True, slots=True)
class _PartScope:
    """How a part is evaluated: `fleet` is what `snapshot` holds. Satisfies `Scope`."""

    part: FleetPart
    snapshot: Snapshot
    fleet: Fleet

    def checked(self, snapshot: Snapshot) -> FleetWithPolicies:
        """Check the part; in a later pass, what was derived lies over it."""
        read = self.fleet if snapshot is self.snapshot else assemble(snapshot, partial=True)
        return require_fleet_sound(validate(replace(read, beyond=self.part.beyond(read))))

    def joined(self, fleet: FleetWithPolicies) -> FleetWithPolicies:
        """Add the summaries of the rest."""
        require_record(fleet, (), slips=True)
        part, objects = self.part, self.part.summarised
        summaries = part.summaries.values()
        return replace(
            fleet,
            objects={**objects, **fleet.objects},
            previous={**dict.fromkeys(filter(is_cluster, objects), _DERIVED), **fleet.previous},
            decided={id_: decided for summary in summaries for id_, decided in summary.decisions()},
            held=tuple(held for summary in summaries for held in summary.held),
            wakes=rest_wakes(part.state, part.chosen),
        )

    def told(self, run: Run) -> Run:
        """Add the findings of the rest, and how many clusters are disrupted now to what is held there."""
        findings, held = tuple(self.part.with_the_others(run.fleet)), tuple(self._held(run))
        return replace(run, fleet=replace(run.fleet, findings=findings, held=held))

    def _held(self, run: Run) -> Iterator[Held]:
        standing, allowance = run.fleet.beyond.standing, run.context.broadcast(Allowance) if run.context else EVERYTHING
        for held in run.fleet.held:
            yield allowance.with_present_text(run.fleet, held) if held.object in standing else held


def _kept(settled: Settled, findings: Collection[Finding]) -> KeptNeighbourhoods:
    """What is to be kept of a run."""
    run = settled.last
    return keep(
        run.fleet, run.context, run.now, findings, written=settled.files.keys(), there=settled.first.fleet.read.parts,
        failed=run.failures,
    )  # fmt: skip


def rest_wakes(state: RunState, but: Collection[int]) -> tuple[Wake, ...]:
    """When the first neighbourhood but these is due, and when the first for more than a pulse."""
    due, settled = state.next_due(but)
    return (*_wakes(due, pulse=True), *_wakes(settled, pulse=False))


def _wakes(second: int | None, *, pulse: bool) -> Iterator[Wake]:
    if second is not None:
        yield Wake(_NOBODY, _BECAUSE, datetime.fromtimestamp(second, UTC), pulse)
