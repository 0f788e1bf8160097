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
    pools_pass = PoolsPass(
        fleet=shared,
        view=view,
        ledger=ledger,
        stock=Stock.of(shared, now),
        dependencies=Dependencies.of(shared, in_force.settings),
        allowance=allowance,
        taken=set(view.names),
        owners={},
        now=now,
        rules=rules,
    )
    pools = {pool.key: pool for pool in view.pools}
    for cluster in view.clusters.values():
        if not cluster.frozen and cluster.id not in unsound.faulty:
            ledger.take(statements[cluster.id])
    _carry(pools_pass)
    for pool in view.pools:
        yield from pass_over(pools_pass, pool)  # the pipeline handles a fault here: all pools share the ledger
    yield from _claims(pools_pass, pools)
    yield from _orphans(pools_pass, pools)
    yield from _protected(pools_pass, pools)
    _record(pools_pass)
    for decision in pools_pass.stock.decisions():
        ledger.add(decision)
    yield from ledger.outcomes(shared, now)


def _read_dependencies(shared: Shared, pool: Object) -> Iterator[Outcome]:
    """Decide nothing, but that the pool stays as it is if it depends on something unread: all pools share the pass."""
    read_dependencies(shared, pool)
    yield from ()


def _carry(pools_pass: PoolsPass) -> None:
    for claim in pools_pass.view.claims.values():
        if not claim.frozen:
            fields = carried(pools_pass.fleet.previous.get(claim.id))
            if pools_pass.rules.stamps_creation and dig(claim.body, "metadata", "creationTimestamp") is None:
                fields["metadata", "creationTimestamp"] = format_time(pools_pass.now)
            if (created := _creation(pools_pass, claim)) is not None:
                fields[CREATED] = created
            for path, value in fields.items():
                pools_pass.ledger.set(claim.id, path, value, of_claim(path, value))


def _creation(pools_pass: PoolsPass, claim: Claim) -> str | None:
    """When the claim's file says that it was created; an edit makes it no older."""
    written = instant(pools_pass.fleet.objects[claim.id].body, "metadata", "creationTimestamp")
    if written is None:
        return None
    return format_time(max(written, instant(pools_pass.fleet.previous.get(claim.id), *CREATED) or written))


def _claims(pools_pass: PoolsPass, pools: dict[PoolKey, Pool]) -> Iterator[Finding]:
    """Decide about every claim, and mark the clusters of those that ended."""
    for claim in pools_pass.view.claims.values():
        if claim.frozen:
            assigned = CLUSTER_DEPLOYMENT.id(claim.cluster, claim.cluster)
            if owner := pools_pass.fleet.before(assigned, "status", "muster", "owner"):
                pools_pass.owners[claim.cluster] = owner
            continue
        pool = pools.get(claim.pool)
        linked_now = pools_pass.ledger.value(claim.id, ("spec", "namespace")) not in (None, claim.cluster)
        if not linked_now:
            before = pools_pass.fleet.conditions_before(claim.id)
            holder = pools_pass.view.holder_of(claim)
            terms = pools.get(holder.pool) if holder is not None and holder.pool is not None else pool
            _carry_out(
                pools_pass, claim, decide_claim(claim, pools_pass.view, terms, before, pools_pass.now, pools_pass.rules)
            )
            if holder is not None and holder.pool not in (None, claim.pool):
                yield conditions.keeps_its_cluster(claim, holder, pools_pass.fleet.objects[claim.id])
        if pool is None and not pools_pass.fleet.uncertain(CLUSTER_POOL):
            yield conditions.unknown_pool(claim, pools_pass.fleet.objects[claim.id])
    lost = {(id_.namespace, id_.name): id_ for id_ in pools_pass.view.lost_claims}
    for id_ in pools_pass.view.lost_claims & pools_pass.fleet.objects.keys():
        pools_pass.ledger.wake(id_, CREATED, _CLAIMS, pools_pass.now)  # the next pass takes up the new claim
    for cluster in pools_pass.view.clusters.values():
        claim_id = lost.get((cluster.pool.namespace, cluster.claim)) if cluster.pool is not None else None
        if claim_id is None or cluster.marked or cluster.deleting:
            continue
        if cluster.frozen:
            _await_report(pools_pass, claim_id)
        else:
            _mark(pools_pass, cluster)


def _await_report(pools_pass: PoolsPass, claim: ObjectId) -> None:
    """A claim without a file stays on record while its cluster may not be changed, so that the cluster is released
    later."""
    before = pools_pass.fleet.previous[claim]
    pools_pass.ledger.set_all(claim, carried(before), AWAITED)
    for type_, condition in pools_pass.fleet.conditions_before(claim).items():
        pools_pass.ledger.add(unchanged_condition(claim, type_, condition, AWAITED))
    for path in (("status", "lifetime"), CREATED):
        if (value := dig(before, *path)) is not None:
            pools_pass.ledger.set(claim, path, value, AWAITED)


