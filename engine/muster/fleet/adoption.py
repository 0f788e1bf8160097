"""Adoption: what a live hub decided counts as the result of the last run when an object is imported.

An imported object carries what the hub's controllers wrote: condition times, `timeAdded`, built-in taints, remedy
actions, a claim's cluster, a placement's decisions. If `derived/` has no entry for the object yet, this is its past: no
timer restarts and no cluster moves. From the next run on, `derived/` is the past, and what the file still carries is
ordinary input. Built-in taints and placement decisions in a file never hold anything back, not even in the first run.

Only an object as a hub serves it, spec and status in one document, has such a past. A status in its own file, or on an
agent's ref, is a report; a hub's word that an add-on's cluster is silent is none anywhere. `Deciders` tells what the
fleet's policies decide, from their objects before compilation.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce

from muster.data import kinds
from muster.data.ids import ObjectId
from muster.data.kinds import Kind, of_kinds
from muster.data.tree import Tree, dig, digest_of, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.files import builtin_objects
from muster.fleet.merge import merge
from muster.fleet.objects import SPEC_DIGEST, Object
from muster.fleet.vocabulary import NAMES, type_of

_SET_LABEL = "work.open-cluster-management.io/manifestworkreplicaset"
_PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement"
#: Spec fields that the provisioner writes; the pool owns the rest of its cluster's spec.
PROVISIONED = frozenset(("installed", "clusterMetadata"))
_CONDITIONS = "conditions"
#: The condition reason with which a hub's controller approves a certificate request.
APPROVED_BY_HUB = "AutoApprovedByHubCSRApprovingController"
#: The condition reason with which a hub's controllers say that a cluster is silent, of the cluster and of its add-ons.
SILENCE_BY_HUB = "ManagedClusterLeaseUpdateStopped"
#: Status fields and condition types that both a hub's controllers and muster decide.
_STATUS: Mapping[Kind, tuple[tuple[str, ...], tuple[str, ...]]] = {
    kinds.PLACEMENT: (("decisionGroups", "numberOfSelectedClusters"), ("PlacementMisconfigured", "PlacementSatisfied")),
    kinds.PLACEMENT_DECISION: (("decisions",), ()),
    kinds.MANAGED_CLUSTER_SET: ((), ("ClusterSetEmpty",)),
    kinds.MANAGED_CLUSTER_SET_BINDING: ((), ("Bound",)),
    kinds.CLUSTER_POOL: (
        ("ready", "size", "standby"),
        ("AllClustersCurrent", "CapacityAvailable", "DeletionPossible", "InventoryValid", "MissingDependencies"),
    ),
    kinds.CLUSTER_CLAIM: (("lifetime",), ("ClusterRunning", "Pending")),
    kinds.CLUSTER_DEPLOYMENT_CUSTOMIZATION: (
        ("clusterDeploymentRef", "clusterPoolRef"),
        ("ApplySucceeded", "Available"),
    ),
    kinds.CSR: ((), ("Approved", "Denied")),
    kinds.MANAGED_CLUSTER_ADD_ON: ((), ("Available",)),
    kinds.MULTI_CLUSTER_INGRESS: (("serviceLocations", "trafficBlockClusters"), ()),
}


#: ManagedCluster conditions that registration decides, not a ConditionPolicy.
_OF_REGISTRATION = frozenset((kinds.ACCEPTED, "ManagedClusterJoined", "Deleting"))


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
            for obj in _policies_of(objects, kinds.TAINT_POLICY)
            for kind in _target_kinds(obj)
            for taint in mappings_at(obj.body, "spec", "taints")
        }
        latching = {
            (str(taint.get("key")), str(taint.get("effect"))): obj.id.name
            for obj in _policies_of(objects, kinds.CLUSTER_TAINT_POLICY)
            for taint in mappings_at(obj.body, "spec", "taints")
        }
        remedies: dict[str, list[tuple[str, frozenset[str] | None]]] = {}
        for obj in _policies_of(objects, kinds.REMEDY):
            names = dig(obj.spec, "clusterAffinity", "clusterNames")
            clusters = frozenset(map(str, names)) if isinstance(names, list) and names else None
            for action in obj.spec.get("actions") or ():
                remedies.setdefault(str(action), []).append((obj.id.name, clusters))
        types = frozenset(type_of(obj) for obj in _policies_of(objects, kinds.CONDITION_POLICY))
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
        latched = (
            kind is kinds.KARMADA_CLUSTER and (key, effect) in self.latching and taint.get("timeAdded") is not None
        )
        return latched or (kind.name, key, effect, value) in self.taints


def _policies_of(objects: Mapping[ObjectId, Object], kind: Kind) -> Iterable[Object]:
    """The objects of a kind by id, with the built-in ones that they do not replace."""
    by_id = {id_: source[id_] for source in (builtin_objects(), objects) for id_ in of_kinds(source, kind)}
    return (by_id[id_] for id_ in sorted(by_id))


def _target_kinds(policy: Object) -> Iterable[str]:
    kind = dig(policy.spec, "target", "kind")
    return [kind] if isinstance(kind, str) else [cluster.name for cluster in kinds.CLUSTERS]


def _taint_key(taint: Tree) -> tuple[str, str, str]:
    return str(taint.get("key")), str(taint.get("effect")), str(taint.get("value") or "")


def adopt(
    objects: Mapping[ObjectId, Object], previous: Mapping[ObjectId, Tree]
) -> tuple[dict[ObjectId, Object], dict[ObjectId, Tree]]:
    """Return the objects as inputs, and the previous derived parts together with what a hub decided for new objects."""
    deciders = Deciders.of(objects)
    inputs, past = dict(objects), dict(previous)
    for id_, obj in objects.items():
        if obj.kind is kinds.MANIFEST_WORK and _owner(obj) in objects and (body := _as_served(obj)):
            inputs[id_] = replace(obj, body={name: value for name, value in obj.body.items() if name != "spec"})
            past.setdefault(id_, _decided_work(body))
            continue
        if obj.kind not in _STATUS and obj.kind not in (*kinds.CLUSTERS, kinds.CLUSTER_DEPLOYMENT):
            continue
        if id_ not in previous and (body := _as_served(obj)) and (decided := decided_by_hub(obj.kind, body, deciders)):
            past[id_] = decided
        if obj.kind in kinds.CLUSTERS:
            inputs[id_] = _without_derived_taints(obj, deciders)
        elif obj.kind is kinds.MANAGED_CLUSTER_ADD_ON:
            inputs[id_] = _without_silence(obj)
        elif (
            obj.kind is kinds.PLACEMENT_DECISION
            and kinds.PLACEMENT.id(obj.labels.get(_PLACEMENT_LABEL, ""), obj.id.namespace) in objects
        ):
            del inputs[id_]
    return inputs, past


def _owner(work: Object) -> ObjectId:
    """The ManifestWorkReplicaSet of a work: no namespace has a dot."""
    namespace, _, name = work.labels.get(_SET_LABEL, "").partition(".")
    return kinds.MANIFEST_WORK_REPLICA_SET.id(name, namespace)


def _decided_work(body: Tree) -> Tree:
    """All but the status of a work is its set's; the digest of its template tells whether it is up to date."""
    metadata = _metadata_fields(body, "name", "namespace", "generation", "labels")
    annotations = {SPEC_DIGEST: digest_of(body["spec"])[:12]}
    return {
        **{name: body[name] for name in ("apiVersion", "kind", "spec")},
        "metadata": {**metadata, "annotations": annotations},
    }


