"""Hearing: which clusters speak through refs of their own, written down so that the next run knows what it misses.

And which of them people have removed, so that it does not take those for newcomers (`muster.fleet.acceptance`).

See `muster.fleet.agent_refs`: without that record a checkout that has no agents' refs would look like a fleet gone
silent.

Lost agents: a ref that is gone or replaced is no news of its cluster. What was derived stands until the lease ends.

The Lease that the agent renewed went with its ref. The run that notices derives one in its place, renewed at that
instant, as for a cluster that was accepted just now. Until it has run out the cluster counts as broken: it keeps
what was derived of it, and so does all that is decided from its agent's words. Then its silence counts like any other.

All of it lies in the derived files, so a clone that never saw the ref decides the same.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTER_DEPLOYMENT, CLUSTERS, FLEET, MANAGED_CLUSTER, kind_of
from muster.fleet.acceptance import REMOVED
from muster.fleet.agent_refs import AGENT_REF, depending_on_lost
from muster.fleet.leases import lease_id, renew_time
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.context import Context
from muster.rules.effects.population import fleet_id
from muster.rules.heartbeats.silence import known_cluster
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.staleness import expiry
from muster.rules.stages import Local, Wide


def with_lost_kept(fleet: FleetWithPolicies, now: datetime) -> FleetWithPolicies:
    """Return the fleet in which lost clusters whose leases have not run out keep what was derived of them."""
    if not fleet.lost:
        return fleet
    doubtful = replace(fleet, broken=fleet.broken.union(fleet.lost))
    scopes = Scopes.of(doubtful, fleet.rules, now)
    kept = frozenset(id_ for id_ in fleet.lost if _lasts(doubtful, scopes, id_, now))
    return replace(fleet, lost=kept, broken=fleet.broken.union(depending_on_lost(fleet, kept)))


def _lasts(fleet: FleetWithPolicies, scopes: Scopes, id_: ObjectId, now: datetime) -> bool:
    """Whether the Lease that is derived for a lost cluster has not run out; without one the loss is noticed now."""
    lease = fleet.previous.get(lease_id(id_.name))
    if renew_time(lease) is None:
        return id_ in fleet.previous
    until = expiry(known_cluster(fleet, id_), lease, scopes.grace_seconds(id_.name))
    return until is None or now < until


_BECAUSE = Because("hearing", OF_ITSELF, "the cluster's agents speak through this ref")
_PROVISIONER = Because("hearing", OF_ITSELF, "the cluster's provisioner speaks through this ref")
_REMOVED = Because(
    "hearing", OF_ITSELF, "people have removed these clusters, and their agents are not known to be gone"
)


def stage(view: View, context: Context, _now: datetime) -> Iterator[Decision]:
    """Decide `status.muster.agentRef` of every cluster that speaks through a ref, its agent or its provisioner."""
    for obj in view.clusters():
        if obj.id.name in context.speaking:
            yield Decision(obj.id, AGENT_REF, f"agents/{obj.id.name}", _BECAUSE)
    for obj in view.of(CLUSTER_DEPLOYMENT):
        spoken = any(part.source.ref for part in obj.parts) or view.before(obj.id, *AGENT_REF)
        if spoken and obj.id.name in context.speaking:
            yield Decision(obj.id, AGENT_REF, f"agents/{obj.id.name}", _PROVISIONER)


def departures(shared: Shared, _context: Context, _now: datetime) -> Iterator[Decision]:
    """Decide which clusters the Fleet remembers as removed."""
    held = {id_.name for id_ in shared.broken if kind_of(id_) is MANAGED_CLUSTER}
    if removed := sorted(shared.departed - held):
        yield Decision(fleet_id(shared), REMOVED, removed, _REMOVED)


STAGE = Local("hearing", stage, derives=(((*CLUSTERS, CLUSTER_DEPLOYMENT), (("status", "muster", "agentRef"),)),))


DEPARTURES = Wide("departures", departures, derives=(((FLEET,), (REMOVED,)),))
