# ruff: noqa: E501 - one expression per line
"""Lists as sets: numbers are equal across types."""

import pytest

from tests.cel.library.tables import holds

HOLDS = """
sets.contains([1, 2.0], [2u]) && sets.equivalent([1, 1], [1u]) && sets.intersects([1], [2, 1]) && !sets.intersects([], [1])
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)
