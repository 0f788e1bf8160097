"""Not hearing is not silence: which clusters speak through refs of their own, and which of them could not be heard.

A checkout often lacks the agents' refs: CI fetches one commit of one branch, a fork or a mirror may have none. Taken
for silence, that would make every cluster Unknown. So the derived part of each cluster that speaks through a ref says
so (`status.muster.agentRef`, which changes only when that begins or ends), and a ref that counted at the last run and
is not here is either *gone*, which is silence, or *unheard*, and then nothing is decided that depends on it.

It is gone where it was looked for and others of its kind were found there: a place that has some of the refs is where
agents push. Where all are missing at once nobody can tell whether every agent retired or this is not the place.

A ref that is gone is no news of its cluster, and neither is one that holds nothing of its agent's any more: somebody
deleted or replaced it. Such a cluster is *lost*. What was derived of it stands until its lease has run out
(`muster.rules.heartbeats.hearing`), and its certificates for as long as people let it in.
"""

from collections.abc import Iterable, Set
from dataclasses import replace

from muster.data.agentref import cluster_of
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
    NODE_POOL,
    kind_of,
)
from muster.data.snapshot import Agents
from muster.data.tree import mapping_at
from muster.fleet import agent_messages as messages
from muster.fleet.acceptance import ACCEPTED_ON, is_accepted
from muster.fleet.approvals import CERTIFICATE, DECIDED, VOUCHED, denied_by_people
from muster.fleet.fleet import AnyFleet, Fleet
from muster.fleet.leases import CLUSTER_NAME, lease_id, leased_cluster

#: That a cluster's agent has said a first word, and that the last one is known to be the agent's.
JOINED, VERIFIED = "ManagedClusterJoined", "AgentIdentityVerified"
#: Where a cluster's derived part names the ref that it speaks through.
AGENT_REF = ("status", "muster", "agentRef")

#: Of what a ref speaks: a cluster, and the same as a provisioner made it for a pool.
SPEAKERS = (*CLUSTERS, CLUSTER_DEPLOYMENT)
#: What lies in a cluster's namespace and depends on what its agents say.
_NEIGHBOURS = frozenset((ADAPTER_REPORT, NODE_POOL, LEASE))


def hear(fleet: AnyFleet, agents: Agents) -> AnyFleet:
    """Return the fleet with the clusters that speak through refs known, and what depends on unheard ones kept as it is.

    `agents` tells which refs the snapshot has. Those that are gone and those that could not be heard are findings.
    """
    words = {cluster_of(part.source.ref) for obj in fleet.objects.values() for part in obj.parts if part.source.ref}
    recorded = recorded_agents(fleet)
    present = agents.present | words
    withheld = agents.unknown  # of a part of a fleet, too, all: requests for certificates do not say whose they are
    elsewhere = _in_files(fleet) | withheld
    missing = recorded - present - elsewhere
    gone = missing if agents.asked and recorded & present else missing & (agents.gone | _noticed(fleet))
    unheard = frozenset(missing - gone)
    known = sorted({*fleet.objects, *proposed(fleet)})
    clusters = {id_.name for id_ in known if kind_of(id_) in CLUSTERS}
    mute = (recorded & present & clusters) - words - elsewhere - _doubted_names(agents)
    lost = _lost(fleet, agents, known, gone - agents.retired | mute, elsewhere)
    found = [
        messages.agent_gone(id_, declared=id_ in fleet.objects, there=id_.name in mute)
        for id_ in known
        if kind_of(id_) in CLUSTERS and id_.name in gone | mute
    ]
    if unheard:
        found.append(messages.agents_unheard(sorted(unheard)))
    found.extend(map(messages.agents_withheld, agents.withheld))
    found.extend(_doubted(fleet, agents, known))
    unheard |= withheld
    return replace(
        fleet,
        speaking=frozenset(present & (words | recorded) - mute),
        unheard=unheard,
        withheld=withheld,
        lost=lost,
        # Whoever is not here, and is not known to be gone, may still speak.
        departed={
            n: obj for n, obj in fleet.departed.items() if n in present or not (agents.asked or n in agents.gone)
        },
        identities=agents.identities,
        broken=fleet.broken.union(_dependent(fleet, unheard), _certified(fleet, lost)),
        findings=(*fleet.findings, *found),
    )


def _doubted(fleet: Fleet, agents: Agents, known: Iterable[ObjectId]) -> Iterable[Finding]:
    """The clusters that are let in, and whose agents' last words are not received."""
    for id_ in known if agents.identities else ():
        doubted = agents.identities.get(id_.name) if agents.identities and kind_of(id_) in CLUSTERS else None
        obj = fleet.objects.get(id_)
        if doubted is not None and doubted.reason and obj is not None and _is_in(fleet, id_):
            yield messages.not_received(id_, doubted, heard=_was_heard(fleet, id_))


def _doubted_names(agents: Agents) -> frozenset[str]:
    """The clusters whose refs hold something that is not known to be their agents' word."""
    return frozenset(name for name, behind in (agents.identities or {}).items() if not behind.user)


