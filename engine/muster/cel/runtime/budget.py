"""Count the cost of an evaluation, in units that do not depend on the machine.

One unit is about one evaluation of one node, and at most about a tenth of a microsecond of work. The cost of a single
pass over the expression is known beforehand (`muster.cel.weights`). Only loops and operations on long values pay at run
time, always before they do their work. This also limits memory: building a value costs at least a unit per 32 octets.

A meter is a list, because that is the cheapest object for compiled code to decrease. Its first item is the units that
are left. `library.regexes` adds a second item, the patterns of this evaluation.
"""

from typing import Any, TypeAlias

from muster.cel.errors import BudgetExceeded

Meter: TypeAlias = list[Any]

EXPRESSION_LIMIT = 10_000_000
"""The default limit of one evaluation of one expression, in units."""

EXPLAINING_LIMIT = 1_000_000
"""The additional limit for finding out why an evaluation failed, with the slower engine."""

FREE = 1 << 62
"""Units for evaluating constants at compile time: practically no limit."""

PRECISE = 25
"""Units of one operation on instants or spans that have nanoseconds or move with `now`; plain ones are free."""


def spend(meter: Meter, site: int, units: int) -> None:
    """Take units from the meter. Raises BudgetExceeded, naming the offset `site`, when too few are left."""
    meter[0] -= units
    if meter[0] < 0:
        raise BudgetExceeded("", site)


class CostBudget:
    """Units that several evaluations share, such as all expressions of a policy for one object.

    An evaluation may run inside another one, as that of a variable does. It then spends from the outer meter, so that a
    chain of them cannot spend more than one alone.
    """

    __slots__ = ("left", "limit", "running")

    def __init__(self, limit: int) -> None:
        """Start with `limit` units."""
        self.limit = limit
        self.left = limit
        self.running: Meter | None = None

    def available(self) -> int:
        """Return the units that an evaluation may spend that begins now."""
        return self.left if self.running is None else max(int(self.running[0]), 0)

    def begin(self, meter: Meter) -> Meter | None:
        """Set the meter of an evaluation that begins, and return the meter of the outer one."""
        outer, self.running = self.running, meter
        return outer

    def end(self, outer: Meter | None, cost: int) -> None:
        """Restore the outer meter at the end of an evaluation, and charge its cost."""
        self.running = outer
        if outer is None:
            self.left = max(self.left - cost, 0)
        else:
            outer[0] -= cost
