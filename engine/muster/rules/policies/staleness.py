"""Staleness: an agent's report is as old as its lease.

A reported condition has a field `stale`, true from the expiry of its cluster's Lease until the next renewal. It is
computed when an expression reads it, so only decisions that depend on it get its horizon.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from muster import cel
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.times import later, second_after, second_at, span_of, try_time
from muster.data.tree import Tree, dig
from muster.fleet.leases import LONGEST_SECONDS, renew_time
from muster.fleet.objects import Object

#: Karmada waits for one duration of the Lease.
_KARMADA_SECONDS = 40


class ReportedCondition(dict[str, Any]):
    """A reported condition with `stale`."""

    def __init__(self, condition: Mapping[str, Tree], stale_from: datetime | None, clock: cel.Clock) -> None:
        super().__init__(condition)
        self.pop("stale", None)  # only muster sets it
        self._stale_from = stale_from
        self._clock = clock

    def __contains__(self, name: object) -> bool:
        return name == "stale" or super().__contains__(name)

    def __missing__(self, name: str) -> bool:
        """Return `stale`, and record when it will change. KeyError for any other field."""
        if name != "stale":
            raise KeyError(name)
        if self._stale_from is None:
            return False
        if self._clock.now >= self._stale_from:
            return True
        self._clock.record_second(int(self._stale_from.timestamp()))
        return False


def reported_conditions(
    reported: Mapping[str, Tree],
    cluster: Object | None,
    lease: Tree,
    grace_seconds: int,
    clock: cel.Clock,
    *,
    silent: bool = False,
) -> dict[str, Tree]:
    """Return an object's reported conditions with `stale`; `cluster`: itself, or the one it belongs to.

    `grace_seconds`: how long a ManagedCluster may be silent; `silent`: it fell silent before, and still is.
    """
    stale_from = expiry(cluster, lease, grace_seconds) if cluster is not None and reported else None
    if silent:
        stale_from = clock.now
    return {type_: ReportedCondition(condition, stale_from, clock) for type_, condition in reported.items()}


def expiry(cluster: Object, lease: Tree, grace_seconds: int) -> datetime | None:
    """Return the first whole second at which a cluster's Lease has expired; None without a Lease."""
    renewed = try_time(renew_time(lease))
    if renewed is None:
        return None
    if cluster.kind == MANAGED_CLUSTER:
        return second_at(later(renewed, span_of(max(grace_seconds, 0))))
    if cluster.kind == KARMADA_CLUSTER:
        seconds = _positive(dig(lease, "spec", "leaseDurationSeconds"), _KARMADA_SECONDS)
        return second_after(later(renewed, span_of(seconds)))
    return None


def _positive(value: Tree, default: int) -> int:
    seconds = value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else default
    return min(seconds, LONGEST_SECONDS)
