"""What an agent may say on its own ref: its cluster's heartbeat, status, reports and requests, and nothing else.

An agent is not trusted with more than its own cluster. A part that speaks for anything else is refused and reported,
and the agent's other parts still count. Once people declare the cluster, only its status is taken from the agent:
what it wished for when it registered is history (seed 002: both sides opt in, mutually untrusted in the beginning).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from muster.data.agentref import cluster_of
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTERS, CSR, LEASE, kind_of
from muster.data.snapshot import Identity
from muster.data.source import Part
from muster.data.tree import Tree, mapping_at
from muster.fleet import agent_messages as messages
from muster.fleet.agent_fields import cut
from muster.fleet.leases import CLUSTER_NAME, KARMADA_NAMESPACE

_STRANGER = Identity()


@dataclass(frozen=True, slots=True)
class Admitted:
    """The parts that count, those of agents cut down to what an agent may say, and what was refused.

    `asked`: the labels that agents ask for, by cluster. Nothing of them counts.
    """

    parts: list[Part] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    asked: dict[ObjectId, dict[str, str]] = field(default_factory=dict)


def admitted(parts: Iterable[Part], identities: Mapping[str, Identity] | None = None) -> Admitted:
    """Judge the input parts of a snapshot: people's all count, agents' as far as they are their own.

    `identities` has who is behind each cluster's words, where agents have to sign: of those of whom nobody knows it
    counts what a stranger may say, that the cluster is there and wants a certificate. In whose name a request is made
    is then no matter of what it says.
    """
    everything = list(parts)
    declared: dict[ObjectId, list[Tree]] = defaultdict(list)
    for part in everything:
        if not part.source.ref and "spec" in part.body:
            declared[part.id].append(part.body)
    named = _named(everything)
    found = Admitted()
    for part in everything:
        if not part.source.ref:
            found.parts.append(part)
            continue
        cluster = cluster_of(part.source.ref)
        if reason := _foreign(part, cluster) or _taken(part, cluster, named):
            found.findings.append(messages.refused_agent_part(part, reason))
            continue
        if identities is not None:
            user = identities.get(cluster, _STRANGER).user
            stranger = part if user else _of_stranger(part)
            if stranger is None:
                continue  # that it does not count is said once for all of the ref
            part = stranger
            if reason := _of_another(part, user):
                found.findings.append(messages.refused_agent_part(part, reason))
                continue
        left = cut(part, cluster, declared.get(part.id, ()))
        found.findings.extend(messages.refused_agent_field(part, cluster, name) for name in left.refused)
        found.asked.setdefault(part.id, {}).update(left.labels)
        found.parts.append(replace(part, body=left.body))
    return found


def _of_stranger(part: Part) -> Part | None:
    """What counts of a part of which nobody knows who wrote it."""
    if kind_of(part.id) in CLUSTERS and "spec" in part.body:
        return replace(part, body={name: value for name, value in part.body.items() if name != "status"})
    return part if kind_of(part.id) is CSR else None


def _of_another(part: Part, user: str) -> str:
    """Why a request is not whose it says it is; empty where it is, or says nothing of that."""
    named = mapping_at(part.body, "spec").get("username") if kind_of(part.id) is CSR else None
    if named is None or named == user:
        return ""
    return f"it is made in the name of {named!r}, and signed by {user or 'nobody who is known'}"


def _foreign(part: Part, cluster: str) -> str:
    """Why a part is not the agent's to write; empty where it is."""
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


def _named(parts: Iterable[Part]) -> Mapping[ObjectId, str]:
    """Whose a request is where agents of several clusters use one name for theirs.

    Requests have no namespace, so an agent could take another's name and drown its request. The cluster after which
    it is named has it (upstream: `<cluster>-...`), else the first by name.
    """
    users: dict[ObjectId, set[str]] = defaultdict(set)
    for part in parts:
        if part.source.ref and kind_of(part.id) is CSR and not _foreign(part, cluster := cluster_of(part.source.ref)):
            users[part.id].add(cluster)
    return {id_: _namesake(id_.name, clusters) for id_, clusters in users.items() if len(clusters) > 1}


def _namesake(name: str, clusters: set[str]) -> str:
    own = [cluster for cluster in clusters if name == cluster or name.startswith(f"{cluster}-")]
    return max(own, key=len) if own else min(clusters)


def _taken(part: Part, cluster: str, named: Mapping[ObjectId, str]) -> str:
    owner = named.get(part.id, cluster)
    return "" if owner == cluster else f"cluster {owner!r} has a request of that name; begin it with {cluster + '-'!r}"
