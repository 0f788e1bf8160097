"""Attempts are bounded, with a pause between two that grows and is never the same."""

import pytest

from muster.git.push import attempts, branch_attempts, jittered


def test_there_is_one_attempt_more_than_there_are_delays() -> None:
    waited: list[float] = []
    seen = [(number, list(waited)) for number in attempts([1.0, 2.0], waited.append)]
    assert seen == [(1, []), (2, [1.0]), (3, [1.0, 2.0])]


def test_nobody_waits_after_the_last_attempt_or_the_one_that_did_it() -> None:
    waited: list[float] = []
    next(attempts([1.0], waited.append))
    assert list(attempts([], waited.append)) == [1]
    assert waited == []


@pytest.mark.parametrize(("share", "delays"), [(0.0, [0, 0, 0, 0]), (0.5, [0.5, 1, 2, 2]), (1.0, [1, 2, 4, 4])])
def test_bounds_double_up_to_the_most(share: float, delays: list[float]) -> None:
    assert list(jittered(4, base_seconds=1, most_seconds=4, random=lambda: share)) == delays


@pytest.mark.parametrize(("each", "made"), [(0.0, 0), (30.0, 4), (1.0, 120), (100.0, 3)])
def test_the_patient_go_on_for_a_time_and_a_few_times_at_least(each: float, made: int) -> None:
    passed, waited, seen = [0.0], list[float](), 0
    for seen in branch_attempts(3, 120.0, clock=lambda: sum(passed), sleep=waited.append):
        passed.append(each)
        if seen == 1000:
            break
    assert seen == (made or 1000)
    assert max(waited) <= 1.0
