"""The sets that every fleet has, and how a set says how many clusters it has.

Source: upstream's default-set and managedclusterset controllers.
"""

import re
from collections.abc import Mapping

from muster.data.tree import Tree
from muster.fleet.objects import Object

#: The label that names a cluster's set.
CLUSTER_SET = "cluster.open-cluster-management.io/clusterset"
AUTO_UPDATE = "cluster.open-cluster-management.io/autoupdate"
DEFAULT, GLOBAL = "default", "global"

#: The sets that every fleet has, with their selectors.
BUILT_IN: Mapping[str, Mapping[str, Tree]] = {
    DEFAULT: {"selectorType": "ExclusiveClusterSetLabel"},
    GLOBAL: {"selectorType": "LabelSelector", "labelSelector": {}},
}

_SELECTED = re.compile(r"([0-9]+) ManagedClusters selected", re.ASCII)


def members_text(members: int) -> str:
    """The message of `ClusterSetEmpty`, in upstream's words."""
    return f"{members} ManagedClusters selected" if members else "No ManagedCluster selected"


def members_told(text: Tree) -> int | None:
    """The number of members in a message of `members_text`; None for any other message."""
    found = _SELECTED.fullmatch(str(text))
    return int(found[1]) if found else 0 if text == members_text(0) else None


def is_managed(obj: Object) -> bool:
    """Does muster decide the set's selector? For `default` and `global`, unless their annotation says otherwise."""
    return obj.id.name in BUILT_IN and obj.annotations.get(AUTO_UPDATE) != "false"
