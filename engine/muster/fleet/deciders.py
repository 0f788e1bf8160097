"""The taints, conditions and remedy actions that a fleet's policies decide, read from their objects before
compilation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muster.data.ids import ObjectId
from muster.data.kinds import (
    ACCEPTED,
    CLUSTER_TAINT_POLICY,
    CLUSTERS,
    CONDITION_POLICY,
    KARMADA_CLUSTER,
    REMEDY,
    TAINT_POLICY,
    Kind,
    of_kinds,
)
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.builtin import builtin_objects
from muster.fleet.objects import Object
from muster.fleet.vocabulary import NAMES, type_of

#: ManagedCluster conditions that registration decides, not a ConditionPolicy.
_OF_REGISTRATION = frozenset((ACCEPTED, "ManagedClusterJoined", "Deleting"))


@dataclass(frozen=True, slots=True)
class Deciders:
    """What the policies of a fleet decide about clusters.

    `conditions`: condition types; `taints`: kind, key, effect and value; `latching`: the ClusterTaintPolicy that
    latches a taint, by key and effect; `remedies`: the remedies that request an action, each with its clusters (None:
    all).
    """

    conditions: frozenset[str]
    taints: frozenset[tuple[str, str, str, str]]
    latching: Mapping[tuple[str, str], str]
    remedies: Mapping[str, tuple[tuple[str, frozenset[str] | None], ...]]

    @classmethod
    def of(cls, objects: Mapping[ObjectId, Object]) -> "Deciders":
        """Read the policies of a fleet, including the built-in ones that it does not replace."""
        taints = {
            (kind, *_taint_key(taint))
            for obj in _policies_of(objects, TAINT_POLICY)
            for kind in _kinds(obj)
            for taint in mappings_at(obj.body, "spec", "taints")
        }
        latching = {
            (str(taint.get("key")), str(taint.get("effect"))): obj.id.name
            for obj in _policies_of(objects, CLUSTER_TAINT_POLICY)
            for taint in mappings_at(obj.body, "spec", "taints")
        }
        remedies: dict[str, list[tuple[str, frozenset[str] | None]]] = {}
        for obj in _policies_of(objects, REMEDY):
            names = dig(obj.spec, "clusterAffinity", "clusterNames")
            clusters = frozenset(map(str, names)) if isinstance(names, list) and names else None
            for action in obj.spec.get("actions") or ():
                remedies.setdefault(str(action), []).append((obj.id.name, clusters))
        types = frozenset(type_of(obj) for obj in _policies_of(objects, CONDITION_POLICY))
        return cls(
            types | NAMES | _OF_REGISTRATION, frozenset(taints), latching, {a: tuple(f) for a, f in remedies.items()}
        )

    def decide_taint(self, kind: Kind, taint: Tree) -> bool:
        """Does a policy decide this taint in a cluster's file? Then it is a hub's past, not a person's input.

        A taint that a ClusterTaintPolicy may add counts only if it has `timeAdded`, which people do not write.
        """
        if not isinstance(taint, dict):
            return False
        key, effect, value = _taint_key(taint)
        latched = kind is KARMADA_CLUSTER and (key, effect) in self.latching and taint.get("timeAdded") is not None
        return latched or (kind.name, key, effect, value) in self.taints


def _policies_of(objects: Mapping[ObjectId, Object], kind: Kind) -> Iterable[Object]:
    """The objects of a kind by id, with the built-in ones that they do not replace."""
    found = {id_: source[id_] for source in (builtin_objects(), objects) for id_ in of_kinds(source, kind)}
    return (found[id_] for id_ in sorted(found))


def _kinds(policy: Object) -> Iterable[str]:
    kind = dig(policy.spec, "target", "kind")
    return [kind] if isinstance(kind, str) else [cluster.name for cluster in CLUSTERS]


def _taint_key(taint: Tree) -> tuple[str, str, str]:
    return str(taint.get("key")), str(taint.get("effect")), str(taint.get("value") or "")
