"""Checks of Rollouts: references to Placements, decision groups and Calendars that do not exist, empty stages, clusters
in no stage, and windows that freezes cover.

They read the whole fleet, as those of `muster.rules.checks.references`.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import CALENDAR, MANAGED_CLUSTER, PLACEMENT, ROLLOUT
from muster.data.names import did_you_mean
from muster.data.times import earliest
from muster.data.tree import At, dig, mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.calendars.calendar import Calendar
from muster.rules.effects.approval import ROLLOUT_EFFECT
from muster.rules.effects.freeze import SORTS, Freeze, freezes_of
from muster.rules.placements.selected import selected_clusters
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.selectors import LabelSelector
from muster.rules.progress.strategy import BODIES
from muster.rules.rollouts.policy import Rollout, RolloutStage

#: How far ahead a window outside of freezes is searched.
_AHEAD: Final = timedelta(days=2 * 365)
_MOST_NAMES: Final = 10


def rollout_findings(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Yield a warning for each missing Placement or decision group, for each stage that no cluster can reach, and for
    clusters that no stage selects."""
    placements = {(obj.id.namespace, obj.id.name): obj for obj in fleet.of(PLACEMENT)}
    for obj in fleet.of(ROLLOUT):
        name = str(dig(obj.spec, "placementRef", "name"))
        placement = placements.get((obj.id.namespace, name))
        if placement is None:
            names = [other for namespace, other in placements if namespace == obj.id.namespace]
            at: At = ("spec", "placementRef", "name")
            message = f"there is no Placement {name!r} in the namespace {obj.id.namespace!r}"
            yield finding_at(obj, at, Code.UNKNOWN_REFERENCE, message, did_you_mean(name, names))
        else:
            strategy = ("decisionStrategy", "groupStrategy", "decisionGroups")
            groups = {str(group.get("groupName")) for group in mappings_at(placement.spec, *strategy)}
            yield from _groups(obj, groups, placement)
        yield from _stages(fleet, obj)
        yield from _calendars(obj, {calendar.id.name for calendar in fleet.of(CALENDAR)})
    for rollout in fleet.compiled.of(Rollout):
        if rollout.placement in fleet.objects and rollout.strategy is None:
            yield from _unselected(fleet, rollout)


def _calendars(obj: Object, calendars: Collection[str]) -> Iterator[Finding]:
    stages = [("spec", "stages", index) for index in range(len(mappings_at(obj.spec, "stages")))]
    bodies = [(("spec",), obj.spec), *zip(stages, mappings_at(obj.spec, "stages"), strict=True)]
    for at, body in bodies:
        for index, name in enumerate(body.get("windows") or ()):
            if name not in calendars:
                message = f"there is no Calendar {name!r}, so nothing starts in it"
                path: At = (*at, "windows", index)
                yield finding_at(obj, path, Code.UNKNOWN_REFERENCE, message, did_you_mean(name, calendars))


def _groups(obj: Object, groups: Collection[str], placement: Object) -> Iterator[Finding]:
    named: list[tuple[At, str]] = []
    for body in BODIES.values():
        for index, key in enumerate(mappings_at(obj.spec, "strategy", body, "mandatoryDecisionGroups")):
            named.append(
                (("spec", "strategy", body, "mandatoryDecisionGroups", index), str(key.get("groupName") or ""))
            )
    for index, stage in enumerate(mappings_at(obj.spec, "stages")):
        for number, name in enumerate(stage.get("decisionGroups") or ()):
            named.append((("spec", "stages", index, "decisionGroups", number), name))
    for at, name in named:
        if name and name not in groups:
            message = f"{placement.id} has no decision group {name!r}"
            yield finding_at(obj, at, Code.UNKNOWN_REFERENCE, message, did_you_mean(name, groups))


