"""`muster drill`: rehearse every loss that the Drills name, and look for the states that they forbid."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.source import Place
from muster.dataclass import dataclass
from muster.features.drill.cells import Cell, Spell, cells_of
from muster.features.drill.facts import Facts
from muster.features.drill.memo import OutageMemo
from muster.features.drill.rehearsing import OutageStep, OutageWork, outage_base, rehearse_outage
from muster.features.whatif.rehearsal import Rehearsal
from muster.fleet.places import finding_at, place_of
from muster.rules.drills.policy import Domain, Drill
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot
from muster.run.progress import RunStep, doing

#: From how many clusters times outages on worker processes are worth their start.
_LARGE: Final = 2_000


@dataclass(frozen=True, slots=True)
class DrillResult:
    """The matrix of a Drill: for each domain the cells of all objects, in the same order; `place` is what it loses.
    `findings`: one for each forbidden state in a cell; or that it loses nothing."""

    drill: Drill
    start: datetime
    place: Place
    rows: tuple[tuple[Domain, tuple[Cell, ...]], ...]
    findings: tuple[Finding, ...]

    def cases(self) -> Iterator[tuple[str, Place, tuple[str, ...]]]:
        """Yield the name of each domain, the place of the Drill, and what fails there."""
        for domain, cells in self.rows:
            failed = (f"{cell.object}: {spell.text(self.start)}" for cell in cells for spell in cell.broken)
            yield f"{domain.name} is lost", self.place, tuple(failed)
        if not self.rows:
            yield "", self.place, tuple(finding.message for finding in self.findings)


def run_drills(
    trial: Rehearsal,
    fleet: FleetWithPolicies,
    drills: Sequence[Drill],
    start: datetime,
    *,
    cache: Path | None = None,
    workers: int = 1,
) -> list[DrillResult]:
    """Rehearse the Drills over the fleet of a rehearsal, in which no run was made yet. The agents stop at `start`.

    `cache`: the folder where finished outages are kept. `workers`: how many processes rehearse a large fleet.
    """
    clusters = list(fleet.clusters())
    domains = {drill.id: drill.domains(clusters) for drill in drills}
    wanted = dict[frozenset[str], datetime]()
    for drill in drills:
        for domain in domains[drill.id]:
            until = start + drill.span
            wanted[domain.clusters] = max(until, wanted.get(domain.clusters, until))
    facts, steps = _outages(trial, fleet, wanted, start, cache, workers if len(clusters) * len(wanted) >= _LARGE else 1)

    def result(drill: Drill) -> DrillResult:
        rows = tuple(
            (domain, tuple(cells_of(drill, fleet, domain, facts, steps[domain.clusters], start)))
            for domain in domains[drill.id]
        )
        broken = ((domain, cell, spell) for domain, cells in rows for cell in cells for spell in cell.broken)
        failed = [_failed(drill, start, domain, cell, spell) for domain, cell, spell in broken]
        place = place_of(drill.source.parts, ("spec", "lose"))
        return DrillResult(drill, start, place, rows, tuple(failed if rows else [drill.lost_nothing(clusters)]))

    return [result(drill) for drill in drills]


def _failed(drill: Drill, start: datetime, domain: Domain, cell: Cell, spell: Spell) -> Finding:
    named = (rule for rule in drill.rules if spell.name == rule.name or spell.name.startswith(f"{rule.name}: "))
    rule = next(named, drill.rules[0])
    message = f"{drill.id}, {domain.name} is lost: {cell.object}: {spell.text(start)}"
    hint = f"muster drill {drill.id.name} shows the whole matrix, muster forecast what happens"
    return finding_at(drill.source, rule.at, Code.DRILL_FAILED, message, hint)


def _outages(
    trial: Rehearsal,
    fleet: FleetWithPolicies,
    wanted: dict[frozenset[str], datetime],
    start: datetime,
    cache: Path | None,
    workers: int,
) -> tuple[Facts, dict[frozenset[str], tuple[OutageStep, ...]]]:
    if not wanted:
        return {}, {}
    memo = OutageMemo.of(cache, trial, start)
    remembered = {lost: memo.known(lost, until) for lost, until in wanted.items()}
    missing = [lost for lost, steps in remembered.items() if steps is None]
    finished = {lost: steps for lost, steps in remembered.items() if steps is not None}
    if not missing and memo.facts is not None:
        return memo.facts, finished
    until = max(wanted.values())
    base = outage_base(trial, fleet, start, until)
    memo.keep_facts(base.facts)
    doing(RunStep.REHEARSING, len(finished), len(wanted))
    for lost, steps in _rehearsed(map(base.outage, missing), workers):
        finished[frozenset(lost)] = steps
        memo.keep(lost, until, steps)
        doing(RunStep.REHEARSING, len(finished), len(wanted))
    return base.facts, finished


def _rehearsed(outages: Iterable[OutageWork], workers: int) -> Iterator[tuple[tuple[str, ...], tuple[OutageStep, ...]]]:
    if workers == 1:
        for outage in outages:
            yield outage.lost, rehearse_outage(outage)
        return
    from muster.run.shards.executors import Processes

    with Processes(workers, rehearse_outage) as processes:
        for outage, steps in processes.decide(outages):
            yield outage.lost, steps if steps is not None else rehearse_outage(outage)


def broken_by(
    before: Rehearsal, after: Rehearsal, start: datetime, *, cache: Path | None = None, workers: int = 1
) -> list[Finding]:
    """Return what fails in the Drills of one fleet and not in another one, before it: a finding for each state.

    The fleet before is rehearsed only for Drills that fail.
    """
    fleet = check_snapshot(after.snapshot)
    results = run_drills(after, fleet, fleet.compiled.of(Drill), start, cache=cache, workers=workers)
    failing = {result.drill.id: result for result in results if result.findings}
    if not failing:
        return []
    fleet = check_snapshot(before.snapshot)
    same_drills = [drill for drill in fleet.compiled.of(Drill) if drill.id in failing]
    earlier = {
        finding.message
        for result in run_drills(before, fleet, same_drills, start, cache=cache, workers=workers)
        for finding in result.findings
    }
    return [finding for result in failing.values() for finding in result.findings if finding.message not in earlier]
