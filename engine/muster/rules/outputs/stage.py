"""PlacementDecisions and ClusterProfiles of SIG-Multicluster (`multicluster.x-k8s.io`), if the Fleet asks for them.

A PlacementDecision repeats one of Open Cluster Management, without a status subresource, so that GitOps tools can apply
it. A ClusterProfile exists for each cluster of each set that is bound to a namespace, in that namespace, as the
controllers of Open Cluster Management write it: with the set as a label, the claims as properties, and the conditions
`ControlPlaneHealthy` and `Joined`. Its manager is `muster`.

Source: kubernetes-sigs/cluster-inventory-api `apis/v1alpha1`, open-cluster-management-io/ocm
`pkg/registration/hub/clusterprofile`.
"""

from collections.abc import Iterator
from typing import Final

from muster.data.decision import OF_ITSELF, Because, Decision, Input
from muster.data.finding import Finding
from muster.data.groups import grouped
from muster.data.ids import ObjectId
from muster.data.kinds import (
    CLUSTER_PROFILE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_SET_BINDING,
    PLACEMENT_DECISION,
    SIG_PLACEMENT_DECISION,
    of_kinds,
)
from muster.data.tree import Tree, dig, mappings_at
from muster.fleet.clusters import CLUSTER_SET
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.rules.placements.shards import PLACEMENT_LABEL
from muster.rules.policies.in_force import InForce
from muster.rules.policies.selectors import Facets
from muster.rules.retention import as_it_stands
from muster.rules.sets.stage import Sets, cluster_labels, was_denied
from muster.rules.stages import METADATA, SPEC, STATUS, Wide

MANAGER: Final = "muster"
_LABELS = ("metadata", "labels")
_GROUP = CLUSTER_PROFILE.group
_PLACED = Because("outputs", OF_ITSELF, "the clusters of the PlacementDecision with the same name")
_KEPT = Because("kept", OF_ITSELF, "its cluster, binding or set has an error, so it keeps its last state")
#: Conditions of a profile, and those of the cluster that they repeat.
_CONDITIONS: Final = (("ControlPlaneHealthy", MANAGED_CLUSTER.headline), ("Joined", "ManagedClusterJoined"))


def stage(shared: Shared, rules: InForce) -> Iterator[Decision | Finding]:
    """Decide the outputs that the Fleet names."""
    wanted = rules.settings.outputs
    if f"{SIG_PLACEMENT_DECISION.plural}.{_GROUP}" in wanted:
        yield from _decisions(shared)
    if f"{CLUSTER_PROFILE.plural}.{_GROUP}" in wanted:
        yield from _profiles(shared)


def _decisions(shared: Shared) -> Iterator[Decision]:
    """A slice for each PlacementDecision, numbered from 0 within its Placement."""
    names = ((id_, shared.now(id_, *_LABELS)) for id_ in shared.decided if PLACEMENT_DECISION.has(id_))
    slices = grouped(((id_.namespace, str(labels[PLACEMENT_LABEL])), id_) for id_, labels in names if labels)
    for (_, placement), ids in sorted(slices.items()):
        for index, id_ in enumerate(sorted(ids, key=lambda id_: (len(id_.name), id_.name))):
            output = SIG_PLACEMENT_DECISION.id(id_.name, id_.namespace)
            chosen = [{"clusterProfileRef": {"name": entry["clusterName"]}} for entry in _chosen(shared, id_)]
            labels = {f"{_GROUP}/decision-key": placement, f"{_GROUP}/decision-index": str(index)}
            yield Decision(output, _LABELS, labels, _PLACED)
            yield Decision(output, ("decisions",), chosen, _PLACED)
            yield Decision(output, ("schedulerName",), MANAGER, _PLACED)


def _chosen(shared: Shared, id_: ObjectId) -> list[dict[str, Tree]]:
    value = shared.now(id_, "status", "decisions")
    return [entry for entry in value or () if "clusterName" in entry]


