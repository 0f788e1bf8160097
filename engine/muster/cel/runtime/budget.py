"""Counting what an evaluation costs, in units that do not depend on the machine.

One unit is about one node evaluated once, and never more than about a tenth of a microsecond of work: what takes
longer costs more. What a single pass over the expression costs is known beforehand (`muster.cel.weights`); only loops
and operations on long values are counted as they happen, before they happen. Memory follows: whatever is built is paid
for with at least a unit per 32 octets.

A meter is a list, the cheapest thing that compiled code can decrease: its first item is the units left, its second,
once there is one, what `library.regexes` remembers of this evaluation.
"""

from typing import Any, TypeAlias

from muster.cel.errors import BudgetExceeded

Meter: TypeAlias = list[Any]

EXPRESSION_LIMIT = 10_000_000
"""Units that one evaluation of one expression may cost unless the caller says otherwise."""


EXPLAINING_LIMIT = 1_000_000
"""Units that may be spent, on top, on finding out why an evaluation failed: by the slower engine, for a message."""

FREE = 1 << 62
"""Units that nothing spends: for constants that are worked out when an expression is compiled."""

PRECISE = 25
"""Units of one operation on instants or spans that carry nanoseconds or move with `now`: the plain ones are free."""


def spend(meter: Meter, site: int, units: int) -> None:
    """Take units from the meter. Raises BudgetExceeded, naming the offset `site`, when too few are left."""
    meter[0] -= units
    if meter[0] < 0:
        raise BudgetExceeded("", site)


class CostBudget:
    """Units that several evaluations share, such as all that a policy asks of one object.

    An evaluation may run inside another, as that of a variable does: it takes what it spends from the other's meter, so
    that a chain of them cannot spend more than one alone.
    """

    __slots__ = ("left", "limit", "running")

    def __init__(self, limit: int) -> None:
        """Start with `limit` units."""
        self.limit = limit
        self.left = limit
        self.running: Meter | None = None

    def available(self) -> int:
        """Return what an evaluation that begins now may spend."""
        return self.left if self.running is None else max(int(self.running[0]), 0)

    def begin(self, meter: Meter) -> Meter | None:
        """Note the meter of an evaluation that begins; return that of the one that it runs in."""
        outer, self.running = self.running, meter
        return outer

    def end(self, outer: Meter | None, cost: int) -> None:
        """Note that the evaluation has ended, in the one that it ran in, and what it cost."""
        self.running = outer
        if outer is None:
            self.left = max(self.left - cost, 0)
        else:
            outer[0] -= cost
