"""Which neighbourhood an object is in: by its name, its namespace, or the cluster that it names."""

import pytest

from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADAPTER_REPORT,
    CLUSTER_DEPLOYMENT,
    CSR,
    KARMADA_CLUSTER,
    LEASE,
    MANAGED_CLUSTER,
    NODE_POOL,
    PLACEMENT,
    REMEDY,
)
from muster.data.tree import Tree
from muster.fleet.neighbourhoods import neighbourhood_names, neighbourhoods
from muster.fleet.objects import Object
from muster.fleet.view import View

LABELLED: Tree = {"metadata": {"labels": {"open-cluster-management.io/cluster-name": "a"}}}


def of(id_: ObjectId, body: Tree = None) -> Object:
    return Object(id_, body or {}, ())


def view(*objects: Object) -> View:
    return View({obj.id: obj for obj in objects}, {})


@pytest.mark.parametrize(
    ("obj", "neighbourhood"),
    [
        pytest.param(of(MANAGED_CLUSTER.id("a")), "a", id="a cluster"),
        pytest.param(of(KARMADA_CLUSTER.id("a")), "a", id="Karmada's"),
        pytest.param(of(ADAPTER_REPORT.id("validation", "a")), "a", id="by its namespace"),
        pytest.param(of(LEASE.id("l", "n"), LABELLED), "a", id="a Lease by its label"),
        pytest.param(of(LEASE.id("l", "n")), "n", id="a Lease of nobody"),
        pytest.param(of(CSR.id("request"), LABELLED), "a", id="a request by its label"),
        pytest.param(of(CSR.id("request")), "", id="a request of nobody"),
        pytest.param(of(NODE_POOL.id("workers", "n"), {"spec": {"clusterName": "a"}}), "a", id="a node pool"),
        pytest.param(of(CLUSTER_DEPLOYMENT.id("d", "d"), {"spec": {"clusterName": "a"}}), "a", id="a deployment"),
        pytest.param(of(PLACEMENT.id("p", "apps")), "apps", id="what is no cluster's, by its namespace"),
        pytest.param(of(REMEDY.id("r")), "", id="what has none"),
    ],
)
def test_where_an_object_belongs(obj: Object, neighbourhood: str) -> None:
    assert neighbourhood_names(view(obj)).of == {obj.id: neighbourhood}


def test_what_is_only_derived_belongs_by_its_namespace() -> None:
    lease, cluster = LEASE.id("managed-cluster-lease", "a"), MANAGED_CLUSTER.id("gone")
    found = neighbourhood_names(View({}, {lease: {}, cluster: {}}))
    assert found.of == {lease: "a", cluster: "gone"}


@pytest.mark.parametrize(
    "link",
    [
        pytest.param(
            of(ADAPTER_REPORT.id("r", "b"), {"spec": {"resource": {"kind": "ManagedCluster", "name": "a"}}}),
            id="a report in the one's namespace that speaks of the other",
        ),
        pytest.param(of(LEASE.id("managed-cluster-lease", "b"), LABELLED), id="a Lease in the place of the other's"),
    ],
)
def test_one_object_makes_two_clusters_neighbours(link: Object) -> None:
    both = view(of(MANAGED_CLUSTER.id("a")), of(MANAGED_CLUSTER.id("b")), of(MANAGED_CLUSTER.id("c")), link)
    found = {name: {id_.name for id_ in part.objects} - {link.id.name} for name, part in neighbourhoods(both).items()}
    assert found == {"a": {"a", "b"}, "c": {"c"}}
