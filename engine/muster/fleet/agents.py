"""What an agent may write on its own ref: its cluster's heartbeat, status, reports, certificate requests and the
status of its works and add-ons.

A part about anything else is refused and reported; the agent's other parts still count. Once people declare the
cluster, only its status is taken from the agent: what it proposed at registration no longer matters (seed 002: both
sides opt in and do not trust each other at first).

An agent reports what it observes. It may not set fields that place work on its cluster or keep trouble away: labels
(sets, Placements, Remedies and policies select by them), annotations (they disable checks and allow disruption),
taints, acceptance and deletion. Upstream keeps only the set label from agents, by a separate permission
(`managedclustersets/join`); a ref has no such permissions, so none of these fields count. Requested labels stay
visible: `muster accept` lists them and takes over those it is given.

Claims, resources and scores are what agents report; a Placement that depends on them says so itself.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Final

from muster.data.agentref import cluster_of
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ACCEPTED,
    CLUSTER_DEPLOYMENT,
    CLUSTERS,
    CSR,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADD_ON,
    MANIFEST_WORK,
    kind_of,
)
from muster.data.snapshot import SignerIdentity
from muster.data.source import Part
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet import agent_messages as messages
from muster.fleet.leases import CLUSTER_NAME, KARMADA_NAMESPACE
from muster.fleet.report_parts import says_nothing

_IDENTITY: Final = frozenset(("apiVersion", "kind", "metadata"))
#: Spec fields that an agent may propose at registration.
_PROPOSED: Final = frozenset(("hubAcceptsClient", "leaseDurationSeconds", "managedClusterClientConfigs"))
#: The longest lease an agent may propose: only people may decide that a cluster is watched less often than hourly.
LONGEST_PROPOSED_SECONDS: Final = 3600
#: These control the lifetime of an object on a live hub.
_LIFECYCLE_FIELDS: Final = ("deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "ownerReferences")
#: Decided by the hub; an agent that reports one only repeats it, or lies.
DECIDED_CONDITIONS: Final = frozenset(
    (
        ACCEPTED,
        "HubDeniedManagedCluster",
        "ManagedClusterConditionClockSynced",
        "Deleting",
    )
)
_DECIDED_STATUS: Final = frozenset(("muster", "remedyActions"))

#: Spec fields that a provisioner reports about the cluster it created.
_PROVISIONED: Final = frozenset(("clusterMetadata", "installed"))
#: The fields that name the requester of a certificate.
_REQUESTER: Final = ("extra", "groups", "uid", "username")
_USER: Final = "system:open-cluster-management:"
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class FilteredPart:
    """What remains of an agent's part, the refused fields, and the labels that the agent requests."""

    body: Tree
    refused: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()


def filter_part(part: Part, cluster: str, declared: Iterable[Tree]) -> FilteredPart:
    """Reduce a part to what the agent of `cluster` may write. `declared`: people's parts of the same object."""
    kind = kind_of(part.id)
    sections = frozenset(kind.reported) | _IDENTITY
    body = {name: value for name, value in part.body.items() if name in sections}
    refused = sorted(set(part.body) - sections)
    if kind in CLUSTERS:
        return _of_cluster(part, body, refused, list(declared))
    metadata = mapping_at(body, "metadata")
    refused += [f"metadata.{name}" for name in _LIFECYCLE_FIELDS if name in metadata]
    body["metadata"] = {name: value for name, value in metadata.items() if name not in _LIFECYCLE_FIELDS}
    if kind is CSR:
        return _request(body, refused, cluster)
    if kind is CLUSTER_DEPLOYMENT:
        return _provisioned(part, body, refused)
    if kind in (MANIFEST_WORK, MANAGED_CLUSTER_ADD_ON):
        return _status_alone(part, body, refused)
    return FilteredPart(body, _abbreviated(refused))


def _provisioned(part: Part, body: dict[str, Tree], refused: list[str]) -> FilteredPart:
    """A provisioner reports whether its cluster is installed, and its status; the pool owns the rest of the spec."""
    spec = mapping_at(body, "spec")
    refused += [f"spec.{name}" for name in sorted(spec) if name not in _PROVISIONED]
    if spec:
        body["spec"] = {name: value for name, value in spec.items() if name in _PROVISIONED}
    return _status_alone(part, body, refused)


def _status_alone(part: Part, body: dict[str, Tree], refused: list[str]) -> FilteredPart:
    """Without labels and annotations: by them, a work belongs to its set."""
    metadata = mapping_at(part.body, "metadata")
    refused += [f"metadata.{name}" for name in ("annotations", "labels") if metadata.get(name)]
    body = {**body, "metadata": {"name": part.id.name, "namespace": part.id.namespace}}
    if isinstance(body.get("status"), dict):
        body["status"] = _status(part, body["status"], refused)
    return FilteredPart(body, _abbreviated(refused))


