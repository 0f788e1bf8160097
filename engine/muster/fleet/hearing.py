"""Not hearing is not silence: which clusters speak through refs of their own, and which of them could not be heard.

A checkout often lacks the agents' refs: CI fetches one commit of one branch, a fork or a mirror may have none. Taken
for silence, that would make every cluster Unknown. So the derived part of each cluster that speaks through a ref says
so (`status.muster.agentRef`, which changes only when that begins or ends), and a ref that counted at the last run and
is not here is either *gone*, which is silence, or *unheard*, and then nothing is decided that depends on it.

It is gone where it was looked for and others of its kind were found there: a place that has some of the refs is where
agents push. Where all are missing at once nobody can tell whether every agent retired or this is not the place.
"""

from collections.abc import Iterable
from dataclasses import replace

from muster.fleet import agent_messages as messages
from muster.fleet.acceptance import ACCEPTED_ON, is_accepted
from muster.fleet.approvals import CERTIFICATE, is_denied
from muster.fleet.approvals import denied as is_put_out
from muster.fleet.fleet import AnyFleet, Fleet
from muster.fleet.leases import CLUSTER_NAME, leased_cluster
from muster.fleet.objects import by_type
from muster.model.agentref import cluster_of
from muster.model.finding import Finding
from muster.model.ids import ObjectId
from muster.model.kinds import (
    ADAPTER_REPORT,
    CLUSTER_DEPLOYMENT,
    CLUSTERS,
    CSR,
    LEASE,
    MANAGED_CLUSTER,
    NODE_POOL,
    kind_of,
)
from muster.model.snapshot import Agents
from muster.model.tree import mapping_at, mappings_at

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
    missing = recorded - present - _in_files(fleet) - withheld
    gone = missing if agents.asked and recorded & present else missing & agents.gone
    unheard = frozenset(missing - gone)
    known = sorted({*fleet.objects, *proposed(fleet)})
    found = [
        messages.agent_gone(id_, declared=id_ in fleet.objects)
        for id_ in known
        if kind_of(id_) in CLUSTERS and id_.name in gone
    ]
    if unheard:
        found.append(messages.agents_unheard(sorted(unheard)))
    found.extend(map(messages.agents_withheld, agents.withheld))
    found.extend(_doubted(fleet, agents, known))
    unheard |= withheld
    return replace(
        fleet,
        speaking=frozenset(present & (words | recorded)),
        unheard=unheard,
        withheld=withheld,
        # Whoever is not here, and is not known to be gone, may still speak.
        departed={
            n: obj for n, obj in fleet.departed.items() if n in present or not (agents.asked or n in agents.gone)
        },
        identities=agents.identities,
        broken=fleet.broken.union(_dependent(fleet, unheard), _certified(fleet, agents)),
        findings=(*fleet.findings, *found),
    )


def _doubted(fleet: Fleet, agents: Agents, known: Iterable[ObjectId]) -> Iterable[Finding]:
    """The clusters that are let in, and whose agents' last words are not received."""
    for id_ in known if agents.identities else ():
        doubted = agents.identities.get(id_.name) if agents.identities and kind_of(id_) in CLUSTERS else None
        obj = fleet.objects.get(id_)
        if (
            doubted is not None
            and doubted.reason
            and obj is not None
            and (obj.kind is not MANAGED_CLUSTER or is_accepted(obj))
        ):
            yield messages.not_received(id_, doubted)


def _certified(fleet: Fleet, agents: Agents) -> Iterable[ObjectId]:
    """The requests whose certificates stand, of clusters for which a stranger speaks: that he leaves them out, or
    replaces them, ends no certificate. People's no does."""
    strangers = {name for name, behind in (agents.identities or {}).items() if not behind.user}
    if not strangers:
        return
    people = (part for part in fleet.parts if CSR.has(part.id) and not part.source.ref)
    denied = {part.id for part in people if is_denied(by_type(mappings_at(part.body, "status", "conditions")))}
    for id_ in fleet.previous:
        if CSR.has(id_) and id_ not in denied and fleet.before(id_, *CERTIFICATE):
            cluster = mapping_at(fleet.before(id_, "metadata", "labels")).get(CLUSTER_NAME)
            if cluster in strangers and not is_put_out(fleet.objects, fleet.previous, str(cluster)):
                yield id_


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
