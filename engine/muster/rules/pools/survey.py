"""All pools, claims and clusters, parsed, sorted and joined in linear time."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_CLAIM, CLUSTER_DEPLOYMENT, CLUSTER_POOL, Kind, of_kinds
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.merge import overlay
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.pools.model import (
    FAKE,
    OLDEST,
    Claim,
    Cluster,
    Pool,
    PoolKey,
    annotated,
    instant,
    is_deprovisioned,
    marked_for_removal,
    text,
)
from muster.rules.pools.rules import Rules

#: When a claim was created, as its file says.
CREATED = ("status", "muster", "created")


@dataclass(frozen=True, slots=True)
class Survey:
    """The state before this pass.

    `clusters`: every existing ClusterDeployment; `gone`: those that the provisioner has reported gone since.
    `lost_claims`: claims that were removed, or removed and declared again. `namesakes`: in how many namespaces a pool
    of each name exists.
    """

    pools: tuple[Pool, ...]
    clusters: Mapping[ObjectId, Cluster]
    claims: Mapping[ObjectId, Claim]
    of_pool: Mapping[PoolKey, tuple[Cluster, ...]]
    claims_on: Mapping[PoolKey, tuple[Claim, ...]]
    gone: frozenset[ObjectId]
    lost_claims: frozenset[ObjectId]
    names: frozenset[str]
    namesakes: Mapping[str, int]

    def cluster_called(self, name: str) -> Cluster | None:
        """The cluster in the namespace of its own name, as claims name clusters."""
        return self.clusters.get(CLUSTER_DEPLOYMENT.id(name, name)) if name else None

    def holder_of(self, claim: "Claim") -> Cluster | None:
        """The claim's own cluster, of any pool, or None."""
        cluster = self.cluster_called(claim.cluster)
        if cluster is None or cluster.pool is None or cluster.pool.namespace != claim.id.namespace:
            return None
        return cluster if cluster.claim == claim.name else None


def pools_of(view: View) -> tuple[Pool, ...]:
    """Return the sound pools."""
    return tuple(Pool.of(obj.id, obj.body, deleting=obj.deleting) for obj in view.of(CLUSTER_POOL))


def clusters_of(view: View, now: datetime, rules: Rules) -> Iterator[tuple[ObjectId, Cluster | None]]:
    """Yield every ClusterDeployment; None for one that is gone."""
    missing = _missing(now, rules)
    return ((id_, _cluster(view, id_, missing)) for id_ in _ids(view, CLUSTER_DEPLOYMENT))


def _missing(now: datetime, rules: Rules) -> datetime:
    """The creation time of an object without one."""
    return now if rules.stamps_creation else OLDEST


def survey(view: View, now: datetime, rules: Rules, undeclared: Collection[ObjectId] = ()) -> Survey:
    """Read the fleet; `undeclared` objects have nothing but reports."""
    pools, missing = pools_of(view), _missing(now, rules)
    clusters: dict[ObjectId, Cluster] = {}
    gone: set[ObjectId] = set()
    for id_, cluster in clusters_of(view, now, rules):
        if cluster is None:
            gone.add(id_)
        else:
            clusters[id_] = cluster
    claims = {
        id_: _claim(view, id_, missing)
        for id_ in _ids(view, CLUSTER_CLAIM)
        if _declared(view, id_) and not is_declared_anew(view, id_)
    }
    lost = frozenset(id_ for id_ in _ids(view, CLUSTER_CLAIM) if id_ not in claims)
    of_pool: dict[PoolKey, list[Cluster]] = defaultdict(list)
    for cluster in sorted(clusters.values(), key=lambda c: c.age_key):
        if cluster.pool is not None:
            of_pool[cluster.pool].append(cluster)
    claims_on: dict[PoolKey, list[Claim]] = defaultdict(list)
    for claim in sorted(claims.values(), key=lambda c: c.age_key):
        claims_on[claim.pool].append(claim)
    namesakes: dict[str, int] = defaultdict(int)
    for pool in pools:
        namesakes[pool.id.name] += 1
    return Survey(
        pools=pools,
        clusters=clusters,
        claims=claims,
        of_pool={key: tuple(members) for key, members in of_pool.items()},
        claims_on={key: tuple(waiting) for key, waiting in claims_on.items()},
        gone=frozenset(gone),
        lost_claims=lost,
        # A remaining report about a gone cluster would count for a new one of its name.
        names=frozenset(id_.name for id_ in (*clusters, *undeclared) if id_.kind == CLUSTER_DEPLOYMENT.name),
        namesakes=namesakes,
    )


def _ids(view: View, kind: Kind) -> Iterator[ObjectId]:
    """Every object of a kind in the inputs or the last run's derived parts, sorted."""
    return iter(sorted({*of_kinds(view.objects, kind), *of_kinds(view.previous, kind)}))


