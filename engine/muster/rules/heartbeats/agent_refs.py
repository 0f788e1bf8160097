"""Agent refs: which clusters have one, recorded so that the next run knows what is missing, and lost clusters.

See `muster.fleet.agent_refs`: without this record a checkout without agents' refs would look like a silent fleet.
Removed clusters are recorded too, so that they do not count as new ones (`muster.fleet.acceptance`).

If a cluster's ref is gone or replaced (*lost*), its Lease is gone with it. The run that notices derives a Lease
instead, renewed at that instant, as for a newly accepted cluster. Until it expires the cluster counts as broken: it
keeps its derived state, and so does everything that depends on its agent's reports. Then it counts as silent. All of
this is in the derived files, so a clone that never had the ref decides the same.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTERS, FLEET, MANAGED_CLUSTER, kind_of
from muster.fleet.acceptance import REMOVED
from muster.fleet.agent_refs import AGENT_REF, depending_on_lost
from muster.fleet.fleet import RefsRead
from muster.fleet.leases import lease_id, renew_time
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.effects.budget import fleet_id
from muster.rules.heartbeats.silence import known_cluster
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.staleness import expiry
from muster.rules.stages import Local, Wide


def with_lost_retained(fleet: FleetWithPolicies, now: datetime) -> FleetWithPolicies:
    """Return the fleet with lost clusters counted as broken while their leases last."""
    if not fleet.refs.lost:
        return fleet
    doubtful = replace(fleet, broken=fleet.broken.union(fleet.refs.lost))
    scopes = Scopes.of(doubtful, fleet.rules, now)
    lasting = frozenset(id_ for id_ in fleet.refs.lost if _lasts(doubtful, scopes, id_, now))
    return replace(
        fleet, refs=replace(fleet.refs, lost=lasting), broken=fleet.broken.union(depending_on_lost(fleet, lasting))
    )


def _lasts(fleet: FleetWithPolicies, scopes: Scopes, id_: ObjectId, now: datetime) -> bool:
    """Has the derived Lease of a lost cluster not expired? Without one, this run notices the loss."""
    lease = fleet.previous.get(lease_id(id_.name))
    if renew_time(lease) is None:
        return id_ in fleet.previous
    until = expiry(known_cluster(fleet, id_), lease, scopes.grace_seconds(id_.name))
    return until is None or now < until


_BECAUSE = Because("hearing", OF_ITSELF, "the cluster's agents report through this ref")
_PROVISIONER = Because("hearing", OF_ITSELF, "the cluster's provisioner reports through this ref")
_REMOVED = Because(
    "hearing", OF_ITSELF, "people have removed these clusters, and their agents are not known to be gone"
)


def stage(view: View, refs: RefsRead) -> Iterator[Decision]:
    """Decide `status.muster.agentRef` of every cluster with a ref, of its agent or its provisioner."""
    for obj in view.clusters():
        if obj.id.name in refs.speaking:
            yield Decision(obj.id, AGENT_REF, f"agents/{obj.id.name}", _BECAUSE)
    for obj in view.of(CLUSTER_DEPLOYMENT):
        by_agent = any(part.source.ref for part in obj.parts) or view.before(obj.id, *AGENT_REF)
        if by_agent and obj.id.name in refs.speaking:
            yield Decision(obj.id, AGENT_REF, f"agents/{obj.id.name}", _PROVISIONER)


def removed_clusters(shared: Shared) -> Iterator[Decision]:
    """Decide which clusters the Fleet records as removed."""
    held = {id_.name for id_ in shared.broken if kind_of(id_) is MANAGED_CLUSTER}
    if removed := sorted(shared.departed - held):
        yield Decision(fleet_id(shared), REMOVED, removed, _REMOVED)


STAGE = Local("hearing", stage, derives=(((*CLUSTERS, CLUSTER_DEPLOYMENT), (("status", "muster", "agentRef"),)),))


REMOVED_CLUSTERS = Wide("departures", removed_clusters, derives=(((FLEET,), (REMOVED,)),))
