"""A plan as one JSON document: what would change, and which rule wants it."""

import json

from muster.data.times import parse_time
from muster.features.plan.plan import plan_document
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.features.pulses.test_walkthrough import cluster, lease

NOW = parse_time("2026-01-01T00:10:00Z")


def test_a_plan_says_of_each_change_which_rule_made_it() -> None:
    texts = {"a.yaml": cluster("a") + "---\n" + lease("a", "2026-01-01T00:00:00Z")}
    settled = settle(MemorySnapshot(texts), NOW)
    document = plan_document(settled)
    assert json.loads(json.dumps(document)) == document
    assert document["summary"] == "a Unknown"
    assert (document["files"], document["held"], document["horizon"]) == (settled.files, settled.last.held, None)
    told = {
        change["field"]: (change["object"]["name"], change["before"], change["after"], change["rule"])
        for change in document["changes"]
    }
    assert told["condition ManagedClusterConditionAvailable"] == (
        "a",
        "",
        "Unknown",
        "ConditionPolicy/managed-cluster-available#lease-expired",
    )
