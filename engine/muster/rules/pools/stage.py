"""The pools stage: one pass over all pools, claims and clusters, like one of upstream's controllers.

It starts from the statements about each cluster (`muster.rules.pools.clusters`). Pools come first, then claims, which
use links from before the pass. Manifests of clusters and claims are carried over from the last run, with the pass's
changes. Everything is read once (`survey`) and the cost is linear.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial

from muster.data.decision import OF_SPEC, Because, Held, Input, Outcome
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, CLUSTER_DEPLOYMENT_CUSTOMIZATION, CLUSTER_POOL
from muster.data.times import format_time, try_duration
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.policies.in_force import InForce
from muster.rules.pools import conditions
from muster.rules.pools.buckets import shown_bucket
from muster.rules.pools.claims import CLUSTER_RUNNING, PENDING, ClaimDecision, decide_claim
from muster.rules.pools.clusters import ASKED, power_requested_since
from muster.rules.pools.inventory import Dependencies, Stock, read_dependencies
from muster.rules.pools.ledger import AWAITED, NOTED, ClusterStatement, Ledger, of_claim, of_condition
from muster.rules.pools.manifest import carried
from muster.rules.pools.model import REMOVE, Claim, Cluster, Pool, PoolKey, instant
from muster.rules.pools.pools import PoolsPass, pass_over
from muster.rules.pools.rules import rules_of
from muster.rules.pools.scaling import DeletionApprovals
from muster.rules.pools.survey import CREATED, survey
from muster.rules.stages import METADATA, SPEC, STATUS, UnsoundObjects, Wide
from muster.rules.transitions import condition_decision, unchanged_condition

OWNER_ROLE = "hive-claim-owner"
_ORPHANED = Because("pools", (Input(("spec", "clusterPoolRef")),), "its pool is gone, and it is marked for removal")
_CLAIMS = Because("claims", OF_SPEC, "what becomes of the claim, and of its cluster")


def stage(
    shared: Shared,
    now: datetime,
    in_force: InForce,
    allowance: Allowance,
    unsound: UnsoundObjects,
    statements: Mapping[ObjectId, ClusterStatement],
) -> Iterator[Outcome]:
    """Decide one pass over every pool, claim and cluster."""
    rules = rules_of(in_force.settings)
    view = survey(shared, now, rules, shared.undeclared)
    if not (view.pools or view.clusters or view.claims):
        return
    yield from each(shared.of(CLUSTER_POOL), partial(_read_dependencies, shared))
    ledger = Ledger()
    world = PoolsPass(
        fleet=shared, view=view, ledger=ledger, stock=Stock.of(shared, now),
        dependencies=Dependencies.of(shared, in_force.settings), allowance=allowance,
        taken=set(view.names), owners={}, now=now, rules=rules,
    )  # fmt: skip
    pools = {pool.key: pool for pool in view.pools}
    for cluster in view.clusters.values():
        if not cluster.frozen and cluster.id not in unsound.faulty:
            ledger.take(statements[cluster.id])
    _carry(world)
    for pool in view.pools:
        yield from pass_over(world, pool)  # the pipeline handles a fault here: all pools share the ledger
    yield from _claims(world, pools)
    yield from _orphans(world, pools)
    yield from _protected(world, pools)
    _record(world)
    for decision in world.stock.decisions():
        ledger.add(decision)
    yield from ledger.outcomes(shared, now)


def _read_dependencies(shared: Shared, pool: Object) -> Iterator[Outcome]:
    """Decide nothing, but that the pool stays as it is if it depends on something unread: all pools share the pass."""
    read_dependencies(shared, pool)
    yield from ()


def _carry(world: PoolsPass) -> None:
    for claim in world.view.claims.values():
        if not claim.frozen:
            fields = carried(world.fleet.previous.get(claim.id))
            if world.rules.stamps_creation and dig(claim.body, "metadata", "creationTimestamp") is None:
                fields["metadata", "creationTimestamp"] = format_time(world.now)
            if (created := _creation(world, claim)) is not None:
                fields[CREATED] = created
            for path, value in fields.items():
                world.ledger.set(claim.id, path, value, of_claim(path, value))


def _creation(world: PoolsPass, claim: Claim) -> str | None:
    """When the claim's file says that it was created; an edit makes it no older."""
    written = instant(world.fleet.objects[claim.id].body, "metadata", "creationTimestamp")
    if written is None:
        return None
    return format_time(max(written, instant(world.fleet.previous.get(claim.id), *CREATED) or written))


