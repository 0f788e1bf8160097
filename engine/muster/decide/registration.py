"""Registration: is a ManagedCluster accepted, was it denied, and from when on is it expected to renew its lease.

Source: seed 002 (double opt-in, removal), seed 000 (who creates the Lease) and upstream's managedcluster and lease
controllers. A cluster that was never accepted gets no condition at all; one that was accepted once and is not any
more is denied. An accepted cluster without a Lease gets a derived one that was renewed just now, so that a new
cluster has a full grace period; it goes when the agent's own Lease exists.
"""

from collections.abc import Iterator
from datetime import datetime

from muster.decide.transitions import condition
from muster.fleet.fleet import Fleet
from muster.fleet.leases import CLUSTER_NAME, LEASE_NAME, lease_id, leases_by_cluster
from muster.fleet.objects import Object
from muster.model.decision import Because, Decision
from muster.model.kinds import MANAGED_CLUSTER
from muster.model.times import format_time

ACCEPTED = "HubAcceptedManagedCluster"
_BECAUSE = Because("registration")


def stage(fleet: Fleet, now: datetime) -> Iterator[Decision]:
    """Decide acceptance and the leases that are waited for."""
    leases = leases_by_cluster(fleet)
    for obj in fleet.of(MANAGED_CLUSTER):
        decision = _acceptance(fleet, obj, now)
        if decision is None:
            continue
        yield decision
        if obj.id.name not in leases and not obj.deleting:
            yield from _awaited_lease(fleet, obj, now)


def _acceptance(fleet: Fleet, obj: Object, now: datetime) -> Decision | None:
    before = fleet.conditions_before(obj.id).get(ACCEPTED)
    if obj.spec.get("hubAcceptsClient") is True:
        status, reason, message = "True", "HubClusterAdminAccepted", "Accepted by hub cluster admin"
    elif before is not None:
        status, reason, message = "False", "HubClusterAdminDenied", "Denied by hub cluster admin"
    else:
        return None
    decided = condition(before, status=status, reason=reason, message=message, now=now)
    return Decision(obj.id, ("status", "conditions", (ACCEPTED,)), decided, _BECAUSE)


def _awaited_lease(fleet: Fleet, obj: Object, now: datetime) -> Iterator[Decision]:
    id_ = lease_id(obj.id.name)
    renewed = fleet.before(id_, "spec", "renewTime")
    yield Decision(id_, ("metadata", "labels"), {CLUSTER_NAME: obj.id.name}, _BECAUSE)
    yield Decision(id_, ("spec", "holderIdentity"), LEASE_NAME, _BECAUSE)
    yield Decision(id_, ("spec", "renewTime"), renewed if isinstance(renewed, str) else format_time(now), _BECAUSE)