def _profiles(shared: Shared) -> Iterator[Decision | Finding]:
    clusters = {obj.id.name: obj for obj in _clusters(shared)}
    labels = Facets({name: cluster_labels(obj) for name, obj in clusters.items()})
    sets, members = Sets.of(shared), dict[str, frozenset[str]]()
    namespaces = dict[str, set[str]]()
    for binding in shared.of(MANAGED_CLUSTER_SET_BINDING):
        bound = binding.spec["clusterSet"]
        if binding.deleting:
            continue
        if bound not in members:
            members[bound] = sets.members(bound, labels)
        for name in members[bound]:
            namespaces.setdefault(name, set()).add(binding.id.namespace)
    decided = {CLUSTER_PROFILE.id(name, space) for name, spaces in namespaces.items() for space in spaces}
    yield from each(
        [clusters[name] for name in sorted(namespaces)],
        lambda obj: [
            decision for space in sorted(namespaces[obj.id.name]) for decision in _profile(shared, obj, space)
        ],
    )
    for id_ in sorted(shared.previous):
        if CLUSTER_PROFILE.has(id_) and id_ not in decided and _is_uncertain(shared, sets, id_):
            yield from as_it_stands(shared, id_, _KEPT)


def _clusters(shared: Shared) -> Iterator[Object]:
    """The clusters that can be members of sets, those with an error among them: their last state holds."""
    ids = sorted(of_kinds(shared.broken & shared.previous.keys(), MANAGED_CLUSTER))
    broken = (shared.objects.get(id_) for id_ in ids)
    for obj in (*shared.of(MANAGED_CLUSTER), *(obj for obj in broken if obj is not None and "spec" in obj.body)):
        if not obj.deleting and not was_denied(shared, obj.id):
            yield obj


def _is_uncertain(shared: Shared, sets: Sets, id_: ObjectId) -> bool:
    """May the profile's cluster, or a set that is bound to its namespace, exist although it cannot be read?

    A profile has no input of its own that could be read or not: it exists for three objects.
    """
    if shared.unidentified or shared.is_unread(MANAGED_CLUSTER.id(id_.name)):
        return True
    broken = (
        unread_id
        for unread_id in shared.broken
        if MANAGED_CLUSTER_SET_BINDING.has(unread_id) and unread_id.namespace == id_.namespace
    )
    bound = (
        obj.spec["clusterSet"] for obj in shared.of(MANAGED_CLUSTER_SET_BINDING) if obj.id.namespace == id_.namespace
    )
    return any(broken) or any(name in sets.doubtful for name in bound)


def _profile(shared: Shared, obj: Object, namespace: str) -> Iterator[Decision]:
    id_, name = CLUSTER_PROFILE.id(obj.id.name, namespace), obj.id.name
    because = Because("outputs", (Input(("status",), obj.id),), "what is known about the cluster")
    labels = {
        "x-k8s.io/cluster-manager": MANAGER,
        "open-cluster-management.io/cluster-name": name,
        f"{_GROUP}/clusterset": cluster_labels(obj)[CLUSTER_SET],
    }
    yield Decision(id_, _LABELS, labels, because)
    yield Decision(id_, ("spec", "clusterManager"), {"name": MANAGER}, because)
    yield Decision(id_, ("spec", "displayName"), name, because)
    for type_, source in _CONDITIONS:
        condition = shared.now(obj.id, "status", "conditions", (source,))
        if condition is not None:
            value = {
                field: condition[field]
                for field in ("status", "reason", "message", "lastTransitionTime")
                if field in condition
            }
            yield Decision(id_, ("status", "conditions", (type_,)), value, because)
    if version := dig(obj.body, "status", "version", "kubernetes"):
        yield Decision(id_, ("status", "version"), {"kubernetes": version}, because)
    claims = {
        str(claim["name"]): str(claim.get("value", "")) for claim in mappings_at(obj.body, "status", "clusterClaims")
    }
    for claim, text in sorted(claims.items()):
        yield Decision(id_, ("status", "properties", (claim,)), {"value": text}, because)


STAGE = Wide(
    "outputs",
    stage,
    derives=(
        ((SIG_PLACEMENT_DECISION,), (METADATA, ("decisions",), ("schedulerName",))),
        ((CLUSTER_PROFILE,), (METADATA, SPEC, STATUS)),
    ),
)
