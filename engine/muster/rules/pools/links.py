"""Claims and clusters: links that are half made are completed, then the oldest claim gets the oldest cluster.

Source: upstream's collections. Where claim and cluster contradict each
other both are left out of this pass: nothing is assigned, demanded or deleted on their account.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from muster.rules.pools.buckets import Buckets
from muster.rules.pools.model import Claim, Cluster
from muster.rules.pools.rules import Rules


@dataclass(frozen=True, slots=True)
class Links:
    """What a pass links. `to_claim` and `to_cluster` are the pairs whose claim, or whose cluster, has to be told;
    `waiting` are the claims that stay without a cluster, oldest first; `assignable` what is left of that bucket."""

    to_claim: tuple[tuple[Claim, Cluster], ...]
    to_cluster: tuple[tuple[Claim, Cluster], ...]
    waiting: tuple[Claim, ...]
    assignable: tuple[Cluster, ...]


def repair(buckets: Buckets, claims: Iterable[Claim], rules: Rules) -> Links:
    """Complete the links that one side already has; `waiting` are then the claims without any."""
    by_name = {cluster.name: cluster for cluster in sorted(buckets, key=lambda c: c.age_key)}
    claims = tuple(claims)
    known = {claim.name: claim for claim in claims}
    holders = {cluster.claim: cluster for cluster in by_name.values() if cluster.claim}
    assignable = {cluster.name: cluster for cluster in buckets.assignable}
    to_claim: list[tuple[Claim, Cluster]] = []
    to_cluster: list[tuple[Claim, Cluster]] = []
    linked: set[str] = set()
    for name, holder in sorted(holders.items()):
        claim = known.get(name)
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
    return Links(tuple(to_claim), tuple(to_cluster), waiting, tuple(assignable.values()))


def assign(links: Links, stale: Iterable[Cluster], rules: Rules) -> Links:
    """Give the oldest waiting claims the oldest assignable clusters."""
    unfit = frozenset() if rules.assigns_stale else frozenset(cluster.name for cluster in stale)
    claims = [claim for claim in links.waiting if rules.serves_deleting_claims or not claim.deleting]
    fit = [cluster for cluster in links.assignable if cluster.name not in unfit]
    pairs = tuple(zip(claims, fit, strict=False))
    taken = {cluster.name for _, cluster in pairs}
    return Links(
        to_claim=links.to_claim + pairs,
        to_cluster=links.to_cluster + pairs,
        waiting=tuple(claims[len(pairs) :]),
        assignable=tuple(cluster for cluster in links.assignable if cluster.name not in taken),
    )
