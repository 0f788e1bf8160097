"""The stage of Placements: PlacementDecisions and conditions.

Every run decides all PlacementDecisions again, so a cluster is never between two shards: they are one commit. For a
cluster that leaves, the Placement has a decision with the value None at `left_path`, whose reason says why.

PlacementDecisions are groups, chunks of a group's length, and shards of at most 100. Source: upstream's scheduling
controller. Named groups come first, each cluster in the first that selects it; the rest is a group without a name. A
Placement that chooses nothing has one empty PlacementDecision.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from muster.data.codes import Code
from muster.data.decision import OF_ITSELF, OF_SPEC, Because, Decision, Held, Input
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, PLACEMENT_DECISION
from muster.data.names import few
from muster.data.tree import Tree, dig
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.shared import Shared
from muster.rules.effects.allowance import Allowance
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.filters import Eligible, eligible, read_dependencies
from muster.rules.placements.policy import CompiledPlacement
from muster.rules.placements.reasons import reason_of, removal_of
from muster.rules.placements.scheduling import Schedule, Scheduled, is_paused, placements_of, schedule_all
from muster.rules.placements.shards import PLACEMENT_LABEL, DecisionShard, clusters_of, decision_name, left_path
from muster.rules.placements.spec import PlacementSpec
from muster.rules.policies.in_force import InForce
from muster.rules.stages import METADATA, STATUS, Wide
from muster.rules.transitions import condition_decision, unchanged_condition

SATISFIED, MISCONFIGURED = "PlacementSatisfied", "PlacementMisconfigured"


class PlacementCondition(NamedTuple):
    """The content of a condition."""

    status: str
    reason: str
    message: str


def satisfied(
    eligible: Eligible, cluster_sets: tuple[str, ...], wanted: int | None, selected: int
) -> PlacementCondition:
    """Are as many clusters chosen as wanted? Gives the first reason that applies, also for a misconfigured
    Placement."""
    if not selected:
        if not eligible.bound:
            message = "No valid ManagedClusterSetBindings found in placement namespace"
            return PlacementCondition("False", "NoManagedClusterSetBindings", message)
        if not eligible.sets:
            message = f"None of ManagedClusterSets [{','.join(cluster_sets)}] is bound to placement namespace"
            return PlacementCondition("False", "NoIntersection", message)
        if not eligible.available:
            message = f"All ManagedClusterSets [{','.join(eligible.sets)}] have no member ManagedCluster"
            return PlacementCondition("False", "AllManagedClusterSetsEmpty", message)
        return PlacementCondition(
            "False", "NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate"
        )
    if wanted is None or selected >= wanted:
        return PlacementCondition("True", "AllDecisionsScheduled", "All cluster decisions scheduled")
    return PlacementCondition("False", "NotAllDecisionsScheduled", f"{wanted - selected} cluster decisions unscheduled")


def misconfigured(error: str) -> PlacementCondition:
    """Can the Placement be scheduled as written?"""
    if error:
        return PlacementCondition("True", "Misconfigured", error)
    return PlacementCondition("False", "Succeedconfigured", "Placement configurations check pass")


MOST_PER_DECISION = 100


def shards_of(
    candidates: Candidates, placement: str, spec: PlacementSpec, selected: Iterable[str]
) -> tuple[DecisionShard, ...]:
    """Return the PlacementDecisions of a choice, numbered across all groups."""
    names = sorted(selected)
    length = spec.group_length(len(names))
    shards: list[DecisionShard] = []
    index = 0
    for group, members in _groups(candidates, spec, names):
        for chunk in _chunks(members, length):
            for part in _chunks(chunk, MOST_PER_DECISION):
                shards.append(DecisionShard(decision_name(placement, len(shards) + 1), group, index, tuple(part)))
            index += 1
    return tuple(shards) or (DecisionShard(decision_name(placement, 1), "", 0, ()),)


def _groups(candidates: Candidates, spec: PlacementSpec, names: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    rest: Sequence[str] = names
    for group in spec.groups:
        members = candidates.labels.selected(group.labels) & candidates.claims.selected(group.claims)
        yield group.name, [name for name in rest if name in members]
        rest = [name for name in rest if name not in members]
    yield "", list(rest)


def _chunks(names: Sequence[str], length: int) -> Iterator[Sequence[str]]:
    return (names[start : start + length] for start in range(0, len(names), length))


def group_status(shards: Iterable[DecisionShard]) -> list[Tree]:
    """Return `status.decisionGroups` of a Placement."""
    return [
        {
            "decisionGroupIndex": index,
            "decisionGroupName": members[0].group,
            "decisions": [shard.name for shard in members],
            "clusterCount": sum(len(shard.clusters) for shard in members),
        }
        for index, members in sorted(grouped((shard.index, shard) for shard in shards).items())
    ]


_BECAUSE = Because("placements", OF_SPEC, "how many clusters were found of those that it wants")
_SCHEDULABLE = Because("placements", OF_SPEC, "whether the placement can be scheduled as it is written")
_KEPT = Because("kept", OF_ITSELF, "the placement cannot be scheduled, so it keeps its last decisions")
_DELETED = Because(
    "kept", (Input(("metadata", "deletionTimestamp")),), "the placement is being deleted, so it keeps them"
)
_PAUSED = Because("kept", (Input(("metadata", "annotations")),), "its annotation says that nothing is to schedule it")
_BROKEN = Because("kept", OF_ITSELF, "the placement's file has an error or cannot be read, so its decisions stay")
_GONE = Because("placements", OF_ITSELF, "the placement no longer needs this shard")


def _restless(shared: Shared, ids: frozenset[ObjectId]) -> Iterator[Finding]:
    """A finding for each Placement whose choice does not last."""
    for id_ in sorted(ids):
        cause = f"the choices of {few(sorted(ids))} change each other's scores"
        message = f"no choice of {id_} lasts, so it keeps its clusters: {cause}"
        hint = "give the prioritizer Balance weights of one sign in all of them"
        path = ("spec", "prioritizerPolicy")
        yield finding_at(shared.objects[id_], path, Code.PLACEMENTS_ANSWER_EACH_OTHER, message, hint)


def stage(shared: Shared, now: datetime, rules: InForce, allowance: Allowance) -> Iterator[Decision | Held | Finding]:
    """Decide every Placement's choice."""
    yield from each(shared.of(PLACEMENT), lambda obj: _unread(shared, obj))
    placements, approvals = placements_of(rules), allowance.approvals
    schedule = schedule_all(shared, rules, approvals, now)

    def placed(obj: Object) -> Iterator[Decision | Held]:
        if (chosen := schedule.chosen.get(obj.id)) is not None:
            yield from _scheduled(shared, schedule, obj.id, chosen, now)
        elif (compiled := placements.get(obj.id)) is not None:
            yield from _unscheduled(shared, schedule, obj, compiled, now)

    yield from each(shared.of(PLACEMENT), placed)
    yield from _restless(shared, schedule.restless)
    for id_ in sorted(schedule.kept.keys() - {obj.id for obj in shared.of(PLACEMENT)}):
        shards = remaining(schedule, id_)
        yield from _decisions(shared, schedule, id_, shards, _BROKEN)
        yield from _numbers(id_, shards, _BROKEN)
        yield from _departures(schedule, id_, clusters_of(shards), None)


