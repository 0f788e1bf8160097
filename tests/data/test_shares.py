"""Percentages."""

from fractions import Fraction

import pytest

from muster.data.shares import parse_share


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("25%", Fraction(1, 4)),
        ("0%", Fraction(0)),
        ("12.5%", Fraction(1, 8)),
        ("-10%", Fraction(-1, 10)),
        ("", None),
        ("%", None),
        ("25", None),
        (".5%", None),
        ("5.%", None),
        ("1e3%", None),
        ("+5%", None),
        (" 5%", None),
        ("\u0665%", None),
        ("5%%", None),
        (f"{'9' * 5000}%", None),
        (f"1.{'9' * 5000}%", None),
    ],
)
def test_parse_share(text: str, share: Fraction | None) -> None:
    assert parse_share(text) == share
