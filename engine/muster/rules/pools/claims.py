"""Claims: their links to clusters, their conditions and lifetime, and what their end does to the cluster.

Source: upstream's clusterclaim controller. It uses links as they were before this pass; a claim assigned now is claimed
in the next one. A claim ends when a person removes its file or marks it for deletion, or when its lifetime is over;
muster cannot remove a person's file, so it keeps the deletion of an expired claim on record.

Half-made links are completed, then the oldest claim gets the oldest cluster (upstream's collections). A claim and a
cluster that contradict each other are left out of the pass: nothing is assigned, created or deleted for them.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from muster.data.times import format_duration, later, try_duration
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.rules.pools.buckets import Buckets
from muster.rules.pools.conditions import PoolCondition
from muster.rules.pools.model import RUNNING, Claim, Cluster, Pool, instant, is_deprovisioned
from muster.rules.pools.rules import Rules
from muster.rules.pools.survey import Survey


@dataclass(frozen=True, slots=True)
class ClaimLinks:
    """The links of a pass. `to_claim` and `to_cluster`: pairs whose claim, or whose cluster, must be changed;
    `waiting`: claims without a cluster, oldest first; `assignable`: the rest of that bucket."""

    to_claim: tuple[tuple[Claim, Cluster], ...]
    to_cluster: tuple[tuple[Claim, Cluster], ...]
    waiting: tuple[Claim, ...]
    assignable: tuple[Cluster, ...]


def repair(buckets: Buckets, claims: Iterable[Claim], rules: Rules) -> ClaimLinks:
    """Complete links that one side already has; `waiting` are the claims without any."""
    by_name = {cluster.name: cluster for cluster in sorted(buckets, key=lambda c: c.age_key)}
    claims = tuple(claims)
    by_claim_name = {claim.name: claim for claim in claims}
    holders = {cluster.claim: cluster for cluster in by_name.values() if cluster.claim}
    assignable = {cluster.name: cluster for cluster in buckets.assignable}
    to_claim: list[tuple[Claim, Cluster]] = []
    to_cluster: list[tuple[Claim, Cluster]] = []
    linked: set[str] = set()
    for name, holder in sorted(holders.items()):
        claim = by_claim_name.get(name)
        if claim is None or claim.frozen or holder.frozen:
            continue
        if not (claim.cluster or rules.links_leaving_clusters) and (holder.deleting or holder.marked):
            continue
        linked.add(name)
        if not claim.cluster:
            to_claim.append((claim, holder))
    for claim in claims:
        if not claim.cluster or claim.name in linked:
            continue
        linked.add(claim.name)
        cluster = by_name.get(claim.cluster)
        if cluster is None or claim.frozen:
            continue
        if cluster.claim:
            assignable.pop(cluster.name, None)
        elif assignable.pop(cluster.name, None) is not None:
            to_cluster.append((claim, cluster))
    waiting = tuple(claim for claim in claims if claim.name not in linked and not claim.frozen)
    return ClaimLinks(tuple(to_claim), tuple(to_cluster), waiting, tuple(assignable.values()))


def assign(links: ClaimLinks, stale: Iterable[Cluster], rules: Rules) -> ClaimLinks:
    """Give the oldest waiting claims the oldest assignable clusters."""
    unfit = frozenset() if rules.assigns_stale else frozenset(cluster.name for cluster in stale)
    claims = [claim for claim in links.waiting if rules.serves_deleting_claims or not claim.deleting]
    fit = [cluster for cluster in links.assignable if cluster.name not in unfit]
    pairs = tuple(zip(claims, fit, strict=False))
    taken = {cluster.name for _, cluster in pairs}
    return ClaimLinks(
        to_claim=links.to_claim + pairs,
        to_cluster=links.to_cluster + pairs,
        waiting=tuple(claims[len(pairs) :]),
        assignable=tuple(cluster for cluster in links.assignable if cluster.name not in taken),
    )


PENDING, CLUSTER_RUNNING = "Pending", "ClusterRunning"
NO_CLUSTERS = PoolCondition(PENDING, "True", "NoClusters", "No clusters in pool are ready to be claimed")
ASSIGNED = PoolCondition(PENDING, "True", "ClusterAssigned", "Cluster assigned to ClusterClaim, awaiting claim")
_CLAIMED = PoolCondition(PENDING, "False", "ClusterClaimed", "Cluster claimed")
_CONFLICT = PoolCondition(PENDING, "True", "AssignmentConflict", "Assigned cluster was claimed by another ClusterClaim")
_IS_RUNNING = PoolCondition(CLUSTER_RUNNING, "True", "Running", "Cluster is running")
_RESUMING = PoolCondition(CLUSTER_RUNNING, "False", "Resuming", "Waiting for cluster to be running")
_DELETING = PoolCondition(CLUSTER_RUNNING, "False", "ClusterDeleting", "Assigned cluster has been marked for deletion")
_DELETED = PoolCondition(CLUSTER_RUNNING, "False", "ClusterDeleted", "Assigned cluster has been deleted")


@dataclass(frozen=True, slots=True)
class ClaimDecision:
    """The decision about a claim. `ends`: it is marked for deletion now. `released`: nothing is left to do, so nothing
    of it is kept. `cleared`: it loses its assignment. `removes`: its cluster is marked for removal. `owns`: the cluster
    is its own, and its subjects may use it."""

    conditions: tuple[PoolCondition, ...] = ()
    lifetime: str | None = None
    ends: bool = False
    released: bool = False
    cleared: bool = False
    removes: Cluster | None = None
    owns: Cluster | None = None
    horizon: datetime | None = None


def decide_claim(
    claim: Claim, view: Survey, pool: Pool | None, conditions: Mapping[str, Tree], now: datetime, rules: Rules
) -> ClaimDecision:
    """Decide about a claim. `conditions`: those of the last run."""
    cluster = view.cluster_called(claim.cluster)
    if claim.deleting:
        return _ended(claim, view.holder_of(claim), conditions)
    if not claim.cluster:
        return ClaimDecision()
    lifetime = _lifetime(claim, pool)
    text = None if lifetime is None else format_duration(lifetime)
    horizon: datetime | None = None
    pending = conditions.get(PENDING, {})
    if lifetime is not None and pending.get("status") == "False":
        since = instant(pending, "lastTransitionTime")
        end = later(since, lifetime) if since is not None else None
        if end is not None and now >= end:
            return ClaimDecision(lifetime=text, ends=True)
        horizon = end
    return _with_cluster(claim, cluster, ClaimDecision(lifetime=text, horizon=horizon), rules)


def _with_cluster(claim: Claim, cluster: Cluster | None, decision: ClaimDecision, rules: Rules) -> ClaimDecision:
    if cluster is None:
        return _with_conditions(decision, _DELETED)
    if cluster.deleting or cluster.marked:
        return _with_conditions(decision, _DELETING)
    if not cluster.claim or cluster.frozen:
        return decision
    if is_deprovisioned(cluster.body):  # without being asked to
        return _with_conditions(decision, _DELETED)
    if cluster.claim != claim.name:
        conditions = (_CONFLICT,) if rules.names_conflicts else ()
        return ClaimDecision(conditions=conditions, lifetime=decision.lifetime, cleared=True, horizon=decision.horizon)
    running = _IS_RUNNING if cluster.power == RUNNING else _RESUMING
    return ClaimDecision(
        conditions=(_CLAIMED, running), lifetime=decision.lifetime, owns=cluster, horizon=decision.horizon
    )


def _with_conditions(decision: ClaimDecision, *conditions: PoolCondition) -> ClaimDecision:
    return ClaimDecision(conditions=conditions, lifetime=decision.lifetime, horizon=decision.horizon)


def _ended(claim: Claim, cluster: Cluster | None, conditions: Mapping[str, Tree]) -> ClaimDecision:
    """A claim ends with its own cluster; without one, nothing is left to do."""
    if cluster is None:
        gone = (_DELETED,) if claim.cluster else ()
        return ClaimDecision(released=True, conditions=gone)
    if cluster.deleting or cluster.marked:
        return ClaimDecision(conditions=(_DELETING,))
    if cluster.frozen:
        return ClaimDecision()  # it ends when its cluster can be read again
    return ClaimDecision(removes=cluster, conditions=(_DELETING,) if conditions.get(CLUSTER_RUNNING) else ())


def _lifetime(claim: Claim, pool: Pool | None) -> timedelta | None:
    """The claim's own lifetime, else the pool's default, at most the pool's maximum."""
    lifetime = try_duration(dig(claim.body, "spec", "lifetime"))
    if pool is None:
        return lifetime
    lifetime = try_duration(dig(pool.spec, "claimLifetime", "default")) if lifetime is None else lifetime
    most = try_duration(dig(pool.spec, "claimLifetime", "maximum"))
    return most if lifetime is None else lifetime if most is None else min(lifetime, most)
