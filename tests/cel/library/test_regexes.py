"""Regular expressions: found, replaced, extracted."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
'abc123'.find('[0-9]+') == '123' && 'a1b2'.findAll('[0-9]') == ['1', '2'] && 'a1b2'.findAll('[0-9]', 1) == ['1']
regex.replace('a1b2', '([0-9])', '<\\\\1>') == 'a<1>b<2>' && regex.extract('k=v', '=(.)').value() == 'v'
regex.extractAll('a1b2', '[0-9]') == ['1', '2'] && !regex.extract('a', 'b').hasValue()
""".strip().splitlines()

FAILS = """
'abc'.matches('(')
regex.replace('a', 'a', '\\\\1')
regex.extract('a', '(a)(b)')
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
