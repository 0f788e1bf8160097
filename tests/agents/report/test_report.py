"""What an adapter says, and how a report is made of it."""

import pytest

from muster.agents.report.report import Condition, completed, report_object, withheld
from muster.data.kinds import MANAGED_CLUSTER, NODE_POOL
from muster.data.times import parse_time

NOW = parse_time("2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("Available=True", Condition("Available", "True")),
        ("Available=False:NoRecord", Condition("Available", "False", "NoRecord")),
        (
            "Available=False:NoRecord:no such zone: a.b",
            Condition("Available", "False", "NoRecord", "no such zone: a.b"),
        ),
        ("Available=Unknown::why", Condition("Available", "Unknown", "", "why")),
    ],
)
def test_a_condition_in_one_word(text: str, condition: Condition) -> None:
    assert Condition.parse(text) == condition


@pytest.mark.parametrize("text", ["", "Available", "=True", "Available=true", "Available=Maybe", "Available="])
def test_a_condition_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not TYPE=STATUS|cannot be"):
        Condition.parse(text)


def test_an_adapter_that_reports_works_unless_it_says_otherwise() -> None:
    available, ill = Condition("Available", "True"), Condition("Health", "False")
    assert completed([available]) == [available, Condition("Applied", "True"), Condition("Health", "True")]
    assert completed([ill]) == [ill, Condition("Applied", "True")]
    assert not withheld([available])
    assert withheld([ill, Condition("Available", "Unknown")])
    assert not withheld([ill])


def test_a_report_names_what_it_is_about() -> None:
    body = report_object(MANAGED_CLUSTER.id("a"), "a", "dns", 3, NOW, [Condition("Available", "False", "Gone")])
    assert body["metadata"] == {"name": "dns", "namespace": "a"}
    assert body["spec"] == {
        "resource": {"kind": "ManagedCluster", "name": "a"},
        "adapter": "dns",
        "observed_generation": 3,
        "observed_time": "2026-01-01T00:00:00Z",
        "conditions": [
            {"type": "Available", "status": "False", "reason": "Gone"},
            {"type": "Applied", "status": "True"},
            {"type": "Health", "status": "True"},
        ],
    }
    pool = report_object(NODE_POOL.id("p", "a"), "a", "dns", 1, NOW, [], {"seen": 1})
    assert (pool["metadata"]["name"], pool["spec"]["data"]) == ("p.dns", {"seen": 1})
    assert "namespace" not in pool["spec"]["resource"]
    assert report_object(NODE_POOL.id("p", "b"), "a", "dns", 1, NOW, [])["spec"]["resource"]["namespace"] == "b"
