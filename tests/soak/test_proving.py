"""The translation of many random expressions, held against the evaluator."""

from random import Random

import pytest

from tests.answers.proving.generated import Generator, check


@pytest.mark.parametrize("seed", range(20))
def test_the_solver_and_the_evaluator_agree(seed: int) -> None:
    random = Random(1_000 + seed)
    seen = set[str]()
    for _ in range(40):
        seen |= check(Generator(random).boolean(random.randrange(1, 5)), random)
    assert seen == {"true", "false", "fails"}