def _claims(world: PoolsPass, pools: dict[PoolKey, Pool]) -> Iterator[Finding]:
    """Decide about every claim, and mark the clusters of those that ended."""
    for claim in world.view.claims.values():
        if claim.frozen:
            assigned = CLUSTER_DEPLOYMENT.id(claim.cluster, claim.cluster)
            if owner := world.fleet.before(assigned, "status", "muster", "owner"):
                world.owners[claim.cluster] = owner
            continue
        pool = pools.get(claim.pool)
        linked_now = world.ledger.value(claim.id, ("spec", "namespace")) not in (None, claim.cluster)
        if not linked_now:
            before = world.fleet.conditions_before(claim.id)
            holder = world.view.holder_of(claim)
            terms = pools.get(holder.pool) if holder is not None and holder.pool is not None else pool
            _carry_out(world, claim, decide_claim(claim, world.view, terms, before, world.now, world.rules))
            if holder is not None and holder.pool not in (None, claim.pool):
                yield conditions.keeps_its_cluster(claim, holder, world.fleet.objects[claim.id])
        if pool is None and not world.fleet.uncertain(CLUSTER_POOL):
            yield conditions.unknown_pool(claim, world.fleet.objects[claim.id])
    lost = {(id_.namespace, id_.name): id_ for id_ in world.view.lost_claims}
    for id_ in world.view.lost_claims & world.fleet.objects.keys():
        world.ledger.wake(id_, CREATED, _CLAIMS, world.now)  # the next pass takes up the new claim
    for cluster in world.view.clusters.values():
        claim_id = lost.get((cluster.pool.namespace, cluster.claim)) if cluster.pool is not None else None
        if claim_id is None or cluster.marked or cluster.deleting:
            continue
        if cluster.frozen:
            _await_report(world, claim_id)
        else:
            _mark(world, cluster)


def _await_report(world: PoolsPass, claim: ObjectId) -> None:
    """A claim without a file stays on record while its cluster may not be changed, so that the cluster is released
    later."""
    before = world.fleet.previous[claim]
    world.ledger.set_all(claim, carried(before), AWAITED)
    for type_, condition in world.fleet.conditions_before(claim).items():
        world.ledger.add(unchanged_condition(claim, type_, condition, AWAITED))
    for path in (("status", "lifetime"), CREATED):
        if (value := dig(before, *path)) is not None:
            world.ledger.set(claim, path, value, AWAITED)


def _carry_out(world: PoolsPass, claim: Claim, fate: ClaimDecision) -> None:
    ledger, before = world.ledger, world.fleet.conditions_before(claim.id)
    if fate.released and dig(world.fleet.objects[claim.id].body, "metadata", "deletionTimestamp") is not None:
        ledger.forget(claim.id)
        return
    if fate.ends:
        ledger.set(claim.id, ("metadata", "deletionTimestamp"), format_time(world.now), _CLAIMS)
    if fate.cleared:
        ledger.set(claim.id, ("spec", "namespace"), None, _CLAIMS)
    unread = world.fleet.is_unread(CLUSTER_POOL.id(claim.pool.name, claim.pool.namespace))
    before_it = world.fleet.before(claim.id, "status", "lifetime")
    # A live hub writes `8h0m0s`: another form of the duration is no change.
    same = fate.lifetime is not None and try_duration(before_it) == try_duration(fate.lifetime)
    lifetime = before_it if claim.deleting or unread or same else fate.lifetime
    if lifetime is not None:
        ledger.set(claim.id, ("status", "lifetime"), lifetime, _CLAIMS)
    for statement in fate.said:
        ledger.add(condition_decision(world.fleet, claim.id, statement.type, statement[1:], _CLAIMS, world.now))
    for type_ in (PENDING, CLUSTER_RUNNING):
        if type_ in before and ledger.value(claim.id, ("status", "conditions", (type_,))) is None:
            ledger.add(unchanged_condition(claim.id, type_, before[type_], of_condition(before[type_])))
    ledger.wake(claim.id, ("metadata", "deletionTimestamp"), _CLAIMS, fate.horizon)
    if fate.removes is not None:
        _mark(world, fate.removes)
    if fate.owns is not None and (subjects := mappings_at(claim.body, "spec", "subjects")):
        world.owners[fate.owns.name] = {"role": OWNER_ROLE, "subjects": subjects}