def _declared(view: View, id_: ObjectId) -> bool:
    """Does an input declare the object, or may an unreadable file?"""
    return id_ in view.objects or view.is_unread(id_)


def created_before(view: View, id_: ObjectId) -> datetime | None:
    """When a claim of the last run was created, as its file says, or as muster recorded; None if unknown."""
    before = view.previous.get(id_)
    return instant(before, *CREATED) or instant(before, "metadata", "creationTimestamp")


def is_declared_anew(view: View, id_: ObjectId) -> bool:
    """Was the claim of the last run removed, and another one of its name declared, which the pass takes up next?

    Its file says that it is younger than the recorded one. A file that names the assigned cluster declares the same
    claim: a move between hubs gives every object a new creationTimestamp.
    """
    obj, recorded = view.objects.get(id_), created_before(view, id_)
    if obj is None or recorded is None or id_ in view.broken:
        return False
    written, cluster = instant(obj.body, "metadata", "creationTimestamp"), text(obj.body, "spec", "namespace")
    return (
        written is not None
        and written > recorded
        and not (cluster and cluster == view.before(id_, "spec", "namespace"))
    )


def _cluster(view: View, id_: ObjectId, missing: datetime) -> Cluster | None:
    """The view of a cluster; None if it is gone, or only reported."""
    obj, before = view.objects.get(id_), view.previous.get(id_)
    declared = dig(before, "spec", "clusterName") is not None
    frozen = view.is_unread(id_)
    if not frozen and _is_gone(obj, before, declared=declared):
        return None
    reported = obj.body if obj is not None else None
    body = _joined(reported, before, obj)
    pool = PoolKey(text(body, "spec", "clusterPoolRef", "namespace"), text(body, "spec", "clusterPoolRef", "poolName"))
    return Cluster(
        id=id_,
        body=body,
        pool=pool if pool.name else None,
        created=instant(body, "metadata", "creationTimestamp") or missing,
        claim=text(body, "spec", "clusterPoolRef", "claimName"),
        installed=dig(body, "spec", "installed") is True,
        wanted=text(body, "spec", "powerState"),
        power=text(body, "status", "powerState"),
        deleting=dig(body, "metadata", "deletionTimestamp") is not None,
        marked=marked_for_removal(body),
        version=text(body, "metadata", "annotations", "hive.openshift.io/cluster-pool-spec-hash"),
        customization=text(body, "spec", "clusterPoolRef", "clusterDeploymentCustomization", "name"),
        power_requested=_requests_power(obj, before),
        frozen=frozen,
        declared=declared,
    )


def _is_gone(obj: Object | None, before: Tree, *, declared: bool) -> bool:
    """Is the object gone?

    A person's own object is gone with its file. One that muster declares is gone when it was marked for deletion and
    the provisioner either reports it (condition Provisioned, reason Deprovisioned) or has removed its report.
    """
    if not declared:
        return obj is None or dig(obj.body, "spec", "clusterName") is None
    if dig(before, "metadata", "deletionTimestamp") is None:
        return False
    if obj is None:
        return dig(before, "status", "muster", "reported") is True
    return is_deprovisioned(obj.body)


def _joined(reported: Tree, before: Tree, obj: Object | None) -> Tree:
    """Inputs overlaid by muster's metadata and spec. For a fake cluster muster itself decides the status."""
    over = {name: before[name] for name in ("metadata", "spec") if name in before} if before else {}
    if _requests_power(obj, before) and "spec" in over:
        over["spec"] = {name: value for name, value in over["spec"].items() if name != "powerState"}
    if before and (annotated(before, FAKE) or annotated(reported, FAKE)):
        over["status"] = {k: v for k, v in mapping_at(before, "status").items() if k != "muster"}
    if not reported:
        return over
    return overlay(reported, over, obj.kind.list_keys) if over and obj else reported


def _requests_power(obj: Object | None, before: Tree) -> bool:
    """Does a person's power state count? For a cluster without a pool, and one assigned to a claim."""
    if obj is None or not text(obj.body, "spec", "powerState"):
        return False
    references = (dig(before, "spec", "clusterPoolRef"), dig(obj.body, "spec", "clusterPoolRef"))
    return any(text(reference, "claimName") for reference in references) or not any(references)


def _claim(view: View, id_: ObjectId, missing: datetime) -> Claim:
    obj, before = view.objects.get(id_), view.previous.get(id_)
    body = _joined(obj.body if obj else None, before, obj)
    return Claim(
        id=id_,
        body=body,
        pool=PoolKey(id_.namespace, text(body, "spec", "clusterPoolName")),
        created=instant(body, "metadata", "creationTimestamp") or missing,
        cluster=text(body, "spec", "namespace"),
        deleting=dig(body, "metadata", "deletionTimestamp") is not None,
        frozen=id_ in view.broken or obj is None,
    )