def _as_served(obj: Object) -> Tree:
    """The object as a hub serves it, without reports of agents and provisioners; None if no part has a spec."""
    bodies = [
        part.body
        for part in obj.parts
        if not part.source.ref and (obj.kind is kinds.PLACEMENT_DECISION or "spec" in part.body)
    ]
    return reduce(lambda left, right: merge(left, right, obj.kind.list_keys, []), bodies) if bodies else None


def decided_by_hub(kind: Kind, body: Tree, deciders: Deciders) -> Tree:
    """Return the parts of an object that a hub's controllers decided, in the form muster derives; None if nothing."""
    if kind in kinds.CLUSTERS:
        sections = _decided_cluster(kind, body, deciders)
    elif kind is kinds.CLUSTER_DEPLOYMENT:
        sections = _decided_deployment(body)
    else:
        sections = {"status": _decided_status(kind, mapping_at(body, "status"))}
        if kind is kinds.CLUSTER_CLAIM and (cluster := dig(body, "spec", "namespace")):
            sections["spec"] = {"namespace": cluster}
        if kind is kinds.PLACEMENT_DECISION:
            sections["metadata"] = _metadata_fields(body, "labels", "ownerReferences")
    present = {name: section for name, section in sections.items() if section}
    if not present:
        return None
    metadata = {**present.pop("metadata", {}), **_metadata_fields(body, "name", "namespace")}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata, **present}


