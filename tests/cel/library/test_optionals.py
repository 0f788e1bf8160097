"""Optionals: values that may be absent."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
optional.of(1).or(optional.of(2)).value() == 1 && optional.none().orValue(3) == 3 && {'a': 1}.?b.orValue(2) == 2
optional.of(2).optMap(x, x * 2).value() == 4 && !optional.of(1).optFlatMap(x, optional.none()).hasValue()
[optional.of(1), optional.none()].unwrapOpt() == [1] && optional.ofNonZeroValue('').hasValue() == false
""".strip().splitlines()

FAILS = """
optional.none().value()
optional.of(1) + 1
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
