"""Karmada's cases that the project ships all pass, none of them by accident."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance import karmada
from tests.conformance.__main__ import main
from tests.conformance.karmada_differences import expectation

CASES = Path(__file__).parent / "cases"


def test_every_case_passes() -> None:
    outcomes = karmada.run(CASES)
    assert len(outcomes) > 70
    assert [outcome for outcome in outcomes if outcome.status == "failed"] == []
    assert {outcome.area.split(".")[0] for outcome in outcomes if outcome.status == "skipped"} == {"failover"}


def test_a_refusal_that_is_expected_but_not_given_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remedy = {"apiVersion": "remedy.karmada.io/v1alpha1", "kind": "Remedy", "metadata": {"name": "r"}, "spec": {}}
    case = {
        "id": "sound",
        "area": "remedy.validation",
        "given": {"now": "2026-01-01T00:00:00Z", "objects": [remedy]},
        "expect": {"error": {"field": "spec.actions", "type": "required"}},
    }
    (tmp_path / "karmada.yaml").write_text(yaml.safe_dump({"cases": [case]}), encoding="utf-8")
    assert main(["karmada", "--cases", str(tmp_path)]) == 1
    assert "FAILED sound" in capsys.readouterr().out


READY = {"type": "Ready", "status": "True", "reason": "ClusterReady"}
UNKNOWN = {"type": "Ready", "status": "Unknown", "reason": "ClusterStatusUnknown"}
NOON = "2026-01-01T12:00:00Z"


def _monitored(renewed: str, *steps: tuple[Any, Any], after: Any = READY) -> Any:
    """A Pull cluster whose lease was renewed then; each step and what Karmada's monitor says after it."""
    cluster = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "spec": {"syncMode": "Pull"},
        "metadata": {"name": "m", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"conditions": [READY]},
    }
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"renewTime": renewed},
        "metadata": {"name": "m", "namespace": "karmada-cluster"},
    }
    timeline = [{"at": step["at"], "conditions": {"m": [told]}} for step, told in steps]
    return {
        "id": "monitored",
        "area": "health.monitor",
        "given": {"now": NOON, "objects": [cluster, lease], "observations": [step for step, _ in steps]},
        "expect": {"error": None, "timeline": timeline, "conditions": {"m": [after]}},
    }


@pytest.mark.parametrize(
    ("case", "differs"),
    [
        (_monitored(NOON, ({"at": NOON}, READY), ({"at": "2026-01-01T12:00:40Z"}, READY)), False),
        (_monitored("2026-01-01T11:59:30Z", ({"at": NOON}, READY), ({"at": "2026-01-01T12:00:20Z"}, READY)), True),
        (
            _monitored(
                "2026-01-01T11:59:30Z", ({"at": NOON}, READY), ({"at": "2026-01-01T12:00:20Z"}, UNKNOWN), after=UNKNOWN
            ),
            False,
        ),
        (
            _monitored(
                NOON,
                ({"at": NOON}, READY),
                ({"at": "2026-01-01T12:00:50Z"}, UNKNOWN),
                ({"at": "2026-01-01T12:00:55Z", "renewLease": "2026-01-01T12:00:55Z"}, UNKNOWN),
                after=UNKNOWN,
            ),
            True,
        ),
        (
            _monitored(NOON, ({"at": NOON}, READY), ({"at": "2026-01-01T12:00:50Z", "controllerRestart": True}, READY)),
            True,
        ),
    ],
    ids=["seen at once", "renewed before it was seen", "as muster has it", "renewed after silence", "restarted"],
)
def test_where_the_monitor_differs_both_rules_are_told(case: Any, differs: bool) -> None:
    assert bool(expectation(case)[1]) is differs
    assert karmada.judge(case).status == "passed"
    wrong = deepcopy(case)
    wrong["expect"]["timeline"][-1]["conditions"]["m"][0] = {**READY, "status": "False"}
    assert karmada.judge(wrong).status == "failed"


def test_alternatives_are_understood_wherever_they_stand() -> None:
    case = next(
        c
        for c in karmada.cases(CASES)
        if any((c["expect"].get("taints") or {}).values()) and "timeline" not in c["expect"]
    )
    name, taints = next((name, taints) for name, taints in case["expect"]["taints"].items() if taints)
    strange = [{"key": "strange", "effect": "NoSchedule"}]
    for options, status in (([strange, taints], "passed"), ([strange, []], "failed")):
        expect = {**case["expect"], "taints": {**case["expect"]["taints"], name: {"any_of": options}}}
        assert karmada.judge({**case, "expect": expect}).status == status


@pytest.mark.parametrize(
    "given",
    [
        {"params": {"moonPhase": "full"}},
        {"state": {"moon": {}}},
        {"state": {"conditionCache": {"m": {"moon": 1}}}},
        {"observations": [{"at": NOON, "moon": "full"}]},
        {"observations": [{"at": NOON, "event": "eclipse"}]},
    ],
)
def test_an_input_that_nobody_knows_is_never_passed_over(given: Any) -> None:
    case = _monitored(NOON, ({"at": NOON}, READY))
    assert karmada.judge(case).status == "passed"
    assert karmada.judge({**case, "given": {**case["given"], **given}}).status != "passed"


def test_admission_can_be_told_as_what_is_allowed() -> None:
    refused = next(c for c in karmada.cases(CASES) if c["area"].endswith(".validation") and c["expect"]["error"])
    assert karmada.judge({**refused, "expect": {"allowed": False}}).status == "passed"
    assert karmada.judge({**refused, "expect": {"allowed": True}}).status == "failed"


def test_what_is_unknown_for_an_older_reason() -> None:
    """Karmada keeps the reason, muster says what holds now; and only a renewed lease brings a cluster back."""
    older = {**UNKNOWN, "reason": "Older"}
    case = _monitored(NOON, ({"at": NOON}, older), ({"at": "2026-01-01T12:00:41Z"}, older), after=older)
    case["given"]["objects"][0]["status"]["conditions"] = [older]
    assert karmada.judge(case).status == "passed"
    back = {"cluster": "m", "condition": READY}
    steps = (({"at": "2026-01-01T12:00:41Z"}, UNKNOWN), ({"at": "2026-01-01T12:00:50Z", "setCondition": back}, READY))
    assert karmada.judge(_monitored(NOON, ({"at": NOON}, READY), *steps)).status == "passed"


def test_what_a_case_file_refers_to_twice_is_written_twice() -> None:
    case = next(c for c in karmada.cases(CASES) if c["id"] == "taintpolicy-validation-01")
    policy = deepcopy(case["given"]["objects"][0])
    policy["spec"]["taints"] = [{"key": "twice", "effect": "NoSchedule"}] * 2
    message = "Duplicate taint with the same key(twice) and effect(NoSchedule) is not allowed"
    expect = {"error": {"field": "spec.taints[0]", "type": "duplicate", "message": message}}
    assert karmada.judge({**case, "given": {**case["given"], "objects": [policy]}, "expect": expect}).status == "passed"
