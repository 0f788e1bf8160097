"""How a cluster stands, in one word: what commit subjects, the page, its history and metrics count.

It is the status of the headline condition, but for two states in which that condition says nothing of the cluster's
health: the hub has denied the cluster, or the hub has accepted it and its agent has not joined yet. Both are decisions
of people or a step of registration, so they count in no percentage and are not called Unknown.
"""

from collections.abc import Mapping
from typing import Final

from muster.fleet.hearing import JOINED
from muster.model.kinds import ACCEPTED, MANAGED_CLUSTER, Kind
from muster.model.tree import Tree, dig

DENIED: Final = "Denied"
NOT_JOINED: Final = "NotJoined"
#: Every state; a cluster of which nothing is decided has none.
STATES: Final = ("True", "False", "Unknown", DENIED, NOT_JOINED)


def state_of(kind: Kind, conditions: Mapping[str, Tree]) -> str:
    """Return the state of a cluster by its conditions, by type; empty if there is none."""
    status = dig(conditions.get(kind.headline), "status")
    if kind is MANAGED_CLUSTER:
        accepted = dig(conditions.get(ACCEPTED), "status")
        if accepted in ("False", "Unknown"):
            return DENIED
        if accepted == "True" and status not in ("True", "False") and dig(conditions.get(JOINED), "status") != "True":
            return NOT_JOINED
    return status if isinstance(status, str) and status in STATES else ""


def since_of(kind: Kind, conditions: Mapping[str, Tree]) -> Tree:
    """Return the condition that says since when a cluster stands as it does; None if there is none."""
    by_people = state_of(kind, conditions) in (DENIED, NOT_JOINED)
    return conditions.get(ACCEPTED if by_people else kind.headline)