def _of_cluster(part: Part, body: dict[str, Tree], refused: list[str], declared: list[Tree]) -> FilteredPart:
    metadata = mapping_at(part.body, "metadata")
    labels = _labels(metadata, declared)
    if labels:
        refused.append(f"metadata.labels ({', '.join(_abbreviated([key for key, _ in labels]))})")
    refused += [
        f"metadata.{name}" for name in ("annotations", *_LIFECYCLE_FIELDS) if _requests(metadata, name, declared)
    ]
    body["metadata"] = {"name": part.id.name}
    spec = mapping_at(body, "spec")
    wrong = [name for name in sorted(spec) if not _proposable(name, spec[name])]
    refused += [f"spec.{name}" for name in wrong if not _agrees(("spec", name), spec[name], declared)]
    if declared:
        # The spec is people's. This is no conflict: the agent's spec was only a proposal.
        body.pop("spec", None)
    elif "spec" in body:
        body["spec"] = {name: value for name, value in spec.items() if name not in wrong}
    if isinstance(body.get("status"), dict):
        body["status"] = _status(part, body["status"], refused)
    return FilteredPart(body, _abbreviated(refused), tuple(labels))


def _labels(metadata: Mapping[str, Tree], declared: list[Tree]) -> list[tuple[str, str]]:
    """The labels that the agent requests and people have not set."""
    return [
        (key, value)
        for key, value in sorted(mapping_at(metadata, "labels").items())
        if isinstance(key, str)
        and isinstance(value, str)
        and key != CLUSTER_NAME
        and not _agrees(("metadata", "labels", key), value, declared)
    ]


def _requests(metadata: Mapping[str, Tree], name: str, declared: list[Tree]) -> bool:
    return bool(metadata.get(name)) and not _agrees(("metadata", name), metadata[name], declared)


def _agrees(path: tuple[str, ...], value: Tree, declared: list[Tree]) -> bool:
    return any(dig(body, *path) == value for body in declared)


def _proposable(name: str, value: Tree) -> bool:
    if name == "leaseDurationSeconds" and isinstance(value, int):
        return 0 <= value <= LONGEST_PROPOSED_SECONDS  # the schema rejects what is not a number
    return name in _PROPOSED and (name, value) != ("hubAcceptsClient", True)


def _status(part: Part, status: Mapping[str, Tree], refused: list[str]) -> Tree:
    decided = [name for name in sorted(_DECIDED_STATUS) if name in status]
    refused += [f"status.{name}" for name in decided]
    reported = {name: value for name, value in status.items() if name not in decided}
    conditions = status.get("conditions")
    if kind_of(part.id) is MANAGED_CLUSTER and isinstance(conditions, list):
        refused += [f"status.conditions[{name}]" for name in sorted(set(filter(None, map(_decided, conditions))))]
        reported["conditions"] = [condition for condition in conditions if not _decided(condition)]
    return reported


def _decided(condition: Tree) -> str:
    """The condition's type if only the hub decides it, else empty."""
    type_ = dig(condition, "type")
    return type_ if isinstance(type_, str) and type_ in DECIDED_CONDITIONS else ""


def _request(body: dict[str, Tree], refused: list[str], cluster: str) -> FilteredPart:
    """An agent may name its own cluster as the requester and nothing else: pushing to the ref is all that is verified.

    On a live hub the API server fills in these fields.
    """
    prefix = f"{_USER}{cluster}:"
    spec = mapping_at(body, "spec")
    wrong = [
        name
        for name in _REQUESTER
        if name in spec and not (name == "username" and isinstance(spec[name], str) and spec[name].startswith(prefix))
    ]
    if wrong:
        body = {**body, "spec": {name: value for name, value in spec.items() if name not in wrong}}
    return FilteredPart(body, _abbreviated([*refused, *(f"spec.{name}" for name in wrong)]))


def _abbreviated(names: list[str]) -> tuple[str, ...]:
    """At most `_MOST_NAMED` names: one agent's ref must not fill the output with thousands of fields."""
    more = len(names) - _MOST_NAMED
    return tuple(names) if more <= 0 else (*names[:_MOST_NAMED], f"{more} more")


_UNVERIFIED = SignerIdentity()


@dataclass(frozen=True, slots=True)
class FilteredParts:
    """The parts that count, agents' parts reduced to what they may write, and findings about what was refused.

    `asked`: the labels that agents request, by cluster. They have no effect. `bare`: agents' parts without content.
    """

    parts: list[Part] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    asked: dict[ObjectId, dict[str, str]] = field(default_factory=dict)
    bare: list[Part] = field(default_factory=list)


