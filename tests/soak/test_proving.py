"""The translation of many random expressions, held against the evaluator."""

from random import Random

import pytest

from tests.features.lint.proving import generated_policies
from tests.features.lint.proving.generated import Generator, check


@pytest.mark.parametrize("seed", range(20))
def test_the_solver_and_the_evaluator_agree(seed: int) -> None:
    random = Random(1_000 + seed)
    seen = set[str]()
    for _ in range(40):
        seen |= check(Generator(random).boolean(random.randrange(1, 5)), random)
    assert seen == {"true", "false", "fails"}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.filterwarnings("ignore::SyntaxWarning")  # of generated code that indexes what is always null
def test_nothing_that_is_proved_of_policies_without_types_is_ever_seen(seed: int) -> None:
    random = Random(5_000 + seed)
    policies = [generated_policies.policy(random) for _ in range(60)]
    assert sum(generated_policies.hold(found, random) for found in policies if found is not None) > 30
