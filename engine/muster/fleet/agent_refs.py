"""Clusters with agent refs: which refs exist, and which are missing only here.

A checkout often lacks the agents' refs: CI fetches one commit of one branch, a fork or mirror may have none. Taken as
silence, this would make every cluster Unknown. So the derived part of a cluster names its ref
(`status.muster.agentRef`, which changes only at the start and end), and a ref that counted at the last run and is
missing is either *gone*, which is silence, or *unheard*, and then nothing that depends on it is decided.

A ref is gone if it was looked for and other agents' refs were found: a place with some of the refs is where agents
push. If all are missing at once, every agent may have stopped or this may be the wrong place.

If a ref is gone, or holds nothing from its agent any more, somebody deleted or replaced it. Such a cluster is *lost*,
and so is one whose agent's report cannot be read (`muster.fleet.unread_reports`): its derived state holds until its
lease has expired (`muster.rules.heartbeats.agent_refs`), and its certificates while people accept it.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from muster.data.agentref import cluster_of, is_collected
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADAPTER_REPORT,
    CLUSTER_DEPLOYMENT,
    CLUSTERS,
    CSR,
    KARMADA_CLUSTER,
    LEASE,
    MANAGED_CLUSTER,
    MANAGED_CLUSTER_ADD_ON,
    MANIFEST_WORK,
    NODE_POOL,
    kind_of,
)
from muster.data.snapshot import Agents
from muster.data.tree import mapping_at
from muster.fleet import agent_messages as messages
from muster.fleet.acceptance import ACCEPTED_ON, is_accepted
from muster.fleet.approvals import CERTIFICATE, DECIDED, VOUCHED, requests_denied_by_people
from muster.fleet.clusters import JOINED
from muster.fleet.fleet import AnyFleet, Fleet, RefsRead
from muster.fleet.leases import CLUSTER_NAME, lease_id, leased_cluster
from muster.fleet.objects import Object

#: The condition: the latest report of the cluster's agent is verified.
VERIFIED = "AgentIdentityVerified"
#: The field that names a cluster's agent ref.
AGENT_REF = ("status", "muster", "agentRef")

#: The kinds that have an agent ref: a cluster, and a cluster that a provisioner creates for a pool.
KINDS_WITH_REF = (*CLUSTERS, CLUSTER_DEPLOYMENT)
#: Kinds in a cluster's namespace that depend on its agents' reports.
_NEIGHBOURS = frozenset((ADAPTER_REPORT, NODE_POOL, LEASE, MANIFEST_WORK, MANAGED_CLUSTER_ADD_ON))


def with_agent_refs(fleet: AnyFleet, agents: Agents) -> AnyFleet:
    """Return the fleet with the state of its clusters' refs; what depends on unheard refs counts as broken.

    `agents`: the refs of the snapshot. Refs that are gone or unheard become findings.
    """
    refs = {part.source.ref for obj in fleet.objects.values() for part in obj.parts if part.source.ref}
    speaking = {cluster_of(ref) for ref in refs if not is_collected(ref)}
    recorded = recorded_refs(fleet)
    present = agents.present | speaking
    withheld = agents.unknown  # all of them, even in an incremental run: certificate requests do not name their cluster
    elsewhere = _with_lease_file(fleet) | withheld
    missing = recorded - present - elsewhere
    gone = missing if agents.asked and recorded & present else missing & (agents.gone | _known_lost(fleet))
    unheard = frozenset(missing - gone)
    ids = sorted({*fleet.objects, *accepted_by_ref(fleet)})
    clusters = {id_.name for id_ in ids if kind_of(id_) in CLUSTERS}
    fallen_silent = (recorded & present & clusters) - speaking - elsewhere - _unverified(agents)
    unread = (fleet.refs.unread & recorded & clusters) - elsewhere - _unverified(agents)
    lost = _lost(fleet, agents, ids, gone - agents.retired | fallen_silent | unread, elsewhere)
    findings = [
        messages.agent_gone(id_, declared=id_ in fleet.objects, exists=id_.name in fallen_silent)
        for id_ in ids
        if kind_of(id_) in CLUSTERS and id_.name in gone | fallen_silent
    ]
    if unheard and not agents.unrecorded:
        findings.append(messages.unheard_clusters(sorted(unheard)))
    findings.extend(map(messages.withheld_remote, agents.withheld))
    findings.extend(_unverified_findings(fleet, agents, ids))
    unheard |= withheld
    return replace(
        fleet,
        objects=_without_leases(fleet, {id_.name for id_ in lost} & unread),
        refs=RefsRead(
            frozenset(present & (speaking | recorded) - fallen_silent),
            unheard,
            withheld,
            lost,
            unread,
            agents.identities,
        ),
        # A ref that is missing here and not known to be gone may still exist.
        departed={
            n: obj for n, obj in fleet.departed.items() if n in present or not (agents.asked or n in agents.gone)
        },
        broken=fleet.broken.union(_depending_on(fleet, unheard), _keeping_certificates(fleet, lost)),
        findings=(*fleet.findings, *findings),
    )


def _without_leases(fleet: Fleet, clusters: Set[str]) -> Mapping[ObjectId, Object]:
    """The objects without the Leases of agents whose reports cannot be read: no renewal counts."""
    if not clusters:
        return fleet.objects
    return {
        id_: obj for id_, obj in fleet.objects.items() if not (obj.kind is LEASE and leased_cluster(obj) in clusters)
    }


def _unverified_findings(fleet: Fleet, agents: Agents, ids: Iterable[ObjectId]) -> Iterable[Finding]:
    """Findings about accepted clusters whose agents' latest reports are not verified."""
    for id_ in ids if agents.identities else ():
        doubted = agents.identities.get(id_.name) if agents.identities and kind_of(id_) in CLUSTERS else None
        obj = fleet.objects.get(id_)
        if doubted is not None and doubted.reason and obj is not None and _is_member(fleet, id_):
            yield messages.unverified_report(id_, doubted, heard=_reported_before(fleet, id_))


