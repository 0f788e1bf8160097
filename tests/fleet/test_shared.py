"""What a fleet shares: of a cluster what others may read, and nothing else that belongs to it."""

from functools import cache

from muster.data.decision import Decision
from muster.data.kinds import (
    ADD_ON_PLACEMENT_SCORE,
    FLEET,
    LEASE,
    MANAGED_CLUSTER,
    MULTI_CLUSTER_INGRESS,
    PLACEMENT,
    kind_of,
)
from muster.data.tree import Tree
from muster.features.test.memory import MemorySnapshot
from muster.fleet.fleet import Fleet
from muster.fleet.shared import OF_CLUSTERS, Shared, read_by_others
from muster.run.evaluate import evaluate_snapshot
from tests.support.example import EXAMPLE, NOON

AVAILABLE = ("status", "conditions", ("ManagedClusterConditionAvailable",))


@cache
def decided() -> Fleet:
    """The example, decided at its noon, with what it had derived."""
    texts = {str(path.relative_to(EXAMPLE)): path.read_text(encoding="utf-8") for path in EXAMPLE.rglob("*.yaml")}
    return evaluate_snapshot(MemorySnapshot(texts), NOON).fleet


def test_of_a_cluster_there_is_what_others_may_read() -> None:
    fleet = decided()
    shared = Shared.by(fleet)
    kinds = {kind_of(id_) for id_ in (*shared.objects, *shared.decided, *shared.previous)}
    assert kinds & OF_CLUSTERS <= {*(kind_of(obj.id) for obj in fleet.clusters()), ADD_ON_PLACEMENT_SCORE, LEASE}
    assert shared.clusters() == fleet.clusters()
    assert shared.of(PLACEMENT, MULTI_CLUSTER_INGRESS, FLEET) == fleet.of(PLACEMENT, MULTI_CLUSTER_INGRESS, FLEET)
    assert shared.decisions(fleet.clusters()[0].id) == fleet.decisions(fleet.clusters()[0].id)


def test_the_lease_of_a_silent_cluster_is_there_and_no_other() -> None:
    fleet = decided()
    silent = {
        obj.id.name
        for obj in fleet.clusters()
        if (fleet.now(obj.id, "status", "conditions", (obj.kind.headline,)) or {}).get("status") == "Unknown"
    }
    leases = {obj.id.namespace for obj in fleet.of(LEASE)}
    assert silent & leases, "the example has one of whom nothing is heard"
    assert leases - silent, "and others"
    assert {obj.id.namespace for obj in Shared.by(fleet).of(LEASE)} == silent & leases


def test_what_was_derived_counts_of_a_broken_cluster_and_of_what_belongs_to_none() -> None:
    sound, broken, placement = MANAGED_CLUSTER.id("a"), MANAGED_CLUSTER.id("b"), PLACEMENT.id("p", "apps")
    body: Tree = {"status": {"conditions": []}}
    previous = {sound: body, broken: body, placement: body, LEASE.id("managed-cluster-lease", "a"): body}
    fleet = Fleet({}, previous, frozenset({broken}), settings=decided().settings)
    assert Shared.by(fleet).previous == {sound: {}, broken: body, placement: body}


def test_a_broken_cluster_may_be_silent_too() -> None:
    whole = decided()
    obj, lease = next(
        (obj, lease)
        for lease in whole.of(LEASE)
        for obj in whole.clusters()
        if obj.id == MANAGED_CLUSTER.id(lease.id.namespace)
    )
    because = next(iter(whole.decisions(obj.id).values())).because
    said = Decision(obj.id, AVAILABLE, {"status": "Unknown"}, because)
    fleet = Fleet(
        {obj.id: obj, lease.id: lease}, {obj.id: {}}, frozenset({obj.id}), settings=whole.settings
    ).with_outcomes([said])
    assert Shared.by(fleet).of(LEASE) == (lease,)


def test_a_summary_holds_what_is_shared_of_a_neighbourhood() -> None:
    """What wide stages are given of sound clusters in a cold run is what a warm one has kept of them."""
    fleet = decided()
    sound = fleet.of(*OF_CLUSTERS)
    kept = {obj.id for obj in read_by_others(fleet, sound)}
    given = {id_ for id_ in Shared.by(fleet).objects if kind_of(id_) in OF_CLUSTERS and id_ not in fleet.broken}
    assert kept == given