def _decided_status(kind: Kind, status: Tree) -> Tree:
    """The parts of a status that muster decides as the hub's controllers did; the rest is a report."""
    fields, types = _STATUS.get(kind, ((), ()))
    decided = {name: status[name] for name in fields if name in status}
    conditions = [c for c in mappings_at(status, _CONDITIONS) if str(c.get("type")) in types]
    if kind is kinds.CSR:  # any other condition of a request is a person's
        conditions = [c for c in conditions if c.get("reason") == APPROVED_BY_HUB]
    if kind is kinds.MANAGED_CLUSTER_ADD_ON:  # any other is its agent's
        conditions = [c for c in conditions if c.get("reason") == SILENCE_BY_HUB]
    if conditions:
        decided[_CONDITIONS] = conditions
    return decided


def _metadata_fields(body: Tree, *names: str) -> Tree:
    metadata = mapping_at(body, "metadata")
    return {name: metadata[name] for name in names if name in metadata}


def _decided_cluster(kind: Kind, body: Tree, deciders: Deciders) -> dict[str, Tree]:
    """Taints with their times, decided conditions and remedy actions, with muster's bookkeeping for both."""
    taints = [taint for taint in mappings_at(body, "spec", "taints") if taint.get("timeAdded") is not None]
    status: Tree = {}
    conditions = mappings_at(body, "status", "conditions")
    decided = (c for c in conditions if str(c.get("type")) in deciders.conditions)
    if dated := [c for c in decided if c.get("lastTransitionTime") is not None]:
        status["conditions"] = dated
    book: Tree = {}
    if actions := [action for action in dig(body, "status", "remedyActions") or () if isinstance(action, str)]:
        status["remedyActions"] = sorted(set(actions))
        name = dig(body, "metadata", "name")
        book["remedies"] = [
            {"action": action, "remedy": remedy}
            for action in status["remedyActions"]
            for remedy, clusters in deciders.remedies.get(action, ())
            if clusters is None or name in clusters
        ]
    latched = [
        {"key": taint["key"], "effect": taint["effect"], "policy": policy}
        for taint in taints
        if (policy := deciders.latching.get((str(taint.get("key")), str(taint.get("effect"))))) is not None
    ]
    if latched and kind is kinds.KARMADA_CLUSTER:
        book["latched"] = latched
    if book := {name: value for name, value in book.items() if value}:
        status["muster"] = book
    return {"spec": {"taints": taints} if taints else {}, "status": status}


def _decided_deployment(body: Tree) -> dict[str, Tree]:
    """What a pool decides about its own cluster; empty for a person's cluster."""
    if not dig(body, "spec", "clusterPoolRef"):
        return {}
    spec = {name: value for name, value in mapping_at(body, "spec").items() if name not in PROVISIONED}
    metadata = _metadata_fields(body, "creationTimestamp", "deletionTimestamp", "labels", "annotations")
    times = [
        c.get("lastTransitionTime") for c in mappings_at(body, "status", _CONDITIONS) if c.get("type") == "Hibernating"
    ]
    # The hub requested the power state at this time: timeouts of a start or a stop count from it.
    book = {"powerStateSince": times[0]} if times and isinstance(times[0], str) else {}
    return {"metadata": metadata, "spec": spec, "status": {"muster": book} if book else {}}


def _without_silence(obj: Object) -> Object:
    """An add-on without the hub's word that its cluster is silent, which is no report of its agent."""
    conditions = mappings_at(obj.body, "status", _CONDITIONS)
    reported = [condition for condition in conditions if condition.get("reason") != SILENCE_BY_HUB]
    if len(reported) == len(conditions):
        return obj
    return replace(obj, body={**obj.body, "status": {**obj.body["status"], _CONDITIONS: reported}})


def _without_derived_taints(obj: Object, deciders: Deciders) -> Object:
    taints = dig(obj.body, "spec", "taints")
    if not isinstance(taints, list):
        return obj
    declared = [taint for taint in taints if not deciders.decide_taint(obj.kind, taint)]
    return (
        obj
        if len(declared) == len(taints)
        else replace(obj, body={**obj.body, "spec": {**obj.spec, "taints": declared}})
    )