def _unverified(agents: Agents) -> frozenset[str]:
    """The clusters whose refs hold something not verified as their agents'."""
    return frozenset(name for name, signer in (agents.identities or {}).items() if not signer.user)


def _lost(
    fleet: Fleet, agents: Agents, ids: Iterable[ObjectId], vanished: Set[str], elsewhere: Set[str]
) -> frozenset[ObjectId]:
    """The accepted clusters whose agents reported before and whose reports no longer arrive: the ref has `vanished`, or
    holds nothing verified."""
    doubted = _unverified(agents) - elsewhere - _revoked(fleet)
    return frozenset(
        id_
        for id_ in ids
        if kind_of(id_) in CLUSTERS
        and (id_.name in vanished or (id_.name in doubted and _reported_before(fleet, id_)))
        and _is_member(fleet, id_)
    )


def _is_member(fleet: Fleet, id_: ObjectId) -> bool:
    """Is the cluster in the fleet? A person's denial counts at once."""
    obj = fleet.objects.get(id_)
    return obj is None or obj.kind is not MANAGED_CLUSTER or is_accepted(obj)


def _reported_before(fleet: Fleet, id_: ObjectId) -> bool:
    """Did a report of the cluster's agent ever count? Unverified reports alone let no cluster join."""
    before = fleet.conditions_before(id_)
    verified = before.get(VERIFIED, {}).get("status") == "True"
    return verified or JOINED in before or (kind_of(id_) is KARMADA_CLUSTER and _has_derived_lease(fleet, id_.name))


def _has_derived_lease(fleet: Fleet, cluster: str) -> bool:
    return lease_id(cluster) in fleet.previous


def _known_lost(fleet: Fleet) -> frozenset[str]:
    """The clusters that an earlier run found lost: it has derived their Lease since."""
    return frozenset(
        id_.name
        for id_ in fleet.previous
        if kind_of(id_) in CLUSTERS and _has_derived_lease(fleet, id_.name) and fleet.before(id_, *AGENT_REF)
    )


