"""What an adapter does about its Job, and what it says of it."""

import pytest

from muster.agents.report.job import GENERATION, assess, only_job
from muster.data.tree import Tree


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
        ({"metadata": {}, "status": job(2, Complete="True")["status"]}, "reuse", "True"),
        ({"metadata": {"annotations": None}, "status": {}}, "none", "Unknown"),
    ],
)
def test_assessment_for_generation_2(task: Tree, action: str, available: str) -> None:
    found = assess(task, 2)
    assert (found.action, found.available) == (action, available)


@pytest.mark.parametrize("said", ["two", "0", "", "2.0", True, ["2"]])
def test_an_annotation_that_is_no_generation_is_a_slip(said: Tree) -> None:
    with pytest.raises(ValueError, match=f"{GENERATION} is not a generation"):
        assess({"metadata": {"annotations": {GENERATION: said}}}, 2)


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (None, "it does not hold a Job"),
        ([], "it does not hold a Job"),
        ("job", "it does not hold a Job"),
        ({"kind": "Pod", "metadata": {}}, "it holds a Pod, not a Job"),
        ({"kind": "List", "items": []}, "it holds 0 Jobs, not one"),
        ({"kind": "JobList", "items": [job(1), job(2)]}, "it holds 2 Jobs, not one"),
        ({"kind": "List", "items": [{"kind": "Pod"}]}, "it holds a Pod, not a Job"),
    ],
)
def test_what_is_not_one_job(document: Tree, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        only_job(document)


def test_the_only_job_of_a_list() -> None:
    assert only_job({"apiVersion": "v1", "kind": "List", "items": [job(2)]}) == job(2)
