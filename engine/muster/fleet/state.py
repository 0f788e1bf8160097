"""The state of a cluster in one word, as in commit subjects, the page, the history and the metrics.

It is the status of the headline condition, except if the hub denied the cluster, or accepted it and its agent has not
joined yet. In these two the condition says nothing about the cluster's health, so they are not counted as Unknown.
"""

from collections.abc import Mapping
from typing import Final

from muster.data.kinds import ACCEPTED, MANAGED_CLUSTER, Kind
from muster.data.tree import Tree, dig
from muster.fleet.hearing import JOINED

DENIED: Final = "Denied"
NOT_JOINED: Final = "NotJoined"
#: All states. A cluster has none before anything is decided.
STATES: Final = ("True", "False", "Unknown", DENIED, NOT_JOINED)


def state_of(kind: Kind, conditions: Mapping[str, Tree]) -> str:
    """Return a cluster's state from its conditions by type; empty if there is none."""
    status = dig(conditions.get(kind.headline), "status")
    if kind is MANAGED_CLUSTER:
        accepted = dig(conditions.get(ACCEPTED), "status")
        if accepted in ("False", "Unknown"):
            return DENIED
        if accepted == "True" and status not in ("True", "False") and dig(conditions.get(JOINED), "status") != "True":
            return NOT_JOINED
    return status if isinstance(status, str) and status in STATES else ""


def since_of(kind: Kind, conditions: Mapping[str, Tree]) -> Tree:
    """Return the condition whose last transition began a cluster's state; None if there is none."""
    registering = state_of(kind, conditions) in (DENIED, NOT_JOINED)
    return conditions.get(ACCEPTED if registering else kind.headline)
