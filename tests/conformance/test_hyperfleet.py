"""HyperFleet's cases pass, those that seed 004 states or implies above all."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import hyperfleet
from tests.conformance.__main__ import main

CASES = Path(__file__).parent / "cases"


def test_every_case_passes() -> None:
    outcomes = hyperfleet.run(CASES)
    assert len(outcomes) > 40
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []


def test_every_decided_difference_is_told_to_users() -> None:
    told = (Path(__file__).parents[2] / "docs" / "hyperfleet.md").read_text(encoding="utf-8")
    table = told.partition("## Differences from HyperFleet")[2]
    assert [difference for difference in hyperfleet.DIFFERENCES if f"| {difference} |" not in table] == []


def test_a_text_that_nobody_knows_skips_the_case_by_name() -> None:
    case = next(c for c in hyperfleet.cases(CASES) if "error_contains" in c["expect"])
    strange = {**case, "expect": {**case["expect"], "error_contains": "the stars are wrong"}}
    assert "the stars are wrong" in hyperfleet.judge(strange).actual
    assert hyperfleet.judge(strange).status == "skipped"
    assert hyperfleet.judge({**strange, "expect": {**strange["expect"], "accepted": True}}).status == "failed"


def test_a_wrong_expectation_fails(tmp_path: Path) -> None:
    (tmp_path / "hyperfleet.yaml").write_text(
        """
- id: wrong
  area: aggregation
  seed_status: explicit
  given:
    now: "2026-01-01T00:00:10Z"
    resource: {kind: Cluster, name: c, generation: 1, created_time: "2026-01-01T00:00:00Z", status: {conditions: []}}
    required_adapters: [dns]
    stored_reports: []
  expect:
    conditions: [{type: Ready, status: "True"}]
""",
        encoding="utf-8",
    )
    assert main(["hyperfleet", "--cases", str(tmp_path)]) == 1


def _mapped(*types: str) -> Any:
    """A case whose rules give conditions of these types."""
    case = next(c for c in hyperfleet.cases(CASES) if c["id"] == "extra-condition-from-adapter-condition")
    rules = [{**case["given"]["condition_rules"][0], "type": type_} for type_ in types]
    return {**case, "given": {**case["given"], "condition_rules": rules}}


@pytest.mark.parametrize(
    ("rejected", "refused", "status"),
    [
        (["Reconciled", "LastKnownReconciled", "ValidationSuccessful"], True, "passed"),
        (["Reconciled", "ValidationSuccessful"], True, "failed"),
        (["Reconciled", "LastKnownReconciled"], False, "failed"),
        (["Reconciled", "LastKnownReconciled", "Elsewhere"], True, "failed"),
    ],
)
def test_types_that_no_rule_may_give(rejected: list[str], refused: bool, status: str) -> None:
    case = _mapped("ControlPlaneReady", "Reconciled", "LastKnownReconciled", "ValidationSuccessful")
    expect = {"config_error": refused, "rejected_types": rejected}
    assert hyperfleet.judge({**case, "expect": expect}).status == status


def test_a_type_of_a_condition_per_adapter_is_free() -> None:
    expect = {"config_error": True, "rejected_types": ["ValidationSuccessful"]}
    assert hyperfleet.judge({**_mapped("ValidationSuccessful"), "expect": expect}).status == "passed"


@pytest.mark.parametrize(
    ("message", "status"),
    [
        ("Required adapters not reporting Available=True: [{0}]. Currently reporting: []", "passed"),
        ("Required adapters not reporting Available=True: [moon]. Currently reporting: []", "failed"),
        ("Required adapters not reporting Finalized=True: [{0}]. Currently reporting: []", "failed"),
        ("All required adapters are Available=True at generation 1", "failed"),
        ("the stars are wrong", "skipped"),
    ],
)
def test_a_message_of_upstreams_says_the_same_of_the_same_adapters(message: str, status: str) -> None:
    case = next(
        c
        for c in hyperfleet.cases(CASES)
        if c["area"] == "aggregation"
        and not c["given"]["stored_reports"]
        and not c["given"]["incoming_reports"]
        and c["given"]["required_adapters"]
    )
    names = " ".join(sorted(case["given"]["required_adapters"]))
    condition = {"type": "Ready", "status": "False", "upstream_message": message.format(names)}
    assert hyperfleet.judge({**case, "expect": {"conditions": [condition]}}).status == status


def _taken_back(status: str) -> Any:
    """A case in which a report comes in that an extra condition makes this status of."""
    case = deepcopy(_mapped("ControlPlaneReady"))
    case["given"]["condition_rules"][0]["output"]["status"]["expression"] = status
    report = case["given"]["stored_reports"].pop(0)
    del report["created_time"]
    case["given"]["incoming_reports"] = [{**report, "observed_time": report.pop("last_report_time")}]
    return case


@pytest.mark.parametrize("status", ['"Maybe"', '["a"][int(resource.generation)]'])
def test_an_extra_condition_that_fails_takes_back_no_report(status: str) -> None:
    case = _taken_back(status)
    expect = {"accepted": False, "disposition": "error", "error_contains": "condition mapping failed"}
    assert hyperfleet.judge({**case, "expect": expect}).status == "passed"
    assert hyperfleet.judge({**case, "expect": {**expect, "accepted": True}}).status == "failed"
    assert hyperfleet.judge({**_taken_back('"true"'), "expect": expect}).status == "failed"
    assert hyperfleet.judge({**case, "expect": {"absent_conditions": ["ControlPlaneReady"]}}).status == "passed"


def test_an_adapter_of_which_anything_is_unknown_gives_no_extra_condition() -> None:
    case = _taken_back('"true"')
    present = {"conditions": [{"type": "ControlPlaneReady", "status": "True"}]}
    assert hyperfleet.judge({**case, "expect": present}).status == "passed"
    case["given"]["incoming_reports"][0]["conditions"].append({"type": "Odd", "status": "Unknown"})
    assert hyperfleet.judge({**case, "expect": {"absent_conditions": ["ControlPlaneReady"]}}).status == "passed"
    assert hyperfleet.judge({**case, "expect": present}).status == "failed"


def test_what_the_sentinel_says_goes_with_a_pulse() -> None:
    for case in (c for c in hyperfleet.cases(CASES) if "publish" in c["expect"]):
        said = ("message decision result is false", "message decision matched")
        for due in (True, False):
            judged = hyperfleet.judge({**case, "expect": {**case["expect"], "upstream_reason": said[due]}}).status
            assert judged == ("passed" if due is case["expect"]["publish"] else "failed")
