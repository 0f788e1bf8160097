"""The sets that every fleet has. Source: upstream's default-set controller."""

from collections.abc import Mapping

from muster.fleet.objects import Object
from muster.model.tree import Tree

AUTO_UPDATE = "cluster.open-cluster-management.io/autoupdate"
DEFAULT, GLOBAL = "default", "global"

#: The selectors of the sets that every fleet has.
BUILT_IN: Mapping[str, Mapping[str, Tree]] = {
    DEFAULT: {"selectorType": "ExclusiveClusterSetLabel"},
    GLOBAL: {"selectorType": "LabelSelector", "labelSelector": {}},
}


def is_managed(obj: Object) -> bool:
    """Whether the set's selector is muster's to say: `default` and `global`, unless their annotation says otherwise."""
    return obj.id.name in BUILT_IN and obj.annotations.get(AUTO_UPDATE) != "false"
