"""URLs: their parts, and invalid ones."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
url('https://[::1]:80/p?x=1&x=2').getHostname() == '::1' && url('https://a.b:80/').getPort() == '80' && !isURL('a b')
url('https://a.b/p?x=1&x=2&y=').getQuery() == {'x': ['1', '2'], 'y': ['']} && url('/only/path').getScheme() == ''
""".strip().splitlines()

FAILS = """
url('not a url')
url('http://a:b/')
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
