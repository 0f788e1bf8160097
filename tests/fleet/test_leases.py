"""Which Lease is a cluster's, how long it lasts, and for how many of its durations a cluster may be silent."""

from datetime import timedelta

import pytest

from muster.data.kinds import CONDITION_POLICY, LEASE, MANAGED_CLUSTER
from muster.data.tree import Tree
from muster.fleet.fleet import Fleet
from muster.fleet.leases import (
    GRACE_FACTOR,
    LEARNING,
    Shortened,
    derived_lease_seconds,
    grace_factor,
    leases_by_cluster,
    own_lease_seconds,
)
from muster.fleet.objects import Object
from muster.fleet.settings import DEFAULTS
from tests.support.example import NOON

LABEL = "open-cluster-management.io/cluster-name"


def lease(name: str, namespace: str, cluster: str = "") -> Object:
    labels = {LABEL: cluster} if cluster else {}
    body = {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"holder": f"{namespace}/{name}"},
    }
    return Object(LEASE.id(name, namespace), body, ())


def fleet(*objects: Object) -> Fleet:
    return Fleet({obj.id: obj for obj in objects}, {}, settings=DEFAULTS)


@pytest.mark.parametrize(
    ("leases", "found"),
    [
        pytest.param([lease("managed-cluster-lease", "a")], {"a": "a/managed-cluster-lease"}, id="by its name"),
        pytest.param([lease("l", "n", "a")], {"a": "n/l"}, id="by its label"),
        pytest.param([lease("a", "karmada-cluster")], {"a": "karmada-cluster/a"}, id="Karmada's"),
        pytest.param([lease("l", "n")], {}, id="somebody else's"),
        pytest.param(
            [lease("l", "a", "a"), lease("managed-cluster-lease", "a")],
            {"a": "a/managed-cluster-lease"},
            id="the rule's name goes before the label",
        ),
        pytest.param([lease("managed-cluster-lease", "n", "a")], {"a": "n/managed-cluster-lease"}, id="label and name"),
    ],
)
def test_whose_a_lease_is(leases: list[Object], found: dict[str, str]) -> None:
    assert {name: body["spec"]["holder"] for name, body in leases_by_cluster(fleet(*leases)).items()} == found


@pytest.mark.parametrize(("said", "seconds"), [(30, 30), (0, 60), (None, 60), (True, 60), ("x", 60)])
def test_a_cluster_s_own_word(said: Tree, seconds: int) -> None:
    spec = {} if said is None else {"leaseDurationSeconds": said}
    assert own_lease_seconds(Object(MANAGED_CLUSTER.id("a"), {"spec": spec}, ())) == seconds


@pytest.mark.parametrize(
    ("derived", "seconds"),
    [
        (None, 60),
        ({"metadata": {"annotations": {"muster.dev/lease-duration-seconds": "90"}}}, 90),
        ({"metadata": {"annotations": {"muster.dev/lease-duration-seconds": "soon"}}}, 60),
        ({"status": {"muster": {"leaseDurationSeconds": 120}}}, 120),
    ],
)
def test_what_the_last_run_told(derived: Tree, seconds: int) -> None:
    assert derived_lease_seconds(derived) == seconds


@pytest.mark.parametrize(("params", "factor"), [({"graceFactor": 3}, 3), ({}, 5), ({"graceFactor": 0}, 5), (None, 5)])
def test_the_policy_in_force_says_how_long_a_cluster_may_be_silent(params: Tree, factor: int) -> None:
    id_ = CONDITION_POLICY.id("managed-cluster-available")
    own = fleet(Object(id_, {"spec": {"params": params}}, ())) if params is not None else fleet()
    assert grace_factor(own) == factor


def test_a_shortened_lease_lasts_until_its_agent_must_know() -> None:
    shortened = Shortened(300, NOON, GRACE_FACTOR)
    assert Shortened.parse(str(shortened), GRACE_FACTOR) == shortened
    assert shortened.allowed(10) == 10 + 60  # the renewal that was due by the old duration, and the grace of the new
    assert shortened.matters(10)
    assert not shortened.matters(75)  # five of the new are no less than one of the old
    assert not shortened.known_to({"spec": {"renewTime": "2026-01-01T12:00:59Z"}})
    assert shortened.known_to({"spec": {"renewTime": "2026-01-01T12:01:00Z"}})
    assert shortened.end(10) == NOON + LEARNING + timedelta(seconds=5 * 70)


@pytest.mark.parametrize("text", [None, "", "300s", "0s until 2026-01-01T12:00:00Z", "300s until then", 7])
def test_what_is_no_shortening(text: Tree) -> None:
    assert Shortened.parse(text, GRACE_FACTOR) is None
