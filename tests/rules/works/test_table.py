"""A set's record gives back its works as they are once the orders of its step are carried out."""

from datetime import UTC, datetime

from muster.data.kinds import MANIFEST_WORK, PLACEMENT
from muster.data.tree import Tree
from muster.rules.generations import spec_digest
from muster.rules.placements.shards import DecisionShard
from muster.rules.progress.step import ClusterStatus
from muster.rules.works.sets import DecidedPlacement, WorkOrder
from muster.rules.works.table import SetTable
from muster.rules.works.work import Work

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def work(cluster: str, labels: dict[str, str]) -> Work:
    status = ClusterStatus(cluster, "Succeeded", NOW)
    return Work(MANIFEST_WORK.id("web", cluster), labels, "abc", status, frozenset(("Applied",)))


def test_a_record_has_the_works_after_its_orders() -> None:
    works = {name: [work(name, {"old": "yes"})] for name in "abc"}
    placements = {PLACEMENT.id("web", "shop"): DecidedPlacement([DecisionShard("d", "", 0, ("a", "b"))], 2)}
    spec: Tree = {"workload": {}}
    orders = [
        WorkOrder(works["a"][0].id, None),
        WorkOrder(works["b"][0].id, {"new": "yes"}),
        WorkOrder(works["c"][0].id, {"new": "yes"}, spec),
    ]
    packed = SetTable(works, placements).packed(orders, lambda name: ClusterStatus(name, "ToApply", NOW))
    found = SetTable.unpacked(packed)
    assert found.placements == placements
    assert found.works["b"] == [work("b", {"new": "yes"})]
    (again,) = found.works["c"]
    assert (again.revision, again.status.state, again.true) == (spec_digest(spec), "ToApply", frozenset())
    assert found.works.keys() == {"b", "c"}
    found.updated(["b", "c"], {"c": [again]})
    assert found.works == {"c": [again]}
