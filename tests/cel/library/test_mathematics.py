"""The math extension: integers stay exact, and overflow is an error."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
math.greatest(1, 2.5, 2u) == 2.5 && math.least([3, 1]) == 1 && math.abs(-1) == 1 && math.sign(-0.5) == -1.0
math.round(2.5) == 3.0 && math.round(-0.4) == 0.0 && math.trunc(-1.9) == -1.0 && math.ceil(1.1) == 2.0
math.bitShiftRight(-1, 1) == 9223372036854775807 && math.bitShiftLeft(1, 63) == -9223372036854775808
math.bitNot(0u) == 18446744073709551615u && math.bitAnd(6, 3) == 2 && math.sqrt(9) == 3.0 && math.isNaN(math.sqrt(-1))
""".strip().splitlines()

FAILS = """
math.abs(-9223372036854775808)
math.bitShiftLeft(1, -1)
math.greatest('a')
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
