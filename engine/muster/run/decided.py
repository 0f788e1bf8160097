"""A part of a fleet, decided, and whether it does: whether nobody else sees anything new of it."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from muster.data.decision import OF_ITSELF, Because, Held, Wake
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import ALL, CLUSTERS, FLEET, Kind, is_cluster
from muster.data.snapshot import Snapshot
from muster.data.tree import Tree
from muster.fleet.agent_refs import with_agent_refs
from muster.fleet.assemble import assemble
from muster.fleet.fleet import Fleet
from muster.fleet.settings import Settings
from muster.rules.checks.validate import validate
from muster.rules.effects.allowance import EVERYTHING, Allowance
from muster.rules.heartbeats.valve import LeaseFloor
from muster.rules.policies.lazy import cost_share
from muster.run.answer import RunAnswer, facts_of, require_record
from muster.run.checking import is_fleet_broken
from muster.run.evaluate import decide
from muster.run.homes import KeptNeighbourhoods, keep, kind_name
from muster.run.overlay import Overlay
from muster.run.part import PartialRun, RunReach
from muster.run.progress import RunStep, doing
from muster.run.question import LeasesMoved, Question, WholeNeeded
from muster.run.run import Run
from muster.run.settle import settle_by
from muster.run.settled import Files

if TYPE_CHECKING:
    from muster.run.state import RunState

_BECAUSE: Final = Because("state", OF_ITSELF, "what stands is looked at again then")
_NOBODY: Final = FLEET.id("")


def rest_wakes(state: "RunState", but: Collection[int]) -> tuple[Wake, ...]:
    """When any neighbourhood but these is due, and when one is of which not only a pulse is."""
    due, settled = state.next_due(but)
    return (*_wakes(due, pulse=True), *_wakes(settled, pulse=False))


def _wakes(second: int | None, *, pulse: bool) -> Iterator[Wake]:
    if second is not None:
        yield Wake(_NOBODY, _BECAUSE, datetime.fromtimestamp(second, UTC), pulse)


#: What is read of what the last run derived of a cluster that stands: that it did.
_KNOWN: Final[Tree] = {}


class DecidedPart(PartialRun[Question]):
    """A part, decided."""

    def answer(self) -> RunAnswer | None:
        """Decide; None where it turns out that more has to be looked at (`chosen`, then)."""
        doing(RunStep.READING)
        with self.read() as found:
            if found is None:
                return None
            snapshot, fleet = found
            doing(RunStep.DECIDING)
            settled = settle_by(lambda files, restless: self._evaluate(snapshot, fleet, files, restless))
        run = settled.last
        if not settled.rested or run.context is None:
            raise WholeNeeded("not all came to rest")
        own = self.own_findings(settled.findings)
        require_record(run.fleet, own, slips=True)
        if self.reach is RunReach.WIDE and not self._stood(run):
            return None
        there = settled.first.fleet.parts
        kept = keep(
            run.fleet, run.context, run.now, own, written=settled.files.keys(), there=there, failed=run.failures
        )
        totals = self.totals(kept)
        self.require_same_prices(run.fleet.settings, totals)
        if self.reach is RunReach.NEAR and not self._cut_off(kept):
            return None
        self.refuse_names_of_others(kept)
        facts = facts_of(self.question, run, totals, (*kept.loose, *self.loose))
        if self.reach is RunReach.NEAR:
            facts |= {name: self.facts[name] for name in ("lease floor", "holds", "usage")}
        looked_at = f"{len(kept.homes)} neighbourhoods, {self.reach.value}"
        return RunAnswer(settled, facts, kept, self.chosen, looked_at)

    def _evaluate(self, snapshot: Snapshot, fleet: Fleet, files: Files, restless: Mapping[ObjectId, Finding]) -> Run:
        if restless:
            raise WholeNeeded("not all come to rest")
        part = assemble(Overlay(snapshot, files), partial=True) if files else fleet
        known = list(self.summaries.values())
        ruled = validate(replace(part, beyond=self.beyond(part)))
        if ruled.settings.obeyed and is_fleet_broken(ruled):
            raise WholeNeeded("the Fleet is broken")
        ruled = with_agent_refs(ruled, snapshot.agents)
        require_record(ruled, (), slips=True)
        objects = self.summarised
        whole = replace(
            ruled,
            objects={**objects, **ruled.objects},
            previous={**dict.fromkeys(filter(is_cluster, objects), _KNOWN), **ruled.previous},
            decided={id_: decided for summary in known for id_, decided in summary.decisions()},
            held=tuple(held for summary in known for held in summary.held),
            wakes=rest_wakes(self.state, self.chosen),
            published=self.question.remembered.memory,
            witness=None if files else self.question.witness,  # of the first pass, which is what is told
        )
        run = decide(whole, self.question.now.astimezone(UTC).replace(microsecond=0), restless, self.question.decided)
        findings, held = tuple(self.with_the_others(run.fleet)), tuple(self._held(run))
        return replace(run, fleet=replace(run.fleet, findings=findings, held=held))

    def _held(self, run: Run) -> Iterator[Held]:
        """What is held. Of what stands it is said how many clusters are disrupted now."""
        standing, allowance = run.fleet.beyond.standing, run.context.told(Allowance) if run.context else EVERYTHING
        for held in run.fleet.held:
            yield allowance.in_words_of_now(run.fleet, held) if held.object in standing else held

    # -- whether it does

    def _stood(self, run: Run) -> bool:
        """Whether what stands was right to stand. Else what has to be looked at too is chosen."""
        assert run.context is not None
        if run.context.told(LeaseFloor).seconds != self.facts["lease floor"]:
            raise LeasesMoved(run.context.told(LeaseFloor).seconds)
        for summary in self.summaries.values():
            if any(run.fleet.decided.get(id_) is not decided for id_, decided in summary.decisions() if decided):
                raise WholeNeeded("a wide stage decides of a cluster")
        allowance = run.context.told(Allowance)
        if changed := allowance.changed(self.facts["holds"]):
            concerned = {
                name for name, summary in self.summaries.items()
                if any(allowance.concerned(run.fleet, id_, changed) for id_ in summary.asked)
            }  # fmt: skip
            if concerned:
                self.chosen |= self.state.of_names(concerned)
                return False
        return True

    def _cut_off(self, kept: KeptNeighbourhoods) -> bool:
        """Whether the rest of the fleet sees nothing new of what was looked at."""
        then = {home.name: home.digest for home in self.known.values()}
        return {home.name: home.digest for home in kept.homes} == then and not any(
            home.shared or home.troubled for home in kept.homes
        )

    def require_same_prices(self, settings: Settings, totals: Mapping[str, int]) -> None:
        """What a policy may cost for one object depends on how many there are, in powers of two."""

        def prices(counts: Mapping[str, int]) -> list[int]:
            groups: list[tuple[Kind, ...]] = [ALL, CLUSTERS, *((kind,) for kind in ALL)]
            numbers = (sum(counts.get(f"kind {kind_name(kind)}", 0) for kind in kinds) for kinds in groups)
            return [cost_share(settings.policy_cost, settings.expression_cost, number) for number in numbers]

        if prices(totals) != prices(self.facts["totals"]):
            raise WholeNeeded("policies cost more or less than before")
        for name in ("adapters", "derived"):
            if bool(totals.get(name)) != bool(self.facts["totals"].get(name)):
                raise WholeNeeded("the first or the last of its kind")
