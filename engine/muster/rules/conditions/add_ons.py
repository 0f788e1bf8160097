"""Add-ons while their cluster, or their own agent, is silent.

Sources: upstream's add-on health check (`pkg/registration/hub/addon/healthcheck_controller.go`): while the cluster is
Unknown, its add-ons are Unknown for the same reason. And its lease controller
(`pkg/registration/spoke/addon/lease_controller.go`): an add-on with a Lease, named after it in the cluster's namespace,
is available while that is fresh, for 5 durations. Afterwards it is Unknown here. A report about an add-on has priority
over a fresh Lease.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from muster.data.decision import Because, Decision, Input, Path, Wake
from muster.data.finding import Finding
from muster.data.kinds import LEASE, MANAGED_CLUSTER, MANAGED_CLUSTER_ADD_ON
from muster.data.times import later, second_at, try_time
from muster.data.tree import At
from muster.fleet.faults import each
from muster.fleet.leases import DEFAULT_SECONDS, GRACE_FACTOR, renew_time
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.stages import CONDITIONS, Local
from muster.rules.transitions import condition

_OF_CLUSTER: Final[Path] = ("status", "conditions", (MANAGED_CLUSTER.headline,))
_AVAILABLE: Final = "Available"
_UNKNOWN = "its cluster is Unknown, and so is the add-on"
_RENEWED: Final[At] = ("spec", "renewTime")
_STOPPED, _UPDATED = "ManagedClusterAddOnLeaseUpdateStopped", "ManagedClusterAddOnLeaseUpdated"


def stage(view: View, now: datetime) -> Iterator[Decision | Wake | Finding]:
    """Decide the availability of add-ons of Unknown clusters, and of those with a Lease."""
    leases = {lease.id: lease for lease in view.of(LEASE)}

    def available(add_on: Object) -> Iterator[Decision | Wake]:
        cluster_id = MANAGED_CLUSTER.id(add_on.id.namespace)
        cluster = view.now(cluster_id, *_OF_CLUSTER)
        if isinstance(cluster, dict) and cluster.get("status") == "Unknown":
            statement = ("Unknown", cluster["reason"], cluster["message"])
            yield _decision(
                view, add_on, statement, Because("add-ons", (Input(_OF_CLUSTER, cluster_id),), _UNKNOWN), now
            )
        elif lease := leases.get(LEASE.id(add_on.id.name, add_on.id.namespace)):
            yield from _leased(view, add_on, lease, now)

    yield from each(view.of(MANAGED_CLUSTER_ADD_ON), available)


def _leased(view: View, add_on: Object, lease: Object, now: datetime) -> Iterator[Decision | Wake]:
    renewed = try_time(renew_time(lease.body))
    if renewed is None:
        return
    seconds = lease.spec.get("leaseDurationSeconds") or DEFAULT_SECONDS
    end = second_at(later(renewed, GRACE_FACTOR * timedelta(seconds=seconds)))
    because = Because("add-ons", (Input(_RENEWED, lease.id),))
    if end is not None and now >= end:
        statement = ("Unknown", _STOPPED, f"{add_on.id.name} add-on stopped updating its lease.")
        yield _decision(view, add_on, statement, because, now)
    elif _AVAILABLE not in view.reported(add_on.id):
        statement = ("True", _UPDATED, f"{add_on.id.name} add-on is available.")
        yield _decision(view, add_on, statement, because, now, end)
    elif end is not None:
        yield Wake(add_on.id, because, end)


def _decision(
    view: View,
    add_on: Object,
    statement: tuple[str, str, str],
    because: Because,
    now: datetime,
    end: datetime | None = None,
) -> Decision:
    """Decide whether the add-on is available. Its time is that of the last run's condition, or of its agent's report,
    with this status."""
    before = view.conditions_before(add_on.id).get(_AVAILABLE) or view.reported(add_on.id).get(_AVAILABLE)
    return Decision(add_on.id, (*CONDITIONS, (_AVAILABLE,)), condition(before, *statement, now=now), because, end)


STAGE = Local("add-ons", stage, derives=(((MANAGED_CLUSTER_ADD_ON,), (CONDITIONS,)),))
