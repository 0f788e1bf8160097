"""What stages are given is what their signatures declare, and comes before them."""

from collections.abc import Iterator
from typing import Any, get_args

import pytest

from muster.data.decision import Failed
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.pipeline import STAGES, terms_of
from muster.rules.stages import FleetTerm, Local, ObjectTerm, Stage, StageTerm, StepRecord, parameters
from tests.rules.test_pipeline import fleet_of
from tests.support.example import NOON
from tests.support.fuzzing import corpus

FLEET = fleet_of(corpus(), NOON)


def passed_on(stage: Stage) -> set[type[StageTerm]]:
    """The terms that a stage passes on, by its return annotation."""
    return {sort for sort in _types(stage.decide.__annotations__["return"]) if issubclass(sort, StageTerm)}


def _types(annotation: Any) -> Iterator[type]:
    parts = get_args(annotation)
    for part in parts:
        yield from _types(part)
    if not parts and isinstance(annotation, type):
        yield annotation


@pytest.mark.parametrize("number", range(len(STAGES)), ids=[stage.name for stage in STAGES])
def test_a_stage_is_given_what_there_is_before_it(number: int) -> None:
    terms = terms_of(FLEET, NOON)
    there = {*terms.of_fleet, *terms.passed}.union(*map(passed_on, STAGES[:number]))
    assert set(parameters(STAGES[number].decide)) <= there


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_the_first_parameter_says_which_sort_of_stage_it_is(stage: Stage) -> None:
    first = next(iter(stage.decide.__annotations__.values()))
    assert first is (View if isinstance(stage, Local) else Shared)


def test_what_a_stage_passes_on_is_in_its_signature() -> None:
    fleet, terms, seen = FLEET, terms_of(FLEET, NOON), set[type]()
    for stage in STAGES:
        outcomes = list(stage.ask(fleet, terms))
        passed = {type(one) for one in outcomes if isinstance(one, StageTerm)}
        assert passed <= passed_on(stage), stage.name
        seen |= passed
        terms = terms.after(outcomes)
        fleet = fleet.with_outcomes(one for one in outcomes if not isinstance(one, StageTerm | Failed))
    assert any(issubclass(sort, ObjectTerm) for sort in seen)


def test_what_wide_stages_pass_on_to_clusters_says_which_it_concerns() -> None:
    """Otherwise a run could not tell which clusters to decide again."""
    local = {sort for stage in STAGES if isinstance(stage, Local) for sort in parameters(stage.decide)}
    from_wide = {sort for stage in STAGES if not isinstance(stage, Local) for sort in passed_on(stage)}
    assert {sort.__name__ for sort in from_wide & local} == {"Allowance", "LeaseFloor", "RolloutMoves", "WorkOrders"}
    assert all(issubclass(sort, FleetTerm | ObjectTerm) for sort in from_wide & local)


def test_what_is_passed_on_is_read_by_a_later_stage() -> None:
    for number, stage in enumerate(STAGES):
        read = {sort for later in STAGES[number + 1 :] for sort in parameters(later.decide)}
        assert passed_on(stage) - {StepRecord} <= read, stage.name
