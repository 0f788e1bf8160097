"""Lost agents: a ref that is gone or replaced is no news of its cluster. What was derived stands until the lease ends.

The Lease that the agent renewed went with its ref. The run that notices derives one in its place, renewed at that
instant, as for a cluster that was accepted just now. Until it has run out the cluster counts as broken: it keeps
what was derived of it, and so does all that is decided from its agent's words. Then its silence counts like any other.

All of it lies in the derived files, so a clone that never saw the ref decides the same.
"""

from dataclasses import replace
from datetime import datetime

from muster.data.ids import ObjectId
from muster.fleet.hearing import of_lost
from muster.fleet.leases import lease_id, renew_time
from muster.rules.heartbeats.silence import known_cluster
from muster.rules.policies.ruled import Ruled
from muster.rules.policies.scopes import Scopes
from muster.rules.policies.staleness import expiry


def with_lost_kept(fleet: Ruled, now: datetime) -> Ruled:
    """Return the fleet in which lost clusters whose leases have not run out keep what was derived of them."""
    if not fleet.lost:
        return fleet
    doubtful = replace(fleet, broken=fleet.broken.union(fleet.lost))
    scopes = Scopes.of(doubtful, fleet.rules, now)
    kept = frozenset(id_ for id_ in fleet.lost if _lasts(doubtful, scopes, id_, now))
    return replace(fleet, lost=kept, broken=fleet.broken.union(of_lost(fleet, kept)))


def _lasts(fleet: Ruled, scopes: Scopes, id_: ObjectId, now: datetime) -> bool:
    """Whether the Lease that is derived for a lost cluster has not run out; without one the loss is noticed now."""
    lease = fleet.previous.get(lease_id(id_.name))
    if renew_time(lease) is None:
        return id_ in fleet.previous
    until = expiry(known_cluster(fleet, id_), lease, scopes.grace_seconds(id_.name))
    return until is None or now < until
