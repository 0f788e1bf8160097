"""Neighbourhoods: the objects of each cluster, so that local stages can decide one cluster without the others.

A cluster's neighbourhood is what is in the namespace of its name and what names it: its Lease and certificate requests
by label, node pools and deployments by `spec.clusterName`, reports by the object that they report on. Other objects
form a neighbourhood by namespace, cluster-scoped ones together; a Rollout or a set of works has one of its own, because
it is decided alone whenever its clusters make progress. Two clusters share a neighbourhood only if one object
belongs to both, such as a report that was edited to report on another.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import CSR, LEASE, MANIFEST_WORK_REPLICA_SET, NODE_POOL, ROLLOUT, TARGETS, is_cluster, kind_of
from muster.data.tree import dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.leases import CLUSTER_NAME, LEASE_NAME, leased_cluster
from muster.fleet.objects import Object
from muster.fleet.reports import stored_reports
from muster.fleet.view import View

#: The kinds that take steps over many clusters, each object by itself.
STEPPING: Final = frozenset((ROLLOUT, MANIFEST_WORK_REPLICA_SET))


def cluster_of(obj: Object) -> str:
    """The cluster of an object: itself, the cluster it names, or its namespace."""
    if is_cluster(obj.id):
        return obj.id.name
    if obj.kind is CSR:
        return str(obj.labels.get(CLUSTER_NAME, ""))
    named = dig(obj.body, "spec", "clusterName")
    return named if isinstance(named, str) else obj.id.namespace


@dataclass(frozen=True, slots=True)
class NeighbourhoodNames:
    """The neighbourhood of each object, and of each name that is used for one. A neighbourhood is called by its first
    name."""

    of: Mapping[ObjectId, str]
    names: Mapping[str, str]


def neighbourhood_names(view: View) -> NeighbourhoodNames:
    """Return the neighbourhoods of a view's objects."""
    by_object = {id_: _neighbourhood(view, id_) for id_ in {*view.objects, *view.previous, *view.broken, *view.decided}}
    first = _merged({*by_object.values()}, _links(view, by_object))
    return NeighbourhoodNames({id_: first[neighbourhood] for id_, neighbourhood in by_object.items()}, first)


def neighbourhoods(view: View) -> Mapping[str, View]:
    """Return the neighbourhoods of a view by name, sorted."""
    members: dict[str, set[ObjectId]] = {}
    for id_, neighbourhood in neighbourhood_names(view).of.items():
        members.setdefault(neighbourhood, set()).add(id_)
    return {name: view.only(ids) for name, ids in sorted(members.items())}


def _neighbourhood(view: View, id_: ObjectId) -> str:
    """The cluster of an object; by namespace if it exists in derived files only."""
    if kind_of(id_) in STEPPING:
        return str(id_)
    obj = view.objects.get(id_)
    if obj is None:
        if CSR.has(id_):  # the derived part has the label too
            return str(mapping_at(view.before(id_, "metadata", "labels")).get(CLUSTER_NAME, ""))
        return id_.name if is_cluster(id_) else id_.namespace
    if obj.kind is LEASE:
        return leased_cluster(obj) or id_.namespace
    return cluster_of(obj)


def _links(view: View, neighbourhoods: Mapping[ObjectId, str]) -> Iterator[tuple[str, str]]:
    """Pairs of neighbourhoods that share an object: a report with its present and former target; a Lease in one
    cluster's place that names another."""
    for accepted in stored_reports(view).values():
        yield neighbourhoods[accepted.holder], _neighbourhood_of_target(neighbourhoods, accepted.target)
    for id_, obj in view.objects.items():
        if obj.kind is LEASE and id_.name == LEASE_NAME:
            yield neighbourhoods[id_], id_.namespace
        resource = dig(obj.body, "spec", "resource")
        kind = TARGETS.get(str(dig(resource, "kind")))
        if kind is not None and isinstance(name := dig(resource, "name"), str):
            namespace = dig(resource, "namespace") if kind is NODE_POOL else ""
            target = kind.id(name, (namespace if isinstance(namespace, str) else "") or id_.namespace)
            yield (
                neighbourhoods[id_],
                _neighbourhood_of_target(neighbourhoods, target if kind is NODE_POOL else kind.id(name)),
            )


def _neighbourhood_of_target(neighbourhoods: Mapping[ObjectId, str], target: ObjectId) -> str:
    return neighbourhoods.get(target, target.name if is_cluster(target) else target.namespace)


def _merged(names: set[str], links: Iterator[tuple[str, str]]) -> Mapping[str, str]:
    """The first name of each group of linked names, by name."""
    leader: dict[str, str] = {}
    linked = set(names)

    def find(name: str) -> str:
        while (above := leader.get(name, name)) != name:
            leader[name] = name = leader.get(above, above)
        return name

    for left, right in links:
        linked.update((left, right))
        a, b = find(left), find(right)
        leader[max(a, b)] = min(a, b)
    return {name: find(name) for name in linked}
