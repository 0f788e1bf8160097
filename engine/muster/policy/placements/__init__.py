"""Placements as they are written: read, compiled and checked once, so that deciding only evaluates."""

from muster.policy.placements.compiled import CompiledPlacement, Misconfigured, compile_placement
from muster.policy.placements.request import Group, Prioritizer, Request, Spread
from muster.policy.placements.selectors import ClusterView, Predicate
from muster.policy.placements.tolerations import Patience, Taint, Toleration

__all__ = [
    "ClusterView",
    "CompiledPlacement",
    "Group",
    "Misconfigured",
    "Patience",
    "Predicate",
    "Prioritizer",
    "Request",
    "Spread",
    "Taint",
    "Toleration",
    "compile_placement",
]