def _keeping_certificates(fleet: Fleet, lost: Set[ObjectId]) -> Iterable[ObjectId]:
    """The certificate requests of lost clusters that keep their certificates: only people's denial ends one, not a
    missing, replaced or deleted request."""
    names = {id_.name for id_ in lost}
    denied = requests_denied_by_people(fleet.read.parts) if names else frozenset()
    for id_ in fleet.previous if names else ():
        if CSR.has(id_) and fleet.before(id_, *CERTIFICATE) and _cluster_of_request(fleet, id_) in names:
            vouchers = (CSR.id(str(name)) for name in fleet.before(id_, *DECIDED, VOUCHED) or ())
            if denied.isdisjoint((id_, *vouchers)):
                yield id_


def _revoked(fleet: Fleet) -> frozenset[str]:
    """The clusters with a certificate that people have just revoked: reports that its key signed no longer count."""
    return frozenset(
        _cluster_of_request(fleet, id_)
        for id_ in requests_denied_by_people(fleet.read.parts)
        if fleet.before(id_, *CERTIFICATE)
    )


def _cluster_of_request(fleet: Fleet, id_: ObjectId) -> str:
    """The cluster of a certificate request, by its derived part."""
    return str(mapping_at(fleet.before(id_, "metadata", "labels")).get(CLUSTER_NAME, ""))


def recorded_refs(fleet: Fleet) -> frozenset[str]:
    """The clusters that had refs at the last run, by its own record."""
    return frozenset(
        id_.name for id_ in fleet.previous if kind_of(id_) in KINDS_WITH_REF and fleet.before(id_, *AGENT_REF)
    )


def accepted_by_ref(fleet: Fleet) -> frozenset[ObjectId]:
    """The clusters of the last run that only their agents' refs declared and that were accepted automatically."""
    return frozenset(
        id_
        for id_ in fleet.previous
        if kind_of(id_) in CLUSTERS
        and id_ not in fleet.objects
        and fleet.before(id_, *AGENT_REF)
        and fleet.before(id_, "metadata", "annotations", ACCEPTED_ON)
    )


def _with_lease_file(fleet: Fleet) -> set[str]:
    """The clusters with a Lease in a file: they need no ref."""
    return {leased_cluster(obj) for obj in fleet.of(LEASE) if any(not part.source.ref for part in obj.parts)}


def _depending_on(fleet: Fleet, unheard: frozenset[str]) -> Iterable[ObjectId]:
    """The objects that cannot be decided without those clusters' refs; they keep their derived state, as broken ones
    do.

    A certificate request does not name its cluster once its file is missing: all such are kept.
    """
    if not unheard:
        return
    for id_ in {*fleet.objects, *fleet.previous}:
        kind = kind_of(id_)
        cluster = id_.name if kind in CLUSTERS else id_.namespace if kind in _NEIGHBOURS else ""
        if kind is CLUSTER_DEPLOYMENT and fleet.before(id_, *AGENT_REF):
            cluster = id_.name
        if cluster in unheard or (kind is CSR and id_ not in fleet.objects):
            yield id_


def depending_on_lost(fleet: Fleet, lost: Iterable[ObjectId]) -> Iterable[ObjectId]:
    """The objects that cannot be decided without reports of lost clusters."""
    names = {id_.name for id_ in lost}
    yield from lost
    denied = requests_denied_by_people(fleet.read.parts)
    for id_ in {*fleet.objects, *fleet.previous}:
        kind = kind_of(id_)
        of_lost_cluster = kind in _NEIGHBOURS and id_.namespace in names
        requests_certificate = (
            kind is CSR and id_ not in fleet.objects and id_ not in denied and _cluster_of_request(fleet, id_) in names
        )
        if of_lost_cluster or requests_certificate:
            yield id_
