"""Checks of Rollouts: references to Placements, decision groups and Calendars that do not exist, and empty stages.

They read the whole fleet, as those of `muster.rules.checks.references`.
"""

from collections.abc import Collection, Iterator

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import CALENDAR, MANAGED_CLUSTER, PLACEMENT, ROLLOUT
from muster.data.names import did_you_mean
from muster.data.tree import At, dig, mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.policies.selectors import LabelSelector
from muster.rules.rollouts.strategy import BODIES


def rollout_findings(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each missing Placement or decision group, and for each stage that no cluster can reach."""
    placements = {(obj.id.namespace, obj.id.name): obj for obj in fleet.of(PLACEMENT)}
    for obj in fleet.of(ROLLOUT):
        name = str(dig(obj.spec, "placementRef", "name"))
        placement = placements.get((obj.id.namespace, name))
        if placement is None:
            known = [other for namespace, other in placements if namespace == obj.id.namespace]
            at: At = ("spec", "placementRef", "name")
            message = f"there is no Placement {name!r} in the namespace {obj.id.namespace!r}"
            yield finding_at(obj, at, Code.UNKNOWN_REFERENCE, message, did_you_mean(name, known))
        else:
            strategy = ("decisionStrategy", "groupStrategy", "decisionGroups")
            groups = {str(group.get("groupName")) for group in mappings_at(placement.spec, *strategy)}
            yield from _groups(obj, groups, placement)
        yield from _stages(fleet, obj)
        yield from _calendars(obj, {calendar.id.name for calendar in fleet.of(CALENDAR)})


def _calendars(obj: Object, known: Collection[str]) -> Iterator[Finding]:
    stages = [("spec", "stages", index) for index in range(len(mappings_at(obj.spec, "stages")))]
    bodies = [(("spec",), obj.spec), *zip(stages, mappings_at(obj.spec, "stages"), strict=True)]
    for at, body in bodies:
        for index, name in enumerate(body.get("windows") or ()):
            if name not in known:
                message = f"there is no Calendar {name!r}, so nothing starts in it"
                where: At = (*at, "windows", index)
                yield finding_at(obj, where, Code.UNKNOWN_REFERENCE, message, did_you_mean(name, known))


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
