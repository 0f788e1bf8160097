"""The cases of Hive's controllers that the project ships all pass, by both rulebooks where they differ."""

from copy import deepcopy
from pathlib import Path

import pytest

from tests.conformance import hive
from tests.conformance.__main__ import main

CASES = Path(__file__).parent / "cases"


def test_every_case_passes() -> None:
    outcomes = hive.run(CASES)
    assert len(outcomes) > 120
    assert [outcome for outcome in outcomes if outcome.status == "failed"] == []


def test_alternatives_are_understood_wherever_they_stand() -> None:
    cases = {case["id"]: case for case in hive.load(CASES)}
    case = cases["pool-copyover-fields"]
    right = case["expect"]["conditions"]["CapacityAvailable"]
    wrong = {**right, "message": "another"}

    def judged(capacity: object) -> str:
        conditions = {**case["expect"]["conditions"], "CapacityAvailable": capacity}
        return hive.judge({**case, "expect": {**case["expect"], "conditions": conditions}}).status

    assert judged({"any_of": [wrong, right]}) == "passed"
    assert judged({**right, "message": {"any_of": ["another", right["message"]]}}) == "passed"
    assert judged({"any_of": [wrong, None]}) == "failed"
    assert judged({**right, "message": {"any_of": ["another", "a third"]}}) == "failed"


def test_a_whole_claim_may_be_one_of_several() -> None:
    case = next(case for case in hive.load(CASES) if case["expect"].get("claim_conditions"))
    name, right = next(iter(case["expect"]["claim_conditions"].items()))
    wrong = {type_: {**fields, "reason": "Strange"} for type_, fields in right.items()}
    for options, status in (([wrong, right], "passed"), ([None, right], "passed"), ([wrong, None], "failed")):
        claims = {**case["expect"]["claim_conditions"], name: {"any_of": options}}
        assert hive.judge({**case, "expect": {**case["expect"], "claim_conditions": claims}}).status == status


def test_a_claimed_cluster_that_is_being_deleted_is_claimed() -> None:
    """Hive registers it so, and muster counts it by its claim."""
    case = deepcopy(next(c for c in hive.load(CASES) if (c["expect"].get("buckets") or {}).get("claimed")))
    claimed = case["expect"]["buckets"]["claimed"]
    claim, name = next(iter(claimed.items()))
    cluster = next(body for body in case["given"]["objects"] if body["metadata"]["name"] == name)
    cluster["metadata"]["deletionTimestamp"] = case["given"]["now"]
    for told, wrong in ((claimed, False), ({**claimed, claim: "another"}, True)):
        expect = {"pool_status": case["expect"]["pool_status"], "buckets": {"claimed": told}}
        assert ("bucket claimed" in hive.judge({**case, "expect": expect}).expected) is wrong


def test_looked_at_again_at_once_is_a_pass_that_changed_something() -> None:
    cases = {case["id"]: case for case in hive.load(CASES)}
    for name, status in (
        ("claim-deleted-claim-with-no-assignment", "failed"),
        ("d-hib-reconcile-paused", "failed"),
        ("claim-with-elapsed-smaller-lifetime-is-deleted-where-pool-maximum-is-smaller-than-default", "passed"),
    ):
        case = cases[name]
        assert hive.judge({**case, "expect": {**case["expect"], "requeue_after": "immediately"}}).status == status


def test_a_timer_is_not_hidden_by_what_is_observed() -> None:
    """What a provisioner makes of nodes is its own, that the cluster goes to sleep is muster's."""
    cases = {case["id"]: case for case in hive.load(CASES)}
    case = cases["hibafter-cluster-with-running-condition-due-for-hibernate"]
    seen = {"machines_running": True, "target_cluster": {"reachable": True, "nodes": []}}
    watched = {**case, "given": {**case["given"], "observed": seen}}
    assert hive.judge(watched).status == "skipped"
    actions = {**case["expect"]["actions"], "set_power_state": None}
    assert hive.judge({**watched, "expect": {**case["expect"], "actions": actions}}).status == "failed"
    assert hive.judge(cases["hibafter-cluster-due-for-hibernate-but-unsupported"]).status == "passed"


def test_every_deliberate_difference_is_tested_and_is_one() -> None:
    """A difference that upstream's expectation would satisfy too is none."""
    cases = {case["id"]: case for case in hive.load(CASES)}
    assert set(hive.SEED) <= set(cases)
    for name in hive.SEED:
        assert hive.outcome_of(cases[name], "seed", name).status == "failed"


def test_a_failure_is_named_and_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (CASES / "hive.yaml").read_text(encoding="utf-8")
    start = text.index("- id: pool-scale-up\n")
    case = text[start : text.index("\n- id: ", start)]
    (tmp_path / "one.yaml").write_text("cases:\n" + case.replace("count: 2", "count: 3"), encoding="utf-8")
    assert main(["hive", "--cases", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    assert "FAILED pool-scale-up\n  expected create {'count': 3" in printed
    assert "actual   create {'count': 2" in printed
