"""How long leases last, so that heartbeats stay bearable."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.rules.heartbeats.durations import STEPS, least_duration


@pytest.mark.parametrize(
    ("durations", "limit", "step"),
    [
        ({60: 1200}, 20.0, 0),
        ({60: 1201}, 20.0, 90),
        ({60: 10_000}, 20.0, 720),
        ({60: 10_000, 3600: 1000}, 20.0, 720),
        ({3600: 10_000}, 3.0, 0),
        ({}, 1.0, 0),
        ({60: 10_000}, 1e-9, STEPS[-1]),
    ],
)
def test_least_duration(durations: dict[int, int], limit: float, step: int) -> None:
    assert least_duration(Counter(durations), limit) == step


def test_steps_grow_by_half_at_most_and_end_after_about_a_day() -> None:
    assert list(STEPS) == sorted(set(STEPS))
    assert all(after <= before * 1.5 for before, after in itertools.pairwise(STEPS))
    assert STEPS[0] == 30
    assert 12 * 3600 <= STEPS[-1] <= 24 * 3600


@given(
    st.dictionaries(st.integers(min_value=1, max_value=7200), st.integers(min_value=1, max_value=5000), max_size=5),
    st.floats(min_value=0.01, max_value=1000),
)
def test_the_step_suffices_and_the_one_before_it_does_not(durations: dict[int, int], limit: float) -> None:
    def rate(step: int) -> float:
        return sum(count / max(seconds, step) for seconds, count in durations.items())

    step = least_duration(Counter(durations), limit)
    assert rate(step) <= limit or step == STEPS[-1]
    if step:
        position = STEPS.index(step)
        assert rate(STEPS[position - 1] if position else 0) > limit
