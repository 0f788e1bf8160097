"""Objects as a live hub takes them."""

from typing import Any

import pytest

from muster.data.kinds import ALL, BY_NAME, FLEET
from muster.features.export.objects import exported, served_versions

REMEDY = {"apiVersion": "remedy.karmada.io/v1alpha1", "kind": "Remedy"}
CLUSTER = {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster"}
SET = {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClusterSet"}
LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
POOL = {"apiVersion": "hive.openshift.io/v1", "kind": "ClusterPool"}
WORK = {"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork"}
NAME = {"metadata": {"name": "a"}}


def printed(body: dict[str, Any], *, status: bool = False) -> dict[str, Any]:
    """What is printed of an object besides its name."""
    before = repr(body)
    (found,) = exported([body], named=True, status=status).bodies
    assert repr(body) == before
    return {name: value for name, value in found.items() if name not in ("apiVersion", "kind", "metadata")}


@pytest.mark.parametrize(
    ("metadata", "left"),
    [
        ({"annotations": {"muster.dev/a": "x", "b": "y"}}, {"annotations": {"b": "y"}}),
        ({"annotations": {"muster.dev/a": "x"}}, {}),
        ({"generation": 3, "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}, {}),
        ({"ownerReferences": [{"uid": "of another hub"}]}, {}),
        ({"labels": {"x": "y"}, "finalizers": ["f"]}, {"labels": {"x": "y"}, "finalizers": ["f"]}),
    ],
)
def test_metadata_of_musters_or_the_servers_own_stays_here(metadata: dict[str, Any], left: dict[str, Any]) -> None:
    (found,) = exported([{**CLUSTER, "metadata": {"name": "a", **metadata}}]).bodies
    assert found["metadata"] == {"name": "a", **left}


def test_a_null_is_no_value() -> None:
    assert printed({**CLUSTER, **NAME, "spec": {"taints": None}}) == {"spec": {}}


def test_a_status_is_printed_where_the_hub_takes_it() -> None:
    body = {
        **CLUSTER,
        **NAME,
        "spec": {"hubAcceptsClient": True},
        "status": {"muster": {}, "version": {"kubernetes": "v1"}},
    }
    assert printed(body) == {"spec": {"hubAcceptsClient": True}}
    assert printed(body, status=True) == {"status": {"version": {"kubernetes": "v1"}}}
    without = {**CLUSTER, **NAME, "spec": {}, "status": {"muster": {}}}
    no_subresource = {**REMEDY, **NAME, "spec": {}}
    assert exported([without, no_subresource], status=True).bodies == []


def test_fields_that_upstream_does_not_have_are_named() -> None:
    match = {"expression": "true", "clusterConditionMatch": {"conditionType": "Ready"}}
    body = {**REMEDY, **NAME, "spec": {"decisionMatches": [match, match]}}
    found = exported([body, body])
    assert [one["spec"] for one in found.bodies] == [
        {"decisionMatches": [{"clusterConditionMatch": {"conditionType": "Ready"}}] * 2}
    ] * 2
    (line,) = found.left_out()
    assert line.startswith("not exported: spec.decisionMatches[].expression of 2 Remedy: karmada v")


def test_content_of_others_is_left_as_it_is() -> None:
    manifests = [{"kind": "Anything", "whatever": None}]
    assert printed({**WORK, **NAME, "spec": {"workload": {"manifests": manifests}}}) == {
        "spec": {"workload": {"manifests": manifests}}
    }


def test_times_have_the_form_of_their_field() -> None:
    assert printed({**LEASE, **NAME, "spec": {"renewTime": "2026-01-01T12:59:35+01:00"}}) == {
        "spec": {"renewTime": "2026-01-01T11:59:35.000000Z"}
    }
    taint = {"key": "k", "effect": "NoSelect", "timeAdded": "2026-01-01t00:00:00.5z"}
    assert printed({**CLUSTER, **NAME, "spec": {"taints": [taint]}}) == {
        "spec": {"taints": [{**taint, "timeAdded": "2026-01-01T00:00:00Z"}]}
    }


def test_a_version_that_upstream_no_longer_serves_is_printed_as_one_that_it_serves() -> None:
    (found,) = exported(
        [{**SET, **NAME, "spec": {"clusterSelector": {"selectorType": "LegacyClusterSetLabel"}}}]
    ).bodies
    assert found["apiVersion"] == "cluster.open-cluster-management.io/v1beta2"
    assert found["spec"] == {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}


def test_what_is_being_deleted_is_absent_and_listed() -> None:
    body = {
        **POOL,
        "metadata": {"name": "a", "namespace": "n", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {},
    }
    found = exported([body])
    assert found.bodies == []
    assert found.deleted == [{**POOL, "metadata": {"name": "a", "namespace": "n"}}]
    assert list(found.left_out()) == ["not exported: 1 being deleted; --deletes prints them"]


def test_objects_of_musters_own_kinds_and_of_agents_go_only_where_they_are_asked_for() -> None:
    own = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", **NAME}
    lease = {**LEASE, **NAME}
    found = exported([own, lease, lease])
    assert found.bodies == []
    assert list(found.left_out()) == ["not exported: 2 leases: others write them on a hub; name the kind to print them"]
    assert exported([own, lease], named=True).bodies == [own, lease]


def test_every_kind_of_upstreams_is_listed_in_some_version() -> None:
    for kind in ALL:
        versions = served_versions(kind)
        assert bool(versions) == (kind.group != FLEET.group)
        assert all(version.partition("/")[0] == kind.group for version in versions)
    assert not served_versions(BY_NAME["Remedy"])["remedy.karmada.io/v1alpha1"].has_status


def test_works_of_a_set_are_printed_only_if_works_are_asked_for() -> None:
    labels = {"work.open-cluster-management.io/manifestworkreplicaset": "shop.web"}
    body = {**WORK, "metadata": {"name": "web-0f3ac", "namespace": "a", "labels": labels}, "spec": {}}
    own = {**WORK, "metadata": {"name": "own", "namespace": "a"}, "spec": {}}
    assert [one["metadata"]["name"] for one in exported([body, own]).bodies] == ["own"]
    assert len(exported([body, own], named=True).bodies) == 2
