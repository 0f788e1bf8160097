"""Kubernetes quantities (`11700m`, `17474228Ki`, `342068531454`) as numbers, for scores that compare them."""

import re

from muster.data.tree import Tree

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?", re.ASCII)
_FACTORS = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip


#: A quantity that is larger is capped (the API conventions' "no number may be greater than 2^63-1 in magnitude").
_MOST = float(2**63)


def approximate(value: Tree) -> float | None:
    """Return the number that a quantity stands for, as a float; None where it is no quantity."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(max(-_MOST, min(value, _MOST)))
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) and len(value) <= 64 else None
    if match is None:
        return None
    number = float(match[1])
    factor = _FACTORS[match[2]] if match[2] else 10.0 ** min(int(match[3] or 0), 300)
    return max(-_MOST, min(number * factor, _MOST))
