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