def filter_agent_parts(parts: Iterable[Part], identities: Mapping[str, SignerIdentity] | None = None) -> FilteredParts:
    """Filter the input parts of a snapshot: people's parts all count, agents' parts if they are about their own
    cluster.

    `identities`: the verified signer of each cluster's ref, if agents must sign. A ref without a verified signer may
    only declare that its cluster exists and request a certificate, in any requester's name.
    """
    all_parts = list(parts)
    declared: dict[ObjectId, list[Tree]] = defaultdict(list)
    for part in all_parts:
        if not part.source.ref and "spec" in part.body:
            declared[part.id].append(part.body)
    named = _request_owners(all_parts)
    filtered = FilteredParts()
    for part in all_parts:
        if not part.source.ref:
            filtered.parts.append(part)
            continue
        cluster = cluster_of(part.source.ref)
        if reason := _not_allowed(part, cluster) or _owned_by_other(part, cluster, named):
            filtered.findings.append(messages.refused_agent_part(part, reason))
            continue
        if identities is not None:
            user = identities.get(cluster, _UNVERIFIED).user
            unverified = part if user else _unverified_part(part)
            if unverified is None:
                continue  # one finding covers the whole ref
            part = unverified
            if reason := _wrong_user(part, user):
                filtered.findings.append(messages.refused_agent_part(part, reason))
                continue
        if says_nothing(part):
            filtered.bare.append(part)
        allowed = filter_part(part, cluster, declared.get(part.id, ()))
        filtered.findings.extend(messages.refused_agent_field(part, cluster, name) for name in allowed.refused)
        filtered.asked.setdefault(part.id, {}).update(allowed.labels)
        filtered.parts.append(replace(part, body=allowed.body))
    return filtered


def _unverified_part(part: Part) -> Part | None:
    """What counts of a part whose signer is not verified."""
    if kind_of(part.id) in CLUSTERS and "spec" in part.body:
        return replace(part, body={name: value for name, value in part.body.items() if name != "status"})
    return part if kind_of(part.id) is CSR else None


def _wrong_user(part: Part, user: str) -> str:
    """Why a request's username is not its signer's; empty if it is, or if the request names none."""
    named = mapping_at(part.body, "spec").get("username") if kind_of(part.id) is CSR else None
    if named is None or named == user:
        return ""
    return f"it is made in the name of {named!r}, and signed by {user or 'an unknown signer'}"


def _not_allowed(part: Part, cluster: str) -> str:
    """Why the agent may not write this part; empty if it may."""
    kind, id_ = kind_of(part.id), part.id
    if not kind.reported:
        return f"agents do not write {kind.name} objects"
    if kind in CLUSTERS:
        return "" if id_.name == cluster else f"it is about cluster {id_.name!r}"
    labelled = mapping_at(part.body, "metadata", "labels").get(CLUSTER_NAME)
    if kind is CSR:
        return "" if labelled == cluster else f"its label {CLUSTER_NAME} is {labelled!r}"
    if kind is LEASE and id_.namespace == KARMADA_NAMESPACE:
        return "" if id_.name == cluster else f"it is the lease of cluster {id_.name!r}"
    if kind is CLUSTER_DEPLOYMENT and id_.name != cluster:
        return f"it is about cluster {id_.name!r}"
    if id_.namespace != cluster:
        return f"its namespace is {id_.namespace!r}"
    return "" if labelled in (None, cluster) else f"its label {CLUSTER_NAME} is {labelled!r}"


def _request_owners(parts: Iterable[Part]) -> Mapping[ObjectId, str]:
    """The owner of each request name that agents of several clusters use.

    Requests have no namespace, so an agent could take another agent's name and suppress its request. The owner is the
    cluster that the name begins with (upstream: `<cluster>-...`), else the first cluster by name.
    """
    users: dict[ObjectId, set[str]] = defaultdict(set)
    for part in parts:
        if (
            part.source.ref
            and kind_of(part.id) is CSR
            and not _not_allowed(part, cluster := cluster_of(part.source.ref))
        ):
            users[part.id].add(cluster)
    return {id_: _namesake(id_.name, clusters) for id_, clusters in users.items() if len(clusters) > 1}


def _namesake(name: str, clusters: set[str]) -> str:
    matching = [cluster for cluster in clusters if name == cluster or name.startswith(f"{cluster}-")]
    return max(matching, key=len) if matching else min(clusters)


def _owned_by_other(part: Part, cluster: str, named: Mapping[ObjectId, str]) -> str:
    owner = named.get(part.id, cluster)
    return "" if owner == cluster else f"cluster {owner!r} has a request of that name; begin it with {cluster + '-'!r}"
