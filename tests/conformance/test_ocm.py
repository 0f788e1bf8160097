"""Every case of Open Cluster Management that is here passes, and the adapter can tell when one does not."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import ocm
from tests.conformance.ocm_differences import DIFFERENCES
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


def test_every_decided_difference_is_told_to_users() -> None:
    told = (Path(__file__).parents[2] / "docs" / "ocm.md").read_text(encoding="utf-8")
    table = told.partition("## Differences from a live hub")[2]
    assert [one.reason for one in DIFFERENCES if f"| {one.reason}" not in table] == []


def test_a_placement_that_is_misconfigured_stays_as_its_status_says() -> None:
    case = deepcopy(CASES["cond-06-misconfigured-empties-decisions"])
    placement = next(body for body in case["given"]["objects"] if body["kind"] == "Placement")
    satisfied = {"type": "PlacementSatisfied", "status": "True", "reason": "AllDecisionsScheduled"}
    satisfied |= {"message": "All cluster decisions scheduled", "lastTransitionTime": "2025-12-31T23:00:00Z"}
    placement["status"] = {"numberOfSelectedClusters": 1, "conditions": [satisfied]}
    assert ocm.judge(case).status == "passed"
    del case["expect"]["decisions"]
    assert ocm.judge(case).status == "passed"


def test_a_cluster_that_was_unknown_before_its_lease_expired() -> None:
    case = deepcopy(CASES["lease-04-available-lease-expired"])
    stood = next(c for c in case["given"]["objects"][0]["status"]["conditions"] if c["type"] == AVAILABLE)
    stood |= {"status": "Unknown", "reason": "Older", "message": "older"}
    name = case["given"]["objects"][0]["metadata"]["name"]
    kept = {"kind": "ManagedCluster", "name": name, **stood}
    expect = {"error": False, "changed": False, "conditions": [kept]}
    assert ocm.judge({**case, "expect": expect}).status == "passed"
    wrong = {**expect, "conditions": [{**kept, "reason": "Strange"}]}
    assert ocm.judge({**case, "expect": wrong}).status == "failed"


@pytest.mark.parametrize(
    ("reconciler", "users", "approved"),
    [("bootstrap", ["test"], True), ("bootstrap", ["another"], False), ("renewal", ["test"], False)],
)
def test_one_reconciler_of_a_request_runs_alone(reconciler: str, users: list[str], approved: bool) -> None:
    case = deepcopy(CASES["csr-05-renewal-approved"])
    given = case["given"]
    given["objects"][0]["spec"]["username"] = "test"
    given |= {"reconciler": reconciler, "auto_approve_users": users, "features": {}}
    for said in (True, False):
        expect = {"error": False, "approved": said}
        assert ocm.judge({**case, "expect": expect}).status == ("passed" if said is approved else "failed")


def test_what_client_go_says_of_a_failing_api_server() -> None:
    wanted = {**CASES["agent-01-livez-ok"]["expect"]["conditions"][0], "status": "False"}
    wanted |= {"reason": "ManagedClusterKubeAPIServerUnavailable"}
    given = {"probe": {"livez": 500, "body": "no", "first_failure_at": "2025-12-31T23:59:40Z"}}
    for body, status in (("no", "passed"), ("yes", "failed")):
        said = f'an error on the server ("{body}") has prevented the request from succeeding'
        message = f"The kube-apiserver is not ok, status code: 500, {said}"
        assert judged("agent-01-livez-ok", given, {"conditions": [{**wanted, "message": message}]}) == status


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
