"""Sorting: divides an object into what people want, what agents and provisioners report, and what the hub derived.

Upstream, an object has all three in one document. Here each has its own writer and so its own part: a person's file,
the report of the agent or provisioner, and a file under `derived/` as if the last run had written it. Together they are
the object: nothing is lost or duplicated, except conditions that an agent reports and muster decides, whose outcome is
in `derived/`.
"""

from collections.abc import Mapping
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_DEPLOYMENT,
    CLUSTERS,
    MANAGED_CLUSTER_SET,
    PLACEMENT,
    PLACEMENT_DECISION,
    ListKeys,
    kind_of,
)
from muster.data.source import Part
from muster.data.tree import Tree, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.adoption import PROVISIONED, Deciders, decided_by_hub
from muster.fleet.clusters import BUILT_IN, is_managed
from muster.fleet.derived import in_order
from muster.fleet.derived_parts import as_derived
from muster.fleet.hub_parts import agent_part
from muster.fleet.merge import element_key
from muster.fleet.objects import Object

_IDENTITY: Final = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_PLACEMENT_LABEL: Final = "cluster.open-cluster-management.io/placement"


@dataclass(frozen=True, slots=True)
class Sorted:
    """The parts of an object; None for one that there is not."""

    wish: Tree = None
    report: Tree = None
    derived: Tree = None


def sort_object(part: Part, deciders: Deciders, declared: Mapping[ObjectId, object]) -> Sorted:
    """Sort one object of a dump, each part in the order in which muster writes it.

    `known` are the objects that will be there: those of the repository and the dump.
    """
    parts = _sorted(part, deciders, declared)
    return Sorted(*(body and in_order(body) for body in (parts.wish, parts.report, parts.derived)))


def _sorted(part: Part, deciders: Deciders, declared: Mapping[ObjectId, object]) -> Sorted:
    kind, body = kind_of(part.id), part.body
    decided = decided_by_hub(kind, body, deciders)
    if kind is PLACEMENT_DECISION and placement_of(part) not in declared:
        decided = None  # another controller decides for it
    derived = {**as_derived(kind, decided), "apiVersion": kind.api_version} if decided else None
    if kind in CLUSTERS:
        return _cluster(part, derived, deciders)
    rest = _without(body, derived, kind.list_keys) if derived else body
    if kind is PLACEMENT_DECISION and derived:
        return Sorted(derived=derived)
    if kind is MANAGED_CLUSTER_SET and (is_managed(Object(part.id, part.body, (part,))) and part.id.name in BUILT_IN):
        rest = _put(rest, "spec", {k: v for k, v in mapping_at(rest, "spec").items() if k != "clusterSelector"})
    if kind is CLUSTER_DEPLOYMENT:
        return _deployment(rest, derived)
    return Sorted(rest, derived=derived)


def placement_of(part: Part) -> ObjectId:
    """Return the Placement that a PlacementDecision is of."""
    return PLACEMENT.id(str(mapping_at(part.body, "metadata", "labels").get(_PLACEMENT_LABEL, "")), part.id.namespace)


def _cluster(part: Part, derived: Tree, deciders: Deciders) -> Sorted:
    """A cluster: the taints that policies decide are nobody's wish, and no person says when a taint appeared."""
    body, kind = part.body, kind_of(part.id)
    spec = mapping_at(body, "spec")
    taints = [taint for taint in mappings_at(spec, "taints") if not deciders.decide_taint(kind, taint)]
    spec = {name: value for name, value in spec.items() if name != "taints"}
    if taints:
        spec["taints"] = [{name: value for name, value in taint.items() if name != "timeAdded"} for taint in taints]
    wish = {**{name: value for name, value in body.items() if name != "status"}, "spec": spec}
    return Sorted(wish, agent_part(kind, body), derived)


def _deployment(rest: Tree, derived: Tree) -> Sorted:
    """A ClusterDeployment: what the provisioner says of it is its report.

    Of a pool's cluster all that muster does not declare is the provisioner's, its finalizers too: when it removes its
    report, the cluster is gone.
    """
    if derived:
        return Sorted(report=rest if _says(rest) else None, derived=derived)
    spec = mapping_at(rest, "spec")
    wish = _put(rest, "spec", {name: value for name, value in spec.items() if name not in PROVISIONED})
    wish = {name: value for name, value in wish.items() if name != "status"}
    return Sorted(wish, agent_part(CLUSTER_DEPLOYMENT, rest))


def _says(body: Tree) -> bool:
    """Whether a part says anything but which object it is a part of."""
    return bool(body.keys() - {"apiVersion", "kind", "metadata"} or body["metadata"].keys() - {"name", "namespace"})


def _put(body: Tree, name: str, section: Tree) -> Tree:
    """The body with a section replaced, or without it where that is empty."""
    replaced = {key: section if key == name else value for key, value in body.items()}
    return {key: value for key, value in replaced.items() if key != name or value}


def _without(body: Tree, taken: Tree, list_keys: ListKeys, path: tuple[str, ...] = ()) -> Tree:
    """What is left of a tree without all that stands in another one, the object's identity apart."""
    left: dict[str, Tree] = {}
    for name, value in body.items():
        step = (*path, name)
        if name not in taken or step in _IDENTITY:
            left[name] = value
        elif isinstance(value, dict) and isinstance(taken[name], dict):
            if rest := _without(value, taken[name], list_keys, step):
                left[name] = rest
        elif (fields := list_keys.get(".".join(step), ())) and isinstance(value, list):
            keys = {element_key(element, fields) for element in taken[name]}
            if elements := [element for element in value if element_key(element, fields) not in keys]:
                left[name] = elements
    return left
