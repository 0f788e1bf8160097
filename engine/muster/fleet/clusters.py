"""A cluster's state in one word, and cluster sets: facts that rules and features share.

Commit subjects, the page, the history and the metrics count clusters by state. It is the status of the headline
condition, except if the hub denied the cluster, or accepted it and its agent has not joined yet. In these two the
condition says nothing about the cluster's health, so they are not counted as Unknown.

Source of the sets: upstream's default-set and managedclusterset controllers.
"""

from collections.abc import Mapping
from typing import Final

from muster.data.kinds import ACCEPTED, MANAGED_CLUSTER, Kind
from muster.data.tree import Tree, dig
from muster.dataclass import dataclass
from muster.fleet.objects import Object

#: The condition of a cluster whose agent has reported once.
JOINED: Final = "ManagedClusterJoined"
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


@dataclass(frozen=True, slots=True)
class ClusterState:
    """How a cluster is: its acceptance (`yes`, `no`, `denied`), its state, why it is in it, and since when.

    `status` is that of its headline condition. The reason and the message of a denied cluster are those of the denial.
    """

    accepted: str
    state: str
    status: str
    reason: str
    message: str
    since: str

    @classmethod
    def of(cls, kind: Kind, conditions: Mapping[str, Tree]) -> "ClusterState":
        """Read the conditions of a whole cluster, by type."""
        accepted = str(dig(conditions.get(ACCEPTED), "status"))
        accepted_text = {"True": "yes", "False": "denied"}.get(accepted, "no") if kind is MANAGED_CLUSTER else "yes"
        state, headline = state_of(kind, conditions), conditions.get(kind.headline)
        explaining = conditions.get(ACCEPTED) if state == DENIED else headline
        texts = (
            dig(explaining, "reason"),
            dig(explaining, "message"),
            dig(since_of(kind, conditions), "lastTransitionTime"),
        )
        return cls(accepted_text, state, str(dig(headline, "status") or ""), *(str(text or "") for text in texts))


def since_of(kind: Kind, conditions: Mapping[str, Tree]) -> Tree:
    """Return the condition whose last transition began a cluster's state; None if there is none."""
    registering = state_of(kind, conditions) in (DENIED, NOT_JOINED)
    return conditions.get(ACCEPTED if registering else kind.headline)


#: The label that names a cluster's set.
CLUSTER_SET = "cluster.open-cluster-management.io/clusterset"
AUTO_UPDATE = "cluster.open-cluster-management.io/autoupdate"
DEFAULT, GLOBAL = "default", "global"

#: The sets that every fleet has, with their selectors.
BUILT_IN: Mapping[str, Mapping[str, Tree]] = {
    DEFAULT: {"selectorType": "ExclusiveClusterSetLabel"},
    GLOBAL: {"selectorType": "LabelSelector", "labelSelector": {}},
}

_MOST_DIGITS = 9
_SELECTED = " ManagedClusters selected"


def members_text(members: int) -> str:
    """The message of `ClusterSetEmpty`, in upstream's words."""
    return f"{members}{_SELECTED}" if members else "No ManagedCluster selected"


def parse_members(text: Tree) -> int | None:
    """The number of members in a message of `members_text`; None for any other message."""
    number = str(text).removesuffix(_SELECTED)
    if number != text and number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS:
        return int(number)
    return 0 if text == members_text(0) else None


def is_managed(obj: Object) -> bool:
    """Does muster decide the set's selector? For `default` and `global`, unless their annotation says otherwise."""
    return obj.id.name in BUILT_IN and obj.annotations.get(AUTO_UPDATE) != "false"
