# ruff: noqa: E501 - one expression per line
"""Semantic versions: their order, valid and invalid ones."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
semver('1.2.3').compareTo(semver('1.2.3+build')) == 0 && semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))
semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && semver('1.0.0-1').isLessThan(semver('1.0.0-a'))
semver('v1.2', true) == semver('1.2.0') && !isSemver('01.2.3') && isSemver('01.2.3', true) && semver('1.2.3').minor() == 2
""".strip().splitlines()

FAILS = """
semver('1.2')
semver('1.2.3').compareTo(quantity('1'))
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
