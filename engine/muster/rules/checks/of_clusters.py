"""References of a cluster's own objects: to its set, and to the cluster in whose namespace they are.

They are checked whenever the cluster is, without what it shares with others. So the pre-commit hook imports this
module, and `muster.rules.checks.references` only if more changes.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADAPTER_REPORT,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADD_ON,
    MANAGED_CLUSTER_SET,
    NODE_POOL,
    is_cluster,
    of_kinds,
)
from muster.data.names import did_you_mean, slip_of
from muster.data.tree import At, dig
from muster.fleet.agent_refs import accepted_by_ref
from muster.fleet.clusters import BUILT_IN, CLUSTER_SET
from muster.fleet.fleet import Fleet
from muster.fleet.leases import CLUSTER_NAME, LEASE_NAME
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.fleet.shared import SET


def references_of_clusters(fleet: Fleet) -> Iterator[Finding]:
    """Yield a warning for each ManagedCluster with an unknown set, for objects in the namespace of a cluster that does
    not exist, and for Leases whose label names another cluster. What has an error exists."""
    sets = known_sets(fleet)
    for obj in fleet.of(MANAGED_CLUSTER):
        if obj.written:
            yield from named(obj, ("metadata", "labels", CLUSTER_SET), "ManagedClusterSet", sets)
    names = frozenset(id_.name for id_ in _clusters(fleet)) | fleet.beyond.clusters
    broken = {id_.name for id_ in fleet.broken if is_cluster(id_)}
    for obj in orphans(fleet):
        if not slip_of(obj.id.namespace, broken):  # else the error is in the cluster's name
            yield from named(obj, ("metadata", "namespace"), "the cluster", names, Code.UNKNOWN_REFERENCE)
    for obj in fleet.of(LEASE):
        label = obj.labels.get(CLUSTER_NAME)
        if obj.written and obj.id.name == LEASE_NAME and label not in (None, obj.id.namespace):
            message = f"{obj.id} counts for cluster {label!r}, which its label names, not for that of its namespace"
            hint = f"is this a copy? Set the label to {obj.id.namespace}, or remove it"
            yield finding_at(obj, ("metadata", "labels", CLUSTER_NAME), Code.UNKNOWN_REFERENCE, message, hint)


def orphans(fleet: Fleet) -> Iterator[Object]:
    """Yield what people wrote for a cluster that does not exist here: what `beyond` it is does not count."""
    names = {id_.name for id_ in _clusters(fleet)}
    for obj in fleet.of(LEASE, NODE_POOL, ADAPTER_REPORT, MANAGED_CLUSTER_ADD_ON):
        of_lease = obj.kind is not LEASE or obj.id.name == LEASE_NAME
        if of_lease and obj.id.namespace and obj.id.namespace not in names and obj.written:
            yield obj


def _clusters(fleet: Fleet) -> Iterator[ObjectId]:
    """The clusters, with an error or not, and those that only their agents declare, whose refs may not be read."""
    return chain(filter(is_cluster, chain(fleet.objects, fleet.broken)), accepted_by_ref(fleet))


def known_sets(fleet: Fleet) -> frozenset[str]:
    """The names of all sets, with an error or not, and of those beyond."""
    sets = of_kinds({*fleet.objects, *fleet.broken}, MANAGED_CLUSTER_SET)
    beyond = (name.removeprefix(SET) for name in fleet.beyond.names if name.startswith(SET))
    return frozenset((*BUILT_IN, *(id_.name for id_ in sets), *beyond))


def named(
    obj: Object, at: At, kind: str, names: Iterable[str], code: Code = Code.UNKNOWN_SET_OR_POOL
) -> Iterator[Finding]:
    """Yield a warning if the object has a name at a path that is not among `names`."""
    name = dig(obj.body, *map(str, at))
    if isinstance(name, str) and name and name not in names:
        message = f"{obj.id} names {kind} {name!r}, which does not exist"
        yield finding_at(obj, at, code, message, did_you_mean(name, names))