def _unread(shared: Shared, placement: Object) -> Iterator[Decision]:
    """Decide nothing, but that the Placement stays as it is if it depends on something unread: all choose in turn."""
    read_dependencies(shared, placement)
    yield from ()


def _scheduled(
    shared: Shared, schedule: Schedule, id_: ObjectId, chosen: Scheduled, now: datetime
) -> Iterator[Decision | Held]:
    choice, task = chosen.choice, chosen.task
    shards = shards_of(schedule.candidates, id_.name, task.spec, choice.selected)
    because = Because("placements", (Input(("spec",), id_),), _summary(chosen))
    yield from _decisions(shared, schedule, id_, shards, because, chosen.horizon)
    yield from _numbers(id_, shards, because, chosen.horizon)
    satisfaction = satisfied(task.eligible, task.spec.cluster_sets, task.spec.wanted, len(choice.selected))
    yield from _conditions(shared, id_, satisfaction, misconfigured(""), now)
    yield from _departures(schedule, id_, choice.selected, chosen)
    yield from chosen.held.values()


def _summary(chosen: Scheduled) -> str:
    clusters, wanted = chosen.task.eligible, chosen.task.spec.wanted
    passing = len(chosen.choice.tolerated.passing)
    wanted_text = "all" if wanted is None else str(wanted)
    available, matching = len(clusters.available), len(clusters.matching)
    return f"{wanted_text} wanted: {available} available, {matching} match, {passing} tolerated"


