"""Derived files that people damaged: a finding at most, never a fault, and the run ends."""

import random

import pytest

from tests.support.damages import damages, example, faults


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_derived_file_is_no_fault(seed: int) -> None:
    """One damage of each file; `make soak` tries all of them."""
    chance, texts = random.Random(seed), example()
    damaged = {path: chance.choice([*damages(text)]) for path, text in texts.items() if path.startswith("derived/")}
    assert faults({**texts, **damaged}) == []
