"""The decision trees that the page folds under fields: those of `muster explain`, of as many clusters as asked for."""

from muster.data.kinds import MANAGED_CLUSTER
from muster.features.page.trees import trees_of, witness
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.features.pulses.test_walkthrough import cluster, lease
from tests.support.example import NOON

FILES = {f"{name}.yaml": f"{cluster(name)}---\n{lease(name, '2026-01-01T11:00:00Z')}" for name in "ab"}
HOMES = {name: [MANAGED_CLUSTER.id(name)] for name in "ab"}
AVAILABLE = "status.conditions[ManagedClusterConditionAvailable]"


def test_a_tree_has_the_expressions_with_their_values_and_the_inputs_with_their_places() -> None:
    trees = trees_of(settle(MemorySnapshot(FILES), NOON, witness=witness()).first, HOMES)
    tree = trees(MANAGED_CLUSTER.id("b"))[AVAILABLE]
    decided = {one["title"]: one for one in tree["asked"] if one["text"]}
    assert decided["rule lease-expired"]["gave"] == "true"
    assert ["lease.spec.renewTime", "2026-01-01T11:00:00Z"] in decided["rule lease-expired"]["parts"]
    assert not [part for one in decided.values() for part in one["parts"] if part[0].startswith("the ")]
    assert tree["place"].startswith("builtin:managed-cluster-available.yaml:")
    assert any(place.startswith("b.yaml:") for _, _, place in tree["reads"])
    assert tree["deadlines"]
    assert trees(MANAGED_CLUSTER.id("c")) == {}


def test_a_large_fleet_has_trees_of_some() -> None:
    trees = trees_of(settle(MemorySnapshot(FILES), NOON, witness=witness(most=1)).first, HOMES)
    assert [bool(trees(MANAGED_CLUSTER.id(name))) for name in "ab"].count(True) == 1
    assert trees_of(settle(MemorySnapshot(FILES), NOON).first, HOMES)(MANAGED_CLUSTER.id("a")) == {}
