"""Karmada's cases that the project ships all pass, none of them by accident."""

from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance import karmada
from tests.conformance.__main__ import main
from tests.conformance.karmada_differences import expectation

CASES = Path(__file__).parent / "cases"
#: What a case asserts by itself, each with something else in its place.
ASSERTED = {
    "remedyActions": ["Conformance"],
    "taints": [{"key": "conformance", "effect": "NoSchedule"}],
    "conditions": [{"type": "Ready", "status": "Perhaps"}],
    "nodeConditions": [{"type": "ServiceDomainNameResolutionReady", "status": "Perhaps"}],
    "trafficBlockClusters": ["conformance"],
    "serviceLocations": [{"name": "conformance", "clusters": []}],
}


def test_every_case_passes() -> None:
    outcomes = karmada.run(CASES)
    assert len(outcomes) > 70
    assert [outcome for outcome in outcomes if outcome.status == "failed"] == []
    assert {outcome.area.split(".")[0] for outcome in outcomes if outcome.status == "skipped"} == {"failover"}


def _perturbed() -> Iterator[Any]:
    for case in karmada.cases(CASES):
        if case["area"].startswith("failover") or expectation(case)[1]:
            continue
        for field, other in ASSERTED.items():
            if case["expect"].get(field):
                wrong = deepcopy(dict(case))
                wrong["expect"][field] = dict.fromkeys(case["expect"][field], other)
                yield wrong


def test_every_case_fails_when_something_else_is_expected(tmp_path: Path) -> None:
    wrong = list(_perturbed())
    (tmp_path / "karmada.yaml").write_text(yaml.safe_dump({"cases": wrong}), encoding="utf-8")
    outcomes = karmada.run(tmp_path)
    assert len(outcomes) > 40
    assert [outcome.name for outcome in outcomes if outcome.status != "failed"] == []


def test_a_refusal_that_is_expected_but_not_given_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    remedy = {"apiVersion": "remedy.karmada.io/v1alpha1", "kind": "Remedy", "metadata": {"name": "r"}, "spec": {}}
    case = {
        "id": "sound", "area": "remedy.validation", "given": {"now": "2026-01-01T00:00:00Z", "objects": [remedy]},
        "expect": {"error": {"field": "spec.actions", "type": "required"}},
    }  # fmt: skip
    (tmp_path / "karmada.yaml").write_text(yaml.safe_dump({"cases": [case]}), encoding="utf-8")
    assert main(["karmada", "--cases", str(tmp_path)]) == 1
    assert "FAILED sound" in capsys.readouterr().out
