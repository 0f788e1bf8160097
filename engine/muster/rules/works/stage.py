"""ManifestWorkReplicaSets: a wide stage decides each set and orders works; a local one carries the orders out.

A set reads summaries: the state of each of its works, and the decisions of its placements. A work belongs to its
cluster's neighbourhood. So orders are terms, and a run that has not looked at an ordered cluster looks at it next
(`muster.run.parts.affected`).
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Final

from muster.data.decision import OF_ITSELF, Because, Decision, Held, Input
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, MANIFEST_WORK, MANIFEST_WORK_REPLICA_SET, PLACEMENT, of_kinds
from muster.data.times import format_time
from muster.data.tree import mappings_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import SPEC_DIGEST, Object
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import ROLLOUT_EFFECT, Approvals
from muster.rules.generations import spec_digest
from muster.rules.placements.scheduling import placements_of
from muster.rules.placements.shards import clusters_of, decided_shards
from muster.rules.policies.in_force import InForce
from muster.rules.progress.absent import absent_clusters
from muster.rules.progress.states import Progress, is_silent
from muster.rules.progress.step import TO_APPLY, ClusterStatus
from muster.rules.stages import METADATA, SPEC, STATUS, Local, ObjectTerm, StepRecord, Wide
from muster.rules.transitions import condition_decision, unchanged_condition
from muster.rules.works import messages
from muster.rules.works.messages import GROUPS
from muster.rules.works.sets import (
    APPLIED,
    DecidedPlacement,
    SetResult,
    WorkOrder,
    decide_set,
)
from muster.rules.works.states import state_decision, work_body
from muster.rules.works.table import SetTable
from muster.rules.works.work import (
    BOOK,
    OWNER,
    PLACEMENT_NAME,
    ROLLOUT,
    Work,
    because_of,
    book,
    is_valid_owner,
    owner_label,
    works_by_owner,
)

_ROLLOUT: Final = (*BOOK, ROLLOUT)
_PLACED: Final = Because("works", (Input(("spec", "placementRefs")),), "how far its works are")
_KEPT: Final = Because("kept", OF_ITSELF, "nothing can be decided about the set, so it keeps its last status")
_GONE: Final = Because("works", OF_ITSELF, "no placement of its set chooses the cluster, or the set is gone")


@dataclass(frozen=True, slots=True)
class WorkOrders(ObjectTerm):
    """What is to become of a cluster's works."""

    orders: tuple[WorkOrder, ...]


def decide_sets(
    shared: Shared, now: datetime, rules: InForce, allowance: Allowance
) -> Iterator[Decision | Held | Finding | StepRecord | WorkOrders]:
    """Decide every set, and order its works."""
    works = works_by_owner(shared)
    sets = shared.of(MANIFEST_WORK_REPLICA_SET)
    orders: list[WorkOrder] = []
    if shared.steps is None:
        placements = _placements(shared, rules) if sets else {}
        tables = {}
        for obj in sets:
            set_works = works.get(owner_label(obj.id), {})
            tables[obj.id] = SetTable(set_works, placements, _absent(shared, rules, obj, set_works, placements))
    else:
        tables = {
            id_: SetTable.unpacked(shared.steps[id_]) for id_ in of_kinds(shared.steps, MANIFEST_WORK_REPLICA_SET)
        }
        clusters = {
            *(obj.id.name for obj in shared.of(MANAGED_CLUSTER)),
            *(c for by_cluster in works.values() for c in by_cluster),
        }
        for id_, table in tables.items():
            table.updated(clusters, works.get(owner_label(id_), {}))
    included = (obj for obj in sets if obj.id in tables)
    approvals = allowance.approvals
    yield from each(included, lambda obj: _set(shared, tables[obj.id], approvals, orders, now, obj))
    owners = {owner_label(id_) for id_ in of_kinds(shared.objects, MANIFEST_WORK_REPLICA_SET)}
    if shared.steps is None and not shared.uncertain(MANIFEST_WORK_REPLICA_SET):
        gone = (by_owner_cluster for owner, by_owner_cluster in works.items() if owner not in owners)
        orders += [WorkOrder(work.id, None) for by_cluster in gone for work in _all_works(by_cluster)]
    by_cluster = grouped((order.id.namespace, order) for order in orders)
    for cluster, cluster_orders in by_cluster.items():
        yield WorkOrders(MANAGED_CLUSTER.id(cluster), tuple(sorted(cluster_orders, key=lambda order: order.id)))


