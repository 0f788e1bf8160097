"""Messages of the pools stage."""

from datetime import datetime

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.findings import finding
from muster.data.source import Place
from muster.data.times import format_time
from muster.fleet.objects import Object
from muster.fleet.places import finding_at, place_of
from muster.rules.pools.model import PROTECTED, Claim, Cluster, PoolKey


def backing_off(failures: int, due: datetime | None) -> str:
    """A replacement is broken too."""
    count = "a replacement" if failures == 0 else f"{failures + 1} replacements in a row"
    return f"{count} broke as well; the next one is made at {'some time' if due is None else format_time(due)}"


def hibernation_unsupported(obj: Object, running: int, size: int) -> Finding:
    """A pool wants hibernating clusters on a platform that does not support it."""
    return finding_at(
        obj,
        ("spec", "runningCount"),
        Code.CANNOT_HIBERNATE,
        f"{obj.id} keeps {running} of {size} clusters running. Hibernation is not supported on Openstack and VSphere. "
        "Must set runningCount==size.",
        f"Set runningCount to {size}.",
    )


def orphaned(key: PoolKey, names: list[str], some: Object | None) -> Finding:
    """Clusters whose pool is gone."""
    listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    place = some.parts[0].place if some is not None else Place("")
    return finding(
        Code.CLUSTERS_WITHOUT_POOL,
        f"ClusterPool/{key.namespace}/{key.name} does not exist, but {len(names)} of its clusters do: {listed}",
        place,
        hint="To wind a pool down, set its metadata.deletionTimestamp and remove the file when its clusters are gone.",
    )


def protected(cluster: Cluster, obj: Object | None) -> Finding:
    """A cluster that would be deleted if it were not protected."""
    return finding(
        Code.CLUSTER_PROTECTED,
        f"{cluster.id} is to be deleted and stays: it is protected",
        Place("") if obj is None else place_of(obj.parts, ("metadata", "annotations", PROTECTED)),
        hint=f"Remove the annotation {PROTECTED}, or set it to false, to let it go.",
        object_=cluster.id,
    )


def keeps_its_cluster(claim: Claim, cluster: Cluster, obj: Object) -> Finding:
    """A claim names another pool than its cluster's."""
    pool = cluster.pool.name if cluster.pool is not None else ""
    return finding(
        Code.CLAIM_MOVED_POOL,
        f"{claim.id} has {cluster.name} of ClusterPool {pool!r} and keeps it, though it now names {claim.pool.name!r}",
        place_of(obj.parts, ("spec", "clusterPoolName")),
        hint=f"Make a claim of another name to get a cluster of {claim.pool.name!r}, or name {pool!r} again.",
        object_=claim.id,
    )


def unknown_pool(claim: Claim, obj: Object) -> Finding:
    """A claim on a missing pool."""
    return finding(
        Code.UNKNOWN_REFERENCE,
        f"{claim.id} claims from ClusterPool {claim.pool.name!r}, and namespace {claim.pool.namespace!r} has none such",
        place_of(obj.parts, ("spec", "clusterPoolName")),
        hint="A claim lives in the namespace of its pool.",
        object_=claim.id,
    )
