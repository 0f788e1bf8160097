"""Quantities as numbers, however large they are written."""

import pytest

from muster.data.tree import Tree
from muster.rules.placements.candidates import approximate

MOST = float(2**63)


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        ("2Ki", 2048.0),
        ("1500m", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        (7, 7.0),
        ("1e-999", 0.0),
        ("1e999", MOST),
        ("-1e999", -MOST),
        (10**400, MOST),
        ("99999999999999999999E", MOST),
        (float("inf"), MOST),
        (True, None),
        ("much", None),
        ("9" * 65, None),
    ],
)
def test_a_quantity_is_a_number_that_can_be_compared(quantity: Tree, number: float | None) -> None:
    assert approximate(quantity) == number