def _carry_out(pools_pass: PoolsPass, claim: Claim, decision: ClaimDecision) -> None:
    ledger, before = pools_pass.ledger, pools_pass.fleet.conditions_before(claim.id)
    if decision.released and dig(pools_pass.fleet.objects[claim.id].body, "metadata", "deletionTimestamp") is not None:
        ledger.forget(claim.id)
        return
    if decision.ends:
        ledger.set(claim.id, ("metadata", "deletionTimestamp"), format_time(pools_pass.now), _CLAIMS)
    if decision.cleared:
        ledger.set(claim.id, ("spec", "namespace"), None, _CLAIMS)
    unread = pools_pass.fleet.is_unread(CLUSTER_POOL.id(claim.pool.name, claim.pool.namespace))
    before_it = pools_pass.fleet.before(claim.id, "status", "lifetime")
    # A live hub writes `8h0m0s`: another form of the duration is no change.
    same_lifetime = decision.lifetime is not None and try_duration(before_it) == try_duration(decision.lifetime)
    lifetime = before_it if claim.deleting or unread or same_lifetime else decision.lifetime
    if lifetime is not None:
        ledger.set(claim.id, ("status", "lifetime"), lifetime, _CLAIMS)
    for statement in decision.conditions:
        ledger.add(
            condition_decision(pools_pass.fleet, claim.id, statement.type, statement[1:], _CLAIMS, pools_pass.now)
        )
    for type_ in (PENDING, CLUSTER_RUNNING):
        if type_ in before and ledger.value(claim.id, ("status", "conditions", (type_,))) is None:
            ledger.add(unchanged_condition(claim.id, type_, before[type_], of_condition(before[type_])))
    ledger.wake(claim.id, ("metadata", "deletionTimestamp"), _CLAIMS, decision.horizon)
    if decision.removes is not None:
        _mark(pools_pass, decision.removes)
    if decision.owns is not None and (subjects := mappings_at(claim.body, "spec", "subjects")):
        pools_pass.owners[decision.owns.name] = {"role": OWNER_ROLE, "subjects": subjects}


def _mark(pools_pass: PoolsPass, cluster: Cluster) -> None:
    """Ask the pool to delete a cluster, within its limits."""
    path = ("metadata", "annotations")
    annotations = {**mapping_at(pools_pass.ledger.value(cluster.id, path)), REMOVE: "true"}
    pools_pass.ledger.set(cluster.id, path, dict(sorted(annotations.items())), _CLAIMS)


def _orphans(pools_pass: PoolsPass, pools: dict[PoolKey, Pool]) -> Iterator[Finding | Held]:
    """Clusters without a pool stay; those marked for removal are deleted here."""
    consent = DeletionApprovals(pools_pass.fleet, pools_pass.allowance)
    for key, members in sorted(pools_pass.view.of_pool.items()):
        if key in pools or pools_pass.fleet.is_unread(CLUSTER_POOL.id(key.name, key.namespace)):
            continue
        for cluster in members:
            if cluster.marked and not cluster.deleting and cluster.deletable and consent.approved(cluster):
                stamp = format_time(pools_pass.now)
                pools_pass.ledger.set(cluster.id, ("metadata", "deletionTimestamp"), stamp, _ORPHANED)
                consent.waits.pop(cluster.id, None)
        remaining = sorted(cluster.name for cluster in members if not cluster.deleting)
        if remaining:
            objects = (pools_pass.fleet.objects.get(cluster.id) for cluster in members)
            yield conditions.orphaned(key, remaining, next((obj for obj in objects if obj is not None), None))
    yield from consent.held()


def _protected(pools_pass: PoolsPass, pools: dict[PoolKey, Pool]) -> Iterator[Finding]:
    """Protected clusters that should be deleted stay, and use their place in the pool."""
    for cluster in pools_pass.view.clusters.values():
        if not cluster.protected or cluster.pool is None or cluster.deleting or cluster.frozen:
            continue
        broken = pools_pass.decided(cluster.id).get("Broken", {}).get("status") == "True"
        pool = pools.get(cluster.pool)
        if cluster.marked or broken or (pool is not None and pool.deleting and not cluster.claim):
            yield conditions.protected(cluster, pools_pass.fleet.objects.get(cluster.id))


def _record(pools_pass: PoolsPass) -> None:
    """Record each cluster's state for the next run, and its owner."""
    clusters = pools_pass.view.clusters
    for id_, entries in tuple(pools_pass.ledger.entries.items()):
        if not CLUSTER_DEPLOYMENT.has(id_):
            continue
        cluster = clusters.get(id_)
        if cluster is not None and cluster.pool is None:
            continue
        record: Tree = {}
        if cluster is not None:
            record["bucket"] = shown_bucket(cluster, pools_pass.decided(id_)).value
        power = entries.get(("spec", "powerState"))
        changed = cluster is None or (power is not None and (power.value or "") != cluster.wanted)
        record[ASKED] = format_time(
            pools_pass.now
            if changed or cluster is None
            else power_requested_since(pools_pass.fleet, cluster, pools_pass.now)
        )
        if cluster is not None and (id_ in pools_pass.fleet.objects or _was_reported(pools_pass.fleet, cluster)):
            record["reported"] = True
        if id_.name in pools_pass.owners:
            record["owner"] = pools_pass.owners[id_.name]
        pools_pass.ledger.set_all(id_, {("status", "muster", name): value for name, value in record.items()}, NOTED)


def _was_reported(fleet: View, cluster: Cluster) -> bool:
    return fleet.before(cluster.id, "status", "muster", "reported") is True


STAGE = Wide(
    "pools",
    stage,
    derives=(
        ((CLUSTER_POOL, CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, CLUSTER_DEPLOYMENT_CUSTOMIZATION), (METADATA, SPEC, STATUS)),
    ),
)
