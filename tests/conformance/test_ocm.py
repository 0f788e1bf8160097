"""Every case of Open Cluster Management that is here passes, and the adapter can tell when one does not."""

from pathlib import Path
from typing import Any

import pytest

from tests.conformance import ocm
from tests.conformance.ocm_repository import AVAILABLE

CASES = {case["id"]: case for case in ocm.cases(Path(__file__).parent / "cases")}


@pytest.mark.parametrize("id_", CASES)
def test_case(id_: str) -> None:
    outcome = ocm.judge(CASES[id_])
    if outcome.status == "skipped":
        pytest.skip(outcome.actual)
    assert outcome.status == "passed", f"expected {outcome.expected}, is {outcome.actual}"


def test_cases_of_other_forms_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text("cases: [{id: x, area: hibernation, given: {objects: []}}]", encoding="utf-8")
    (tmp_path / "list.yaml").write_text("- {id: x}", encoding="utf-8")
    assert list(ocm.cases(tmp_path)) == []


def judged(id_: str, given: dict[str, Any] | None = None, expect: dict[str, Any] | None = None) -> str:
    """What becomes of a case with something else given or expected."""
    case = CASES[id_]
    return ocm.judge(
        {**case, "given": {**case["given"], **(given or {})}, "expect": {**case["expect"], **(expect or {})}}
    ).status


def test_what_admission_allows_has_no_error() -> None:
    refused = next(c for c in CASES.values() if c["area"] == "webhook-validating" and c["expect"]["error"])
    expect = {key: value for key, value in refused["expect"].items() if key != "error"}
    assert ocm.judge({**refused, "expect": {**expect, "allowed": False}}).status == "passed"
    assert ocm.judge({**refused, "expect": {**expect, "allowed": True}}).status == "failed"
    assert ocm.judge({**refused, "expect": {**refused["expect"], "allowed": True}}).status == "failed"


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    ("began", "status"), [("00:00:00Z", "failed"), ("23:59:41Z", "failed"), ("23:59:40Z", "passed")]
)
def test_a_failure_counts_twenty_seconds_after_the_first_one(began: str, status: str, inside: bool) -> None:
    day = "2026-01-01" if began.startswith("00") else "2025-12-31"
    first, probe = {"first_failure_at": f"{day}T{began}"}, {"livez": 500, "body": "no"}
    given = {"probe": {**probe, **first}} if inside else {"probe": probe, **first}
    message = "The kube-apiserver is not ok, status code: 500, no"
    said = {"status": "False", "reason": "ManagedClusterKubeAPIServerUnavailable", "message": message}
    wanted = {**CASES["agent-01-livez-ok"]["expect"]["conditions"][0], **said}
    assert judged("agent-01-livez-ok", given, {"conditions": [wanted]}) == status


def test_alternatives_are_understood_wherever_they_stand() -> None:
    case = next(
        c for c in CASES.values() if c["expect"].get("decisions") and c["expect"]["decisions"][0].get("clusters")
    )
    entry = case["expect"]["decisions"][0]
    for options, status in (([["nobody"], entry["clusters"]], "passed"), ([["nobody"], []], "failed")):
        assert judged(case["id"], expect={"decisions": [{**entry, "clusters": {"any_of": options}}]}) == status
    taints = next(c for c in CASES.values() if c["expect"].get("taints") and c["expect"]["taints"][0]["taints"])
    first = taints["expect"]["taints"][0]
    strange = [{**first["taints"][0], "key": "strange"}]
    rest = taints["expect"]["taints"][1:]
    for options, status in (([strange, first["taints"]], "passed"), ([strange, []], "failed")):
        assert judged(taints["id"], expect={"taints": [{**first, "taints": {"any_of": options}}, *rest]}) == status


def test_what_other_controllers_write_is_not_compared() -> None:
    """The one of acceptance runs alone: that a silent cluster is Unknown is for the one of leases to say."""
    silent = CASES["lease-04-available-lease-expired"]
    told = silent["expect"]["conditions"][0]
    stood = next(c for c in silent["given"]["objects"][0]["status"]["conditions"] if c["type"] == AVAILABLE)
    before = [{**told, **stood}]
    case = {**silent, "area": "acceptance", "expect": {"error": False, "conditions": before}}
    assert told["status"] != stood["status"]
    assert ocm.judge(case).status == "passed"
    wrong = [{**condition, "reason": "Strange"} for condition in before]
    assert ocm.judge({**case, "expect": {"error": False, "conditions": wrong}}).status == "failed"
