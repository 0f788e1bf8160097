"""The cost of expressions: how much work one may be, told before it runs."""

from muster.cel.cost.estimate import Cost, estimate, limit_issue
from muster.cel.cost.extent import DEFAULT_ITEMS, DEFAULT_LENGTH, Range

__all__ = ["DEFAULT_ITEMS", "DEFAULT_LENGTH", "Cost", "Range", "estimate", "limit_issue"]
