"""What an agent may say on its own ref: its cluster's heartbeat, status, reports and requests, and nothing else.

An agent is not trusted with more than its own cluster. A part that speaks for anything else is refused and reported,
and the agent's other parts still count. Once people declare the cluster, only its status is taken from the agent:
what it wished for when it registered is history (seed 002: both sides opt in, mutually untrusted in the beginning).
"""

from collections.abc import Iterable
from dataclasses import replace

from muster.fleet import messages
from muster.fleet.leases import CLUSTER_NAME, KARMADA_NAMESPACE
from muster.model.agentref import cluster_of
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import CLUSTERS, CSR, LEASE, kind_of
from muster.model.source import Part
from muster.model.tree import Tree, mapping_at

_IDENTITY = frozenset(("apiVersion", "kind", "metadata"))
#: What an agent may propose when it registers its cluster.
_PROPOSED = frozenset(("hubAcceptsClient", "leaseDurationSeconds", "managedClusterClientConfigs"))

#: Who made a request for a certificate.
_REQUESTER = ("extra", "groups", "uid", "username")
_USER = "system:open-cluster-management:"


def admitted(parts: Iterable[Part]) -> tuple[list[Part], list[Finding]]:
    """Return the parts that count, those of agents cut down to what an agent may say, and what was refused."""
    everything = list(parts)
    declared = {part.id for part in everything if not part.source.ref and "spec" in part.body}
    kept: list[Part] = []
    findings: list[Finding] = []
    for part in everything:
        if not part.source.ref:
            kept.append(part)
            continue
        cluster = cluster_of(part.source.ref)
        if reason := _foreign(part, cluster):
            findings.append(messages.refused_agent_part(part, reason))
            continue
        body, dropped = _allowed(part, declared)
        findings.extend(messages.refused_agent_field(part, cluster, field) for field in dropped)
        kept.append(replace(part, body=body))
    return kept, findings


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
    if id_.namespace != cluster:
        return f"its namespace is {id_.namespace!r}"
    return "" if labelled in (None, cluster) else f"its label {CLUSTER_NAME} is {labelled!r}"


def _allowed(part: Part, declared: set[ObjectId]) -> tuple[Tree, list[str]]:
    """Cut a part down to what the agent may say; also return the fields that it may not, for findings."""
    kind = kind_of(part.id)
    sections = frozenset(kind.reported) | _IDENTITY
    dropped = sorted(set(part.body) - sections)
    body = {name: value for name, value in part.body.items() if name in sections}
    if kind is CSR:
        return _own_name(part, body, dropped)
    if kind not in CLUSTERS:
        return body, dropped
    if part.id in declared or "spec" not in kind.reported:
        # People's word on spec and labels stands alone; no conflict, because the agent's was only a request.
        return _status_only(part, body), dropped
    spec = mapping_at(body, "spec")
    if spec:
        refused = sorted(
            name for name in spec if name not in _PROPOSED or (name, spec[name]) == ("hubAcceptsClient", True)
        )
        dropped.extend(f"spec.{name}" for name in refused)
        body["spec"] = {name: value for name, value in spec.items() if name not in refused}
    return body, dropped


def _own_name(part: Part, body: Tree, dropped: list[str]) -> tuple[Tree, list[str]]:
    """Of who it is, an agent may say that it is its cluster's: nobody vouches for more than the right to push there.

    On a live hub these fields are the API server's to fill in.
    """
    own = f"{_USER}{cluster_of(part.source.ref)}:"
    spec = mapping_at(body, "spec")
    refused = sorted(
        name
        for name in _REQUESTER
        if name in spec and not (name == "username" and isinstance(spec[name], str) and spec[name].startswith(own))
    )
    if refused:
        body = {**body, "spec": {name: value for name, value in spec.items() if name not in refused}}
    return body, [*dropped, *(f"spec.{name}" for name in refused)]


def _status_only(part: Part, body: Tree) -> Tree:
    return {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "metadata": {"name": part.id.name},
        **({"status": body["status"]} if "status" in body else {}),
    }
