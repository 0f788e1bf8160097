"""The two conditions of a Placement, with upstream's reasons and messages."""

from typing import NamedTuple

from muster.rules.placements.filters import Eligible

SATISFIED, MISCONFIGURED = "PlacementSatisfied", "PlacementMisconfigured"


class Said(NamedTuple):
    """What a condition says."""

    status: str
    reason: str
    message: str


def satisfied(eligible: Eligible, cluster_sets: tuple[str, ...], wanted: int | None, selected: int) -> Said:
    """Say whether as many clusters are chosen as are wanted; the first reason that applies. So it is where a choice
    is kept because the Placement is misconfigured, too."""
    if not selected:
        if not eligible.bound:
            message = "No valid ManagedClusterSetBindings found in placement namespace"
            return Said("False", "NoManagedClusterSetBindings", message)
        if not eligible.sets:
            message = f"None of ManagedClusterSets [{','.join(cluster_sets)}] is bound to placement namespace"
            return Said("False", "NoIntersection", message)
        if not eligible.available:
            message = f"All ManagedClusterSets [{','.join(eligible.sets)}] have no member ManagedCluster"
            return Said("False", "AllManagedClusterSetsEmpty", message)
        return Said("False", "NoManagedClusterMatched", "No ManagedCluster matches any of the cluster predicate")
    if wanted is None or selected >= wanted:
        return Said("True", "AllDecisionsScheduled", "All cluster decisions scheduled")
    return Said("False", "NotAllDecisionsScheduled", f"{wanted - selected} cluster decisions unscheduled")


def misconfigured(error: str) -> Said:
    """Say whether the Placement can be carried out as it is written."""
    if error:
        return Said("True", "Misconfigured", error)
    return Said("False", "Succeedconfigured", "Placement configurations check pass")
