"""The sets that every fleet has, and how a set says how many clusters it has.

Source: upstream's default-set and managedclusterset controllers.
"""

import re
from collections.abc import Mapping

from muster.data.tree import Tree
from muster.fleet.objects import Object

#: The label with the name of a cluster's set.
CLUSTER_SET = "cluster.open-cluster-management.io/clusterset"
AUTO_UPDATE = "cluster.open-cluster-management.io/autoupdate"
DEFAULT, GLOBAL = "default", "global"

#: The selectors of the sets that every fleet has.
BUILT_IN: Mapping[str, Mapping[str, Tree]] = {
    DEFAULT: {"selectorType": "ExclusiveClusterSetLabel"},
    GLOBAL: {"selectorType": "LabelSelector", "labelSelector": {}},
}

_SELECTED = re.compile(r"([0-9]+) ManagedClusters selected", re.ASCII)


def members_text(members: int) -> str:
    """The message of `ClusterSetEmpty`: in upstream's words, and all that a set says of its members."""
    return f"{members} ManagedClusters selected" if members else "No ManagedCluster selected"


def members_told(text: Tree) -> int | None:
    """How many members a message of `members_text` tells of; None for any other."""
    found = _SELECTED.fullmatch(str(text))
    return int(found[1]) if found else 0 if text == members_text(0) else None


def is_managed(obj: Object) -> bool:
    """Whether the set's selector is muster's to say: `default` and `global`, unless their annotation says otherwise."""
    return obj.id.name in BUILT_IN and obj.annotations.get(AUTO_UPDATE) != "false"