def _stages(fleet: Fleet, obj: Object) -> Iterator[Finding]:
    everything = ""
    clusters = fleet.of(MANAGED_CLUSTER)
    for index, stage in enumerate(mappings_at(obj.spec, "stages")):
        name, at = str(stage.get("name")), ("spec", "stages", index)
        selector = LabelSelector.parse(stage.get("selector"))
        if everything:
            message = f"no cluster reaches stage {name!r} of {obj.id}: {everything!r} before it selects all"
            yield finding_at(obj, at, Code.STAGE_WITHOUT_CLUSTERS, message, "put the stage without a selector last")
        elif clusters and not any(selector.matches(cluster.labels) for cluster in clusters):
            message = f"stage {name!r} of {obj.id} selects no cluster"
            hint = "compare its selector with the clusters' labels"
            yield finding_at(obj, (*at, "selector"), Code.STAGE_WITHOUT_CLUSTERS, message, hint)
        if not selector.requirements and not stage.get("decisionGroups"):
            everything = everything or name


def _unselected(fleet: FleetWithPolicies, rollout: Rollout) -> Iterator[Finding]:
    """The clusters of its Placement that no stage selects. A decision group may be that of any cluster."""
    unselected = {
        obj.id.name
        for obj in fleet.of(MANAGED_CLUSTER)
        if not any(stage.selector.matches(obj.labels) for stage in rollout.stages)
    }
    names = sorted(selected_clusters(fleet, fleet.rules, rollout.placement, unselected))
    if names:
        clusters = ", ".join(names[:_MOST_NAMES]) + (
            f" and {len(names) - _MOST_NAMES} more" if names[_MOST_NAMES:] else ""
        )
        message = f"no stage of {rollout.id} selects {clusters}, so these clusters of {rollout.placement} get nothing"
        hint = "add a last stage without a selector, or narrow the Placement"
        yield finding_at(rollout.source, ("spec", "stages"), Code.CLUSTER_WITHOUT_STAGE, message, hint)


def window_findings(fleet: FleetWithPolicies, now: datetime) -> Iterator[Finding]:
    """Yield a warning for each stage whose Calendars are open in freezes only, or never, from now on."""
    calendars = {calendar.id.name: calendar for calendar in fleet.compiled.of(Calendar)}
    freezes = [freeze for freeze in freezes_of(fleet.settings, fleet) if SORTS[ROLLOUT_EFFECT] in freeze.holds]
    for rollout in fleet.compiled.of(Rollout):
        for index, stage in enumerate(rollout.stages):
            windows = [calendars[name] for name in stage.windows if name in calendars]
            if len(windows) < len(stage.windows) or not windows:
                continue  # a missing one has a finding of its own
            if any(_can_start(windows, held, now) for held in _frozen(fleet, freezes, stage)):
                continue
            of_stage = "windows" in (mappings_at(rollout.source.spec, "stages") or [{}])[index]
            at: At = ("spec", "stages", index, "windows") if of_stage else ("spec", "windows")
            reason = (
                "its windows never open" if not _can_start(windows, (), now) else "its windows are open in freezes only"
            )
            message = f"no cluster can start in stage {stage.name!r} of {rollout.id}, for two years from now: {reason}"
            yield finding_at(rollout.source, at, Code.TIME_NEVER_COMES, message, "compare them with Fleet.spec.freezes")


def _frozen(fleet: Fleet, freezes: Sequence[Freeze], stage: RolloutStage) -> Collection[tuple[Freeze, ...]]:
    """The freezes that hold the clusters that a stage selects, in each combination; without such clusters, those that
    hold all."""
    if all(not freeze.selector.requirements for freeze in freezes):
        return [tuple(freezes)]
    selected = [obj for obj in fleet.of(MANAGED_CLUSTER) if stage.selector.matches(obj.labels)]
    combinations = {tuple(f.name for f in freezes if f.selects(fleet, obj.id)) for obj in selected} or {
        tuple(freeze.name for freeze in freezes if not freeze.selector.requirements)
    }
    return [tuple(freeze for freeze in freezes if freeze.name in names) for names in sorted(combinations)]


def _can_start(calendars: Sequence[Calendar], freezes: Sequence[Freeze], now: datetime) -> bool:
    """Is any Calendar open at an instant at which no freeze is in force, within two years?"""
    at: datetime | None = now
    while at is not None and at - now < _AHEAD:
        held = [freeze for freeze in freezes if freeze.in_force(at)]
        if held:
            ends = [end for freeze in held if (end := freeze.next_change(at)) is not None]
            at = max(ends) if len(ends) == len(held) else None
        elif any(calendar.is_open(at) for calendar in calendars):
            return True
        else:
            at = earliest(*(calendar.next_change(at) for calendar in calendars))
    return False
