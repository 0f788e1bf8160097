"""The pipeline: the ordered list of stages, and how faults in them are handled.

A stage sees the decisions of earlier ones, and the terms that they pass on (`muster.rules.stages`). A new stage is one
new module and one line here.

A fault in muster costs one object its changes and has no other effect: an object on which a stage fails counts as
broken, and everything is decided again without it, so it keeps its last derived state. Stages that iterate over objects
name it (`muster.fleet.faults.each`); for others it is searched for by leaving objects out. If no object causes the
fault, the stage's last results hold (`muster.rules.retention`), and the other stages decide.

What cannot be read changes nothing: an object whose decision reads an object with an error (`muster.fleet.unread`) is
treated in the same way, and so is in turn what reads it.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Failed, Wake
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.source import Part
from muster.dataclass import dataclass
from muster.fleet import derived_messages as messages
from muster.fleet import faults
from muster.rules import generations, retention
from muster.rules.budgets import stage as budgets
from muster.rules.conditions import add_ons
from muster.rules.conditions import stage as conditions
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import Approvals
from muster.rules.effects.budget import budgets_of
from muster.rules.failures import builtin_fault, findings_of
from muster.rules.heartbeats import agent_refs, durations, silence
from muster.rules.outputs import stage as outputs
from muster.rules.placements import stage as placements
from muster.rules.policies.in_force import FleetWithPolicies, InForce
from muster.rules.pools import clusters as pool_clusters
from muster.rules.pools import stage as pools
from muster.rules.projections import stage as projections
from muster.rules.pulses import stage as pulses
from muster.rules.registration import first_day, removal, removals, requests
from muster.rules.registration import stage as registration
from muster.rules.remedies import requested as requested_actions
from muster.rules.remedies import stage as remedies
from muster.rules.render import render
from muster.rules.reports import stage as reports
from muster.rules.rollouts import progress as rollout_progress
from muster.rules.rollouts import stage as rollouts
from muster.rules.scores import stage as scores
from muster.rules.sets import stage as sets
from muster.rules.stages import Stage, StageTerm, Terms
from muster.rules.taints import cluster_stage as taint_policies
from muster.rules.taints import requested as requested_taints
from muster.rules.taints import stage as taints
from muster.rules.taints.cluster_policy import ClusterTaintPolicies
from muster.rules.taints.cluster_policy import taint_policies as taint_policies_of
from muster.rules.traffic import stage as traffic
from muster.rules.works import stage as works
from muster.rules.works import states as work_states

STAGES: tuple[Stage, ...] = (
    retention.STAGE,
    retention.SETTINGS,
    removal.FINALIZING,
    generations.STAGE,
    agent_refs.STAGE,
    agent_refs.REMOVED_CLUSTERS,
    registration.IDENTITY,
    registration.STAGE,
    durations.VALVE,
    durations.STRETCHING,
    removal.STAGE,
    durations.STAGE,
    reports.STAGE,
    silence.SIGHTING,
    conditions.STAGE,
    silence.STAGE,
    silence.LAPSES,
    add_ons.STAGE,
    scores.STAGE,
    requests.STAGE,
    first_day.STAGE,
    rollout_progress.STAGE,
    requested_taints.STAGE,
    requested_actions.STAGE,
    budgets.STAGE,
    taints.STAGE,
    taint_policies.STAGE,
    remedies.STAGE,
    traffic.STAGE,
    sets.MEMBERSHIP,
    sets.STAGE,
    work_states.STAGE,
    placements.STAGE,
    rollouts.STAGE,
    rollout_progress.MOVES,
    works.SETS,
    works.STAGE,
    outputs.STAGE,
    pool_clusters.STAGE,
    pools.STAGE,
    projections.OF_CLUSTERS,
    projections.OF_FLEET,
    pulses.STAGE,
    budgets.HELD_EFFECTS,
)

#: Number of full restarts without failing objects before everything keeps its state.
_MOST_RUNS = 20
#: Number of objects to search for in one run: each search takes as many runs of a stage as halving the fleet.
_MOST_SEARCHES = 4


@dataclass(frozen=True, slots=True)
class Decided:
    """A fleet with all decisions, and the terms at the end: None if muster failed before it had any. `failed`: the
    expressions that failed, by object."""

    fleet: FleetWithPolicies
    terms: Terms | None
    failed: tuple[Failed, ...] = ()


def run(fleet: FleetWithPolicies, now: datetime) -> Decided:
    """Run every stage at the instant `now` and return the fleet with all decisions.

    Objects on which muster fails are broken, with a finding; so are those whose derived part could not be read again.
    In an incremental run a fault is raised, and a full run is required.
    """
    fleet = agent_refs.with_lost_retained(fleet, now)
    fleet = _with_removals(fleet, now) if fleet.beyond.asked else fleet
    for number in range(_MOST_RUNS):
        decided = _run_stages(fleet, now, searching=number < _MOST_SEARCHES)
        done = decided.fleet
        broken_state = [finding for finding in done.findings if faults.keeps_state(finding)]
        failed = done.broken.union(finding.object for finding in broken_state if finding.object)
        if failed <= fleet.broken:
            rendered = render(done)
            unwritable = {id_: reason for id_, reason in rendered.unwritable.items() if id_ not in fleet.broken}
            if not unwritable:
                return replace(decided, fleet=replace(done, texts=rendered.texts))
            new_findings = [
                messages.unwritable(id_, _parts(done, id_), reason) for id_, reason in sorted(unwritable.items())
            ]
            fleet = _with_broken(fleet, unwritable, new_findings)
            continue
        lasting = (finding for finding in done.findings if faults.keeps_state(finding) or faults.is_fault(finding))
        carried = broken_state if done.broken == fleet.broken else list(lasting)
        fleet = _with_broken(fleet, failed, carried)
    return _run_stages(_all_broken(fleet, ()), now, searching=False)


def _parts(fleet: FleetWithPolicies, id_: ObjectId) -> tuple[Part, ...]:
    obj = fleet.objects.get(id_)
    return obj.parts if obj else ()


def _with_removals(fleet: FleetWithPolicies, now: datetime) -> FleetWithPolicies:
    """The fleet with clusters kept whose removal a budget holds; if that cannot be decided, with all kept."""
    try:
        return removals.withheld(fleet, now)
    except Exception as error:  # noqa: BLE001 - the boundary, as in `each`
        fault = faults.stage_fault("deciding removals", error)
        return replace(fleet, unidentified=True, findings=(*fleet.findings, fault))


def _run_stages(fleet: FleetWithPolicies, now: datetime, *, searching: bool) -> Decided:
    """Run every stage once. Stops at the first that fails on an object found by searching."""
    before, failed = fleet, list[Failed]()
    pulse_wakes, other_wakes = dict[ObjectId, datetime](), dict[ObjectId, datetime]()
    try:
        terms = terms_of(fleet, now)
    except Exception as error:
        if fleet.objects.keys() <= fleet.broken or fleet.partial:
            raise
        return Decided(_all_broken(before, [faults.stage_fault("preparing to decide", error)]), None)
    for stage in STAGES:
        try:
            outcomes = list(stage.ask(fleet, terms))
        except Exception as error:
            if fleet.partial:
                raise
            culprit = _failing_object(fleet, terms, now, stage) if searching else None
            if culprit is not None:
                return Decided(_with_broken(before, (), [faults.object_fault(before.objects[culprit], error)]), terms)
            fault = faults.stage_fault(f"deciding {stage.name}", error)
            if stage.foundation and not fleet.objects.keys() <= fleet.broken:
                return Decided(_all_broken(before, [fault]), terms)
            outcomes = [*retention.stage_results(fleet, stage), fault]
        wakes = pulse_wakes if stage is pulses.STAGE else other_wakes
        for id_, instant in terms.of(InForce).wakes.drain():
            wakes[id_] = min(instant, wakes.get(id_, instant))
        terms = terms.after(outcomes)
        fresh = [outcome._replace(stage=stage.name) for outcome in outcomes if isinstance(outcome, Failed)]
        failed += fresh
        earlier = (failure for failure in fleet.beyond.failed if failure.stage == stage.name)
        of_fleet = (outcome for outcome in outcomes if not isinstance(outcome, StageTerm | Failed))
        fleet = fleet.with_outcomes((*of_fleet, *findings_of((*fresh, *earlier), fleet)))
    again = (
        Wake(id_, _ASKED, instant, pulse=wakes is pulse_wakes, deadline=False)
        for wakes in (pulse_wakes, other_wakes)
        for id_, instant in wakes.items()
    )
    fleet = fleet.with_outcomes((*again, *builtin_fault((*failed, *fleet.beyond.failed), fleet)))
    return Decided(fleet, terms, tuple(failed))


_ASKED = Because("evaluation", OF_ITSELF, "an expression compares something with the present time")


def terms_of(fleet: FleetWithPolicies, now: datetime) -> Terms:
    """The terms before the first stage."""
    first_terms = (
        durations.LeaseFloor(fleet.beyond.lease_floor),
        ClusterTaintPolicies(taint_policies_of(fleet)),
        Allowance(budgets_of(fleet), (), now, Approvals.of(fleet, now)),
    )
    return Terms.by(fleet, now, (held.object for held in removals.held_removals(fleet)), first_terms)


def _all_broken(fleet: FleetWithPolicies, findings: Iterable[Finding]) -> FleetWithPolicies:
    return _with_broken(fleet, {*fleet.objects, *fleet.previous}, findings)


def _with_broken(fleet: FleetWithPolicies, ids: Iterable[ObjectId], findings: Iterable[Finding]) -> FleetWithPolicies:
    return replace(fleet, broken=fleet.broken.union(ids), findings=(*fleet.findings, *findings))


def _failing_object(fleet: FleetWithPolicies, terms: Terms, now: datetime, stage: Stage) -> ObjectId | None:
    """The object without which, and without all after it, the stage does not fail; None if it fails without any."""
    candidates = sorted(fleet.objects.keys() - fleet.broken)

    def fails(number: int) -> bool:
        try:
            left = _with_broken(fleet, candidates[number:], ())
            list(stage.ask(left, terms.for_fleet(terms_of(left, now))))
        except Exception:  # noqa: BLE001 - the caller reports it
            return True
        return False

    low, high = 0, len(candidates)
    if not candidates or fails(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return candidates[low]
