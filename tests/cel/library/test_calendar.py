# ruff: noqa: E501 - one expression per line
"""Parts of timestamps and durations, in a given time zone."""

import pytest

from tests.cel.library.tables import has_no_value, holds

HOLDS = """
timestamp('2009-02-13T23:31:30Z').getHours('2:30') == 2 && timestamp('2009-02-13T23:31:30Z').getDayOfYear() == 43
duration('1h30m5.25s').getMinutes() == 90 && duration('5.25s').getMilliseconds() == 250 && duration('-90m').getHours() == -1
""".strip().splitlines()

FAILS = """
timestamp(0).getHours('Mars/Olympus')
duration('1s').getFullYear()
""".strip().splitlines()


@pytest.mark.parametrize("expression", HOLDS)
def test_holds(expression: str) -> None:
    assert holds(expression)


@pytest.mark.parametrize("expression", FAILS)
def test_has_no_value(expression: str) -> None:
    assert has_no_value(expression)