def _lost(
    fleet: Fleet, agents: Agents, known: Iterable[ObjectId], vanished: Set[str], elsewhere: Set[str]
) -> frozenset[ObjectId]:
    """The clusters that are in the fleet, whose agents were heard before, and of whom nothing is received any more:
    the refs of some `vanished`, those of others hold what nobody vouches for."""
    doubted = _doubted_names(agents) - elsewhere - _revoked(fleet)
    return frozenset(
        id_
        for id_ in known
        if kind_of(id_) in CLUSTERS
        and (id_.name in vanished or (id_.name in doubted and _was_heard(fleet, id_)))
        and _is_in(fleet, id_)
    )


def _is_in(fleet: Fleet, id_: ObjectId) -> bool:
    """Whether a cluster is in the fleet: a person's no counts at once."""
    obj = fleet.objects.get(id_)
    return obj is None or obj.kind is not MANAGED_CLUSTER or is_accepted(obj)


def _was_heard(fleet: Fleet, id_: ObjectId) -> bool:
    """Whether something of a cluster's agent was received before: a stranger's words alone let no cluster join."""
    before = fleet.conditions_before(id_)
    verified = before.get(VERIFIED, {}).get("status") == "True"
    return verified or JOINED in before or (kind_of(id_) is KARMADA_CLUSTER and _awaits(fleet, id_.name))


def _awaits(fleet: Fleet, cluster: str) -> bool:
    return lease_id(cluster) in fleet.previous


def _noticed(fleet: Fleet) -> frozenset[str]:
    """The clusters of which a run has noticed already that they are lost: it awaits their Lease since then."""
    return frozenset(
        id_.name for id_ in fleet.previous if kind_of(id_) in CLUSTERS and _awaits(fleet, id_.name)
        and fleet.before(id_, *AGENT_REF)
    )  # fmt: skip


def _certified(fleet: Fleet, lost: Set[ObjectId]) -> Iterable[ObjectId]:
    """The requests whose certificates stand, of clusters of which nothing is received: that somebody leaves them out,
    replaces them or deletes the ref ends no certificate. People's no does."""
    names = {id_.name for id_ in lost}
    denied = denied_by_people(fleet.parts) if names else frozenset()
    for id_ in fleet.previous if names else ():
        if CSR.has(id_) and fleet.before(id_, *CERTIFICATE) and _whose(fleet, id_) in names:
            vouchers = (CSR.id(str(name)) for name in fleet.before(id_, *DECIDED, VOUCHED) or ())
            if denied.isdisjoint((id_, *vouchers)):
                yield id_


def _revoked(fleet: Fleet) -> frozenset[str]:
    """The clusters of which people have just revoked a certificate: what its key signed goes with it."""
    return frozenset(_whose(fleet, id_) for id_ in denied_by_people(fleet.parts) if fleet.before(id_, *CERTIFICATE))


def _whose(fleet: Fleet, id_: ObjectId) -> str:
    """Whose a request for a certificate is, by its derived part."""
    return str(mapping_at(fleet.before(id_, "metadata", "labels")).get(CLUSTER_NAME, ""))


def recorded_agents(fleet: Fleet) -> frozenset[str]:
    """The clusters that spoke through refs at the last run, by its own record."""
    return frozenset(id_.name for id_ in fleet.previous if kind_of(id_) in SPEAKERS and fleet.before(id_, *AGENT_REF))


def proposed(fleet: Fleet) -> frozenset[ObjectId]:
    """The clusters of the last run that only their agents' refs declared, and that the fleet accepted by itself."""
    return frozenset(
        id_
        for id_ in fleet.previous
        if kind_of(id_) in CLUSTERS
        and id_ not in fleet.objects
        and fleet.before(id_, *AGENT_REF)
        and fleet.before(id_, "metadata", "annotations", ACCEPTED_ON)
    )


def _in_files(fleet: Fleet) -> set[str]:
    """The clusters whose Lease is in a file: they need no ref to be heard, even if they had one."""
    return {leased_cluster(obj) for obj in fleet.of(LEASE) if any(not part.source.ref for part in obj.parts)}


def _dependent(fleet: Fleet, unheard: frozenset[str]) -> Iterable[ObjectId]:
    """The objects that nobody can decide without those clusters' words; they keep their derived state, as broken ones.

    A request for a certificate does not say whose it is once its file is out of sight: all such are kept.
    """
    if not unheard:
        return
    for id_ in {*fleet.objects, *fleet.previous}:
        kind = kind_of(id_)
        whose = id_.name if kind in CLUSTERS else id_.namespace if kind in _NEIGHBOURS else ""
        if kind is CLUSTER_DEPLOYMENT and fleet.before(id_, *AGENT_REF):
            whose = id_.name
        if whose in unheard or (kind is CSR and id_ not in fleet.objects):
            yield id_


def of_lost(fleet: Fleet, lost: Iterable[ObjectId]) -> Iterable[ObjectId]:
    """The objects that nobody can decide without the words of clusters that are lost."""
    names = {id_.name for id_ in lost}
    yield from lost
    denied = denied_by_people(fleet.parts)
    for id_ in {*fleet.objects, *fleet.previous}:
        kind = kind_of(id_)
        beside = kind in _NEIGHBOURS and id_.namespace in names
        asked = kind is CSR and id_ not in fleet.objects and id_ not in denied and _whose(fleet, id_) in names
        if beside or asked:
            yield id_