def _mark(world: PoolsPass, cluster: Cluster) -> None:
    """Ask the pool to delete a cluster, within its limits."""
    path = ("metadata", "annotations")
    annotations = {**mapping_at(world.ledger.value(cluster.id, path)), REMOVE: "true"}
    world.ledger.set(cluster.id, path, dict(sorted(annotations.items())), _CLAIMS)


def _orphans(world: PoolsPass, pools: dict[PoolKey, Pool]) -> Iterator[Finding | Held]:
    """Clusters without a pool stay; those marked for removal are deleted here."""
    consent = DeletionApprovals(world.fleet, world.allowance)
    for key, members in sorted(world.view.of_pool.items()):
        if key in pools or world.fleet.is_unread(CLUSTER_POOL.id(key.name, key.namespace)):
            continue
        for cluster in members:
            if cluster.marked and not cluster.deleting and cluster.deletable and consent.approved(cluster):
                stamp = format_time(world.now)
                world.ledger.set(cluster.id, ("metadata", "deletionTimestamp"), stamp, _ORPHANED)
                consent.waits.pop(cluster.id, None)
        left = sorted(cluster.name for cluster in members if not cluster.deleting)
        if left:
            known = (world.fleet.objects.get(cluster.id) for cluster in members)
            yield conditions.orphaned(key, left, next((obj for obj in known if obj is not None), None))
    yield from consent.held()


def _protected(world: PoolsPass, pools: dict[PoolKey, Pool]) -> Iterator[Finding]:
    """Protected clusters that should be deleted stay, and use their place in the pool."""
    for cluster in world.view.clusters.values():
        if not cluster.protected or cluster.pool is None or cluster.deleting or cluster.frozen:
            continue
        broken = world.decided(cluster.id).get("Broken", {}).get("status") == "True"
        pool = pools.get(cluster.pool)
        if cluster.marked or broken or (pool is not None and pool.deleting and not cluster.claim):
            yield conditions.protected(cluster, world.fleet.objects.get(cluster.id))


def _record(world: PoolsPass) -> None:
    """Record each cluster's state for the next run, and its owner."""
    known = world.view.clusters
    for id_, entries in tuple(world.ledger.entries.items()):
        if not CLUSTER_DEPLOYMENT.has(id_):
            continue
        cluster = known.get(id_)
        if cluster is not None and cluster.pool is None:
            continue
        record: Tree = {}
        if cluster is not None:
            record["bucket"] = shown_bucket(cluster, world.decided(id_)).value
        asked = entries.get(("spec", "powerState"))
        changed = cluster is None or (asked is not None and (asked.value or "") != cluster.wanted)
        record[ASKED] = format_time(
            world.now if changed or cluster is None else power_requested_since(world.fleet, cluster, world.now)
        )
        if cluster is not None and (id_ in world.fleet.objects or _was_reported(world.fleet, cluster)):
            record["reported"] = True
        if id_.name in world.owners:
            record["owner"] = world.owners[id_.name]
        world.ledger.set_all(id_, {("status", "muster", name): value for name, value in record.items()}, NOTED)


def _was_reported(fleet: View, cluster: Cluster) -> bool:
    return fleet.before(cluster.id, "status", "muster", "reported") is True


STAGE = Wide(
    "pools", stage,
    derives=(
        ((CLUSTER_POOL, CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, CLUSTER_DEPLOYMENT_CUSTOMIZATION), (METADATA, SPEC, STATUS)),
    ),
)  # fmt: skip