def _unscheduled(
    shared: Shared, schedule: Schedule, obj: Object, compiled: CompiledPlacement, now: datetime
) -> Iterator[Decision]:
    paused = is_paused(obj)
    if paused and obj.id not in schedule.previous:
        return
    shards = remaining(schedule, obj.id) or (DecisionShard(decision_name(obj.id.name, 1), "", 0, ()),)
    selected = clusters_of(shards)
    because = _DELETED if obj.deleting else _PAUSED if paused else _KEPT
    yield from _decisions(shared, schedule, obj.id, shards, because)
    yield from _numbers(obj.id, shards, because)
    if not paused:
        sets = tuple(dig(obj.spec, "clusterSets") or ())
        clusters = eligible(schedule.candidates, obj.id.namespace, sets, ())
        satisfaction = satisfied(clusters, sets, compiled.wanted, len(selected))
        yield from _conditions(shared, obj.id, satisfaction, misconfigured(compiled.error), now)
    else:
        for type_, before in shared.conditions_before(obj.id).items():
            yield unchanged_condition(obj.id, type_, before, because)
    yield from _departures(schedule, obj.id, selected, None)


def remaining(schedule: Schedule, id_: ObjectId) -> tuple[DecisionShard, ...]:
    """The last run's shards, without the clusters that no Placement may keep."""
    staying = schedule.kept.get(id_, frozenset())
    return tuple(
        DecisionShard(shard.name, shard.group, shard.index, tuple(name for name in shard.clusters if name in staying))
        for shard in schedule.previous.get(id_, ())
    )


def _decisions(
    shared: Shared,
    schedule: Schedule,
    id_: ObjectId,
    shards: Iterable[DecisionShard],
    because: Because,
    horizon: datetime | None = None,
) -> Iterator[Decision]:
    """The PlacementDecisions of one Placement; others that an earlier stage kept are removed."""
    names: set[str] = set()
    owner = _owner(shared, id_)
    for shard in shards:
        names.add(shard.name)
        decision = PLACEMENT_DECISION.id(shard.name, id_.namespace)
        yield Decision(decision, ("metadata", "labels"), {PLACEMENT_LABEL: id_.name, **shard.labels}, because)
        if owner is not None:
            yield Decision(decision, ("metadata", "ownerReferences"), [owner], because)
        entries = [schedule.entries[name] for name in shard.clusters]
        yield Decision(decision, ("status", "decisions"), entries, because, horizon)
    for shard in schedule.previous.get(id_, ()):
        if shard.name not in names:
            stale = PLACEMENT_DECISION.id(shard.name, id_.namespace)
            for path in shared.decisions(stale):
                yield Decision(stale, path, None, _GONE)


def _owner(shared: Shared, id_: ObjectId) -> dict[str, str | bool] | None:
    """The owner reference, if the Placement's uid is known: an API server requires it."""
    obj = shared.objects.get(id_)
    uid = dig(obj.body, "metadata", "uid") if obj else None
    if not isinstance(uid, str) or not uid:
        return None
    return {
        "apiVersion": PLACEMENT.api_version,
        "kind": PLACEMENT.name,
        "name": id_.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _numbers(
    id_: ObjectId, shards: tuple[DecisionShard, ...], because: Because, horizon: datetime | None = None
) -> Iterator[Decision]:
    selected = sum(len(shard.clusters) for shard in shards)
    yield Decision(id_, ("status", "numberOfSelectedClusters"), selected, because, horizon)
    yield Decision(id_, ("status", "decisionGroups"), group_status(shards), because, horizon)


def _conditions(
    shared: Shared, id_: ObjectId, enough: PlacementCondition, sound: PlacementCondition, now: datetime
) -> Iterator[Decision]:
    for type_, statement, because in ((SATISFIED, enough, _BECAUSE), (MISCONFIGURED, sound, _SCHEDULABLE)):
        yield condition_decision(shared, id_, type_, statement, because, now)


def _departures(
    schedule: Schedule, id_: ObjectId, selected: frozenset[str], chosen: Scheduled | None
) -> Iterator[Decision]:
    """Decide for every cluster no longer chosen why it left."""
    for name in sorted(clusters_of(schedule.previous.get(id_, ())) - selected):
        reason = removal_of(schedule.candidates, name) if chosen is None else reason_of(chosen, name)
        yield Decision(id_, left_path(name), None, Because(f"placements#{reason.rule}", OF_SPEC, reason.text))


STAGE = Wide("placements", stage, derives=(((PLACEMENT, PLACEMENT_DECISION), (METADATA, STATUS)),))
