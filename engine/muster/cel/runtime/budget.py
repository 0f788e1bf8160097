"""Counting what an evaluation costs, in units that do not depend on the machine.

One unit is about one node evaluated once. What a single pass over the expression costs is known beforehand; only loops
and operations on long values are counted as they happen, before they happen. A meter is a list of one integer, the
units left: the cheapest thing that compiled code can decrease.
"""

from typing import TypeAlias

from muster.cel.errors import BudgetExceeded

Meter: TypeAlias = list[int]

EXPRESSION_LIMIT = 10_000_000
"""Units that one evaluation of one expression may cost unless the caller says otherwise."""


FREE = 1 << 62
"""Units that nothing spends: for helpers whose caller has paid."""


def spend(meter: Meter, site: int, units: int) -> None:
    """Take units from the meter. Raises BudgetExceeded, naming the offset `site`, when too few are left."""
    meter[0] -= units
    if meter[0] < 0:
        raise BudgetExceeded("", site)


class Budget:
    """Units that several evaluations share, such as all expressions on one object."""

    __slots__ = ("left", "limit")

    def __init__(self, limit: int) -> None:
        """Start with `limit` units."""
        self.limit = limit
        self.left = limit