def _absent(
    shared: Shared,
    rules: InForce,
    obj: Object,
    works: Mapping[str, list[Work]],
    placements: Mapping[ObjectId, DecidedPlacement],
) -> frozenset[str]:
    """The clusters with a work that a placement of the set dropped because they are not available."""
    ids = {PLACEMENT.id(str(ref["name"]), obj.id.namespace) for ref in mappings_at(obj.spec, "placementRefs")}
    chosen = frozenset[str]().union(*(clusters_of(placements[id_].shards) for id_ in ids & placements.keys()))
    absent = frozenset[str]()
    for id_ in ids:
        names = [
            name for name, cluster_works in works.items() if cluster_works[0].labels.get(PLACEMENT_NAME) == id_.name
        ]
        absent |= absent_clusters(shared, rules, id_, frozenset(names) - chosen)
    return absent


def _placements(shared: Shared, rules: InForce) -> Mapping[ObjectId, DecidedPlacement]:
    """The Placements that exist, also those that cannot be read now: they keep their decisions."""
    decided, compiled = decided_shards(shared), placements_of(rules)
    existing = {*of_kinds(shared.objects, PLACEMENT), *(id_ for id_ in decided if shared.uncertain(PLACEMENT))}
    placements = {}
    for id_ in existing:
        shards = decided.get(id_, ())
        spec = compiled[id_].spec if id_ in compiled else None
        length = spec.group_length(len(clusters_of(shards))) if spec is not None else None
        placements[id_] = DecidedPlacement(shards, length)
    return placements


def _set(
    shared: Shared, table: SetTable, approvals: Approvals, orders: list[WorkOrder], now: datetime, obj: Object
) -> Iterator[Decision | Held | Finding | StepRecord]:
    if obj.deleting:
        orders += [WorkOrder(work.id, None) for work in _all_works(table.works)]
        yield from _status_before(shared, obj.id)
    elif not is_valid_owner(owner_label(obj.id)):
        yield from _status_before(shared, obj.id)
        statement = ("False", "InvalidManifestWorkName", messages.invalid_owner(owner_label(obj.id)))
        yield condition_decision(shared, obj.id, APPLIED, statement, _PLACED, now)
    else:
        status_of_new = partial(_status_of_new, shared, now)
        freezing = partial(approvals.frozen_starts, shared, obj.id)
        before = shared.before(obj.id, *_ROLLOUT)
        result = decide_set(obj, table.works, table.placements, status_of_new, now, freezing, before, table.absent)
        yield from _results(shared, obj, result, now)
        yield from result.held
        orders += result.orders
        # A freeze selects clusters by their labels, which a record does not have.
        if result.placed and not result.errors and not approvals.freezes_on(ROLLOUT_EFFECT):
            named = {PLACEMENT.id(str(ref["name"]), obj.id.namespace) for ref in mappings_at(obj.spec, "placementRefs")}
            table.placements = {id_: table.placements[id_] for id_ in sorted(named)}
            yield StepRecord(obj.id, table.packed(result.orders, status_of_new))


def _status_of_new(shared: Shared, now: datetime, cluster: str) -> ClusterStatus:
    """How a cluster is doing that gets the template now."""
    silent = is_silent(shared, MANAGED_CLUSTER.id(cluster))
    return ClusterStatus(cluster, TO_APPLY, now, silent_after=now if silent else None)


