"""What an adapter says, and how a report is made of it."""

import pytest

from muster.agents.report.report import ReportCondition, completed, is_unknown, report_object
from muster.data.kinds import MANAGED_CLUSTER, NODE_POOL
from muster.data.times import parse_time

NOW = parse_time("2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("Available=True", ReportCondition("Available", "True")),
        ("Available=False:NoRecord", ReportCondition("Available", "False", "NoRecord")),
        (
            "Available=False:NoRecord:no such zone: a.b",
            ReportCondition("Available", "False", "NoRecord", "no such zone: a.b"),
        ),
        ("Available=Unknown::why", ReportCondition("Available", "Unknown", "", "why")),
    ],
)
def test_a_condition_in_one_word(text: str, condition: ReportCondition) -> None:
    assert ReportCondition.parse(text) == condition


@pytest.mark.parametrize("text", ["", "Available", "=True", "Available=true", "Available=Maybe", "Available="])
def test_a_condition_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not TYPE=STATUS|cannot be"):
        ReportCondition.parse(text)


def test_an_adapter_that_reports_works_unless_it_says_otherwise() -> None:
    available, ill = ReportCondition("Available", "True"), ReportCondition("Health", "False")
    assert completed([available]) == [available, ReportCondition("Applied", "True"), ReportCondition("Health", "True")]
    assert completed([ill]) == [ill, ReportCondition("Applied", "True")]
    assert not is_unknown([available])
    assert is_unknown([ill, ReportCondition("Available", "Unknown")])
    assert not is_unknown([ill])


def test_a_report_names_what_it_is_about() -> None:
    body = report_object(MANAGED_CLUSTER.id("a"), "a", "dns", 3, NOW, [ReportCondition("Available", "False", "Gone")])
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
