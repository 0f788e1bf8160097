"""HyperFleet's cases pass, those that seed 004 states or implies above all."""

from pathlib import Path

from tests.conformance import hyperfleet
from tests.conformance.__main__ import main

CASES = Path(__file__).parent / "cases"


def test_every_case_passes() -> None:
    outcomes = hyperfleet.run(CASES)
    assert len(outcomes) > 40
    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []


def test_every_decided_difference_is_told_to_users() -> None:
    told = (Path(__file__).parents[2] / "docs" / "hyperfleet.md").read_text(encoding="utf-8")
    table = told.partition("## Decided differences")[2]
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