def _results(shared: Shared, obj: Object, result: SetResult, now: datetime) -> Iterator[Decision | Finding]:
    if not result.placed:
        yield from _status_before(shared, obj.id)
    for name, value in result.status.items():
        yield Decision(obj.id, ("status", name), value, _PLACED)
    for type_, statement in result.conditions.items():
        yield condition_decision(shared, obj.id, type_, statement, _PLACED, now, result.horizon)
    if result.rollout is not None:
        yield Decision(obj.id, _ROLLOUT, result.rollout, _PLACED, result.horizon)
    if result.repeated:
        yield messages.chosen_twice(obj, result.repeated)
    for number, error in result.errors.items():
        if error.path[:1] == (GROUPS,):  # a check finds all else
            yield from messages.missing_group(obj, number, error, shared.objects)


def _status_before(shared: Shared, id_: ObjectId) -> Iterator[Decision]:
    """The status that the last run derived."""
    for name in ("summary", "placementSummary"):
        if (value := shared.before(id_, "status", name)) is not None:
            yield Decision(id_, ("status", name), value, _KEPT)
    for type_, before in shared.conditions_before(id_).items():
        yield unchanged_condition(id_, type_, before, _KEPT)
    if (before := shared.before(id_, *_ROLLOUT)) is not None:
        yield Decision(id_, _ROLLOUT, before, _KEPT)


def _all_works(by_cluster: Mapping[str, list[Work]]) -> Iterator[Work]:
    return (work for works in by_cluster.values() for work in works)


def carry_out(view: View, now: datetime, ordered: Mapping[ObjectId, WorkOrders]) -> Iterator[Decision | Finding]:
    """Carry out the orders about works of the clusters that this run looks at."""
    namespaces = (
        {id_.namespace or id_.name for ids in (view.objects, view.previous) for id_ in ids} if ordered else set()
    )
    for id_ in sorted(map(MANAGED_CLUSTER.id, namespaces)):
        for order in ordered[id_].orders if id_ in ordered else ():
            yield from _order(view, order, now)


def _order(view: View, order: WorkOrder, now: datetime) -> Iterator[Decision]:
    decided = view.decisions(order.id)
    if order.labels is None:
        for path in decided:
            yield Decision(order.id, path, None, _GONE)
        return
    because = because_of(order.labels[OWNER])
    yield Decision(order.id, ("metadata", "labels"), dict(order.labels), because)
    if order.spec is None:
        return
    yield Decision(order.id, ("metadata", "annotations"), {SPEC_DIGEST: spec_digest(order.spec)}, because)
    generation = _generation(view, order.id)
    yield Decision(order.id, ("metadata", "generation"), generation, because)
    for path in decided:
        if path[0] == "spec" and path[1] not in order.spec:
            yield Decision(order.id, path, None, because)
    for name, value in order.spec.items():
        yield Decision(order.id, ("spec", name), value, because)
    written = book(Progress(TO_APPLY, now), (), format_time(now))
    yield state_decision(view, order.id, work_body(generation, order.spec, written), now)


def _generation(view: View, id_: ObjectId) -> int:
    """One more than the last; past what the agent reports of an earlier work with this name."""
    last = view.before(id_, "metadata", "generation")
    obj = view.objects.get(id_)
    reported = (
        entry.get("observedGeneration") for entry in mappings_at(obj.body if obj else None, "status", "conditions")
    )
    return 1 + max(value for value in (0, last, *reported) if isinstance(value, int))


SETS: Final = Wide(
    "work sets", decide_sets, derives=(((MANIFEST_WORK_REPLICA_SET,), (STATUS,)),), steps=MANIFEST_WORK_REPLICA_SET
)
STAGE: Final = Local("work orders", carry_out, derives=(((MANIFEST_WORK,), (METADATA, SPEC, STATUS)),))
