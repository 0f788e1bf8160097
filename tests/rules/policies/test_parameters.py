"""What a Fleet may set parameters of built-in policies to, and what is said of anything else."""

from typing import Any

import pytest
import yaml

from muster.features.test.memory import MemorySnapshot
from muster.rules.policies.parameters import wanted
from muster.run.checking import check_snapshot

SETTINGS = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}}


@pytest.mark.parametrize(
    ("own", "given", "says"),
    [
        (5, 3, ""),
        (5, 0, "a whole number from 1 to 100"),
        (5, 101, "a whole number from 1 to 100"),
        (5, True, "a whole number from 1 to 100"),
        (5, "5", "a whole number from 1 to 100"),
        ("30s", "0s", ""),
        ("30s", "1h30m", ""),
        ("30s", "8785h", "a duration such as 30s, of at most 366 days"),
        ("30s", "soon", "a duration such as 30s, of at most 366 days"),
        ("30s", 30, "a duration such as 30s, of at most 366 days"),
        ([], ["a"], ""),
        ([], "a", "a list of texts"),
        ([], [1], "a list of texts"),
        (True, False, ""),
        (True, "yes", "true or false"),
        ("word", "other", ""),
        ("word", 1, "a text"),
    ],
)
def test_a_parameter_is_of_the_sort_of_the_policys_own(own: Any, given: Any, says: str) -> None:
    assert wanted(own, given) == says


def test_a_value_that_a_built_in_policy_cannot_take_is_an_error_of_the_fleet() -> None:
    params = {
        "cluster-ready": {"failureThreshold": "soon", "successThreshold": "1m"},
        "managed-cluster-available": {"graceFactor": 0},
    }
    files = {"fleet.yaml": yaml.safe_dump({**SETTINGS, "spec": {"policyParams": params}})}
    found = [one for one in check_snapshot(MemorySnapshot(files)).findings if one.code == "MUS280"]
    said = "ConditionPolicy/{} cannot take the parameter {}: it must be {}"
    assert [one.message for one in found] == [
        said.format("cluster-ready", "failureThreshold", "a duration such as 30s, of at most 366 days"),
        said.format("managed-cluster-available", "graceFactor", "a whole number from 1 to 100"),
    ]
    assert [(one.file, one.line) for one in found] == [("fleet.yaml", 8), ("fleet.yaml", 11)]


_POLICY = """\
apiVersion: muster.dev/v1alpha1
kind: ConditionPolicy
metadata: {name: p}
spec:
  target: {kind: ManagedCluster}
  type: example.com/T
  params: {within: 5m, slow: 5 min, office: Mon 9-17, regex: "(a", limit: 3, ratio: 1.5, "on": true, names: [a],
    price: {eu: 3}, mixed: [1, a], "none": null}
  rules:
  - {name: r, when: "%s", status: "False", reason: R}
"""


def _findings(expression: str) -> list[tuple[str, str]]:
    snapshot = MemorySnapshot({"p.yaml": _POLICY % expression})
    return [(found.message, found.hint) for found in check_snapshot(snapshot, None).sorted_findings() if found.file]


@pytest.mark.parametrize(
    "expression",
    [
        "duration(params.within) > duration('1m')",
        "params.limit > 2 && params.ratio > 1.0 && params.on && 'a' in params.names && params.price.eu > 1",
        "params['limit'] > 2 && params.price[self.metadata.name] > 1 && size(params.names) > 0",
        "params.mixed[0] == 1 && params.none == null",
        "'limit' in params && size(params) > 3 && params.exists(name, name == 'on')",
        "params.slow == 'other' && params.within != ''",
    ],
)
def test_a_sound_use_of_a_parameter_has_no_finding(expression: str) -> None:
    assert _findings(expression) == []


@pytest.mark.parametrize(
    ("expression", "message", "hint"),
    [
        ("params.lmiit > 2", "params has no field 'lmiit'", "did you mean 'limit'?"),
        ("has(params.onn)", "params has no field 'onn'", "did you mean 'on'?"),
        ("params['rato'] > 1.0", "params has no field 'rato'", "did you mean 'ratio'?"),
        ("duration(params.slow) > duration('1m')", "this call always fails: '5 min' is not a duration", ""),
        ("now.inWindow(params.office)", "this call always fails: ", ""),
        ("'a'.matches(params.regex)", "this call always fails: '(a' is not a regular expression", ""),
        ("params.limit == 'x'", "'==' is always false: an int never equals a string", ""),
        ("params.on > 2", "'>' cannot be applied to (bool, int)", ""),
        ("duration(params.limit) > duration('1m')", "", ""),
        ("self.metadata.nmae == 'a'", "self.metadata has no field 'nmae'", "did you mean 'name'?"),
        ("has(self.metadata.label.x)", "self.metadata has no field 'label'", "did you mean 'labels'?"),
        ("lease.metadata.namespce == 'a'", "lease.metadata has no field 'namespce'", "did you mean 'namespace'?"),
    ],
)
def test_a_slip_in_a_parameter_or_in_metadata_is_a_finding(expression: str, message: str, hint: str) -> None:
    ((found, advice),) = _findings(expression)
    assert found.startswith(message)
    assert hint in advice
