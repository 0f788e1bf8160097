# ruff: noqa: E501 - one expression per line
"""`format`: the output of each verb, and what no verb accepts."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
'%s %d %.2f %e %b %x %X %o %%'.format(['a', 1, 1.005, 1500.0, 5, 'hi', 255, 8]) == 'a 1 1.00 1.500000e+03 101 6869 FF 10 %'
'%s'.format([{'b': [1.5, null], 'a': true}]) == '{a: true, b: [1.5, null]}'
'%s %s'.format([timestamp(0), duration('90m')]) == '1970-01-01T00:00:00Z 5400s'
""".strip().splitlines()

FAILS = """
'%d'.format(['a'])
'%s'.format([])
'%q'.format([1])
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
