"""Quantities: `500m`, `2Gi`, `1e3`, exact however large."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
quantity('1Ki') == quantity('1024') && quantity('500m').add(quantity('0.5')).asInteger() == 1 && isQuantity('1.5Gi')
quantity('2').isGreaterThan(quantity('1500m')) && quantity('1').sub(2).sign() == -1 && !quantity('1m').isInteger()
quantity('1e3').asInteger() == 1000 && quantity('0.5').asApproximateFloat() == 0.5 && !isQuantity('1KiB')
quantity('1E').compareTo(quantity('1000P')) == 0 && type(quantity('1')) == kubernetes.Quantity
""".strip().splitlines()

FAILS = """
quantity('1KiB')
quantity('0.5').asInteger()
quantity('1E').add(quantity('99E')).asInteger()
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
