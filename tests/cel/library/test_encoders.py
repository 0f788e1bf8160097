"""Base64, there and back."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
base64.encode(b'hi') == 'aGk=' && base64.decode('aGk') == b'hi'
""".strip().splitlines()

FAILS = """
base64.decode('***')
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
