"""The pipeline: the ordered list of stages, and what becomes of the faults in them.

Each stage is a pure function `stage(fleet, now) -> outcomes`; what it decides is visible to the next one through
the fleet. A new stage is one new module and one line here.

A fault of ours costs one object its change and nobody else anything: an object that a stage fails on counts as broken,
and all is decided again without it, so that it keeps the whole of its last derived state. Stages that go from object to
object know which one it was (`muster.fleet.faults.each`); of the others the object is searched for by leaving objects
out. Where no object is to blame, what the stage derived stands (`muster.decide.kept`), and the other stages decide.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from muster.decide import (
    add_ons,
    conditions,
    disruption,
    durations,
    finalizing,
    first_day,
    generations,
    hearing,
    held,
    kept,
    placements,
    pools,
    registration,
    remedies,
    removals,
    requests,
    sets,
    settings,
    silence,
    taint_policies,
    taints,
    traffic,
)
from muster.decide.pulses import stage as pulses
from muster.decide.render import render
from muster.decide.reports import stage as reports
from muster.fleet import faults, messages
from muster.model.decision import Outcome
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.source import Part
from muster.policy.ruled import Ruled

Stage: TypeAlias = Callable[[Ruled, datetime], Iterable[Outcome]]

STAGES: tuple[tuple[str, Stage], ...] = (
    ("kept", kept.stage),
    ("settings", settings.stage),
    ("finalizing", finalizing.stage),
    ("generations", generations.stage),
    ("hearing", hearing.stage),
    ("registration", registration.stage),
    ("durations", durations.stage),
    ("reports", reports.stage),
    ("conditions", conditions.stage),
    ("silence", silence.stage),
    ("add-ons", add_ons.stage),
    ("requests", requests.stage),
    ("first day", first_day.stage),
    ("budgets", disruption.stage),
    ("taints", taints.stage),
    ("taint policies", taint_policies.stage),
    ("remedies", remedies.stage),
    ("traffic", traffic.stage),
    ("sets", sets.stage),
    ("placements", placements.stage),
    ("pools", pools.stage),
    ("pulses", pulses.stage),
    ("held", held.stage),
)


#: Stages without which no other may act: where one fails as a whole, all stays as it is.
_FOUNDATIONS = frozenset(("kept", "reports", "first day", "budgets"))
#: How often objects are taken out and all is decided again, before everything stays as it is.
_MOST_RUNS = 20
#: How many objects are searched for in one run: each costs as many runs of a stage as halving the fleet takes.
_MOST_SEARCHES = 4


def run(fleet: Ruled, now: datetime) -> Ruled:
    """Run every stage at the instant `now` and return the fleet with all that was decided.

    Objects on which muster fails are among the broken ones, each with a finding; so are those whose derived part the
    next run could not read.
    """
    fleet = _with_removals(fleet, now)
    for number in range(_MOST_RUNS):
        done = _through(fleet, now, searching=number < _MOST_SEARCHES)
        found = [one for one in done.findings if one.code == faults.OF_OBJECT]
        failed = done.broken.union(one.object for one in found if one.object)
        if failed <= fleet.broken:
            rendered = render(done)
            unwritable = {id_: why for id_, why in rendered.unwritable.items() if id_ not in fleet.broken}
            if not unwritable:
                return replace(done, texts=rendered.texts)
            told = [messages.unwritable(id_, _parts(done, id_), why) for id_, why in sorted(unwritable.items())]
            fleet = _without(fleet, unwritable, told)
            continue
        carried = found if done.broken == fleet.broken else [one for one in done.findings if faults.is_fault(one)]
        fleet = _without(fleet, failed, carried)
    return _through(_all_broken(fleet, ()), now, searching=False)


def _parts(fleet: Ruled, id_: ObjectId) -> tuple[Part, ...]:
    obj = fleet.objects.get(id_)
    return obj.parts if obj else ()


def _with_removals(fleet: Ruled, now: datetime) -> Ruled:
    """The fleet in which clusters whose removal a budget holds are kept. Where that cannot be told, all are."""
    try:
        return removals.withheld(fleet, now)
    except Exception as error:  # noqa: BLE001 - the boundary, as in `each`
        told = faults.of_stage("deciding removals", error)
        return replace(fleet, unidentified=True, findings=(*fleet.findings, told))


def _through(fleet: Ruled, now: datetime, *, searching: bool) -> Ruled:
    """Run every stage once. Stops at the first that fails on an object which had to be searched for."""
    before = fleet
    for name, stage in STAGES:
        try:
            outcomes = list(stage(fleet, now))
        except Exception as error:  # noqa: BLE001 - the boundary, as in `each`
            culprit = _culprit(fleet, now, stage) if searching else None
            if culprit is not None:
                return _without(before, (), [faults.of_object(before.objects[culprit], error)])
            told = faults.of_stage(f"deciding {name}", error)
            if name in _FOUNDATIONS and not fleet.objects.keys() <= fleet.broken:
                return _all_broken(before, [told])
            outcomes = [*kept.of_stage(fleet, name), told]
        fleet = fleet.with_outcomes(outcomes)
    return fleet


def _all_broken(fleet: Ruled, found: Iterable[Finding]) -> Ruled:
    return _without(fleet, {*fleet.objects, *fleet.previous}, found)


def _without(fleet: Ruled, ids: Iterable[ObjectId], found: Iterable[Finding]) -> Ruled:
    """The fleet with some more objects among the broken ones."""
    return replace(fleet, broken=fleet.broken.union(ids), findings=(*fleet.findings, *found))


def _culprit(fleet: Ruled, now: datetime, stage: Stage) -> ObjectId | None:
    """The object without which, and without all after it, the stage does not fail; None where it fails without any."""
    candidates = sorted(fleet.objects.keys() - fleet.broken)

    def fails(number: int) -> bool:
        try:
            list(stage(_without(fleet, candidates[number:], ()), now))
        except Exception:  # noqa: BLE001 - told by the caller, which has met it
            return True
        return False

    low, high = 0, len(candidates)
    if not candidates or fails(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return candidates[low]
