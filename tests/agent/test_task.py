"""What an adapter does about its Job, and what it says of it."""

import pytest

from muster.agent.task import GENERATION, assess
from muster.model.tree import Tree


def job(generation: int, **conditions: str) -> Tree:
    return {
        "metadata": {"annotations": {GENERATION: str(generation)}},
        "status": {"conditions": [{"type": type_, "status": status} for type_, status in conditions.items()]},
    }


@pytest.mark.parametrize(
    ("task", "action", "available"),
    [
        (None, "create", "Unknown"),
        (job(1, Complete="True"), "create", "Unknown"),
        (job(2), "none", "Unknown"),
        (job(2, Failed="False"), "none", "Unknown"),
        (job(2, Complete="True"), "reuse", "True"),
        (job(2, Failed="True"), "none", "False"),
        ({}, "create", "Unknown"),
    ],
)
def test_assessment_for_generation_2(task: Tree, action: str, available: str) -> None:
    found = assess(task, 2)
    assert (found.action, found.available) == (action, available)
