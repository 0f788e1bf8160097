"""Conditions in time: the instant moves with the status and with nothing else."""

import pytest

from muster.data.tree import Tree
from muster.rules.transitions import condition
from tests.support.example import NOON

THEN = "2025-12-31T00:00:00Z"
NOW = "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("before", "since"),
    [
        pytest.param(None, NOW, id="a new one"),
        pytest.param({"status": "True", "lastTransitionTime": THEN}, THEN, id="the same status"),
        pytest.param({"status": "True", "reason": "Other", "lastTransitionTime": THEN}, THEN, id="another reason"),
        pytest.param({"status": "False", "lastTransitionTime": THEN}, NOW, id="another status"),
        pytest.param({"status": "True"}, NOW, id="the same, and nobody knows since when"),
        pytest.param({"status": "True", "lastTransitionTime": 7}, NOW, id="or what is written there is no time"),
    ],
)
def test_since_when(before: Tree, since: str) -> None:
    decided = condition(before, status="True", reason="R", message="M", now=NOON)
    assert decided == {"status": "True", "reason": "R", "message": "M", "lastTransitionTime": since}


def test_the_generation_that_it_speaks_of_stands_beside_it() -> None:
    assert condition(None, status="True", reason="R", message="", now=NOON, generation=0)["observedGeneration"] == 0
