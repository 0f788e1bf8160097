"""The load valve: how long leases last, so that the heartbeats of all clusters together stay bearable.

A cluster's `leaseDurationSeconds` says how often its agent renews (seed 000: the hub's administrator sets it as the
load demands). Where the Fleet names a rate, muster does: the shortest duration at which all accepted clusters
together stay within `heartbeats.maxPerSecond`. A cluster that asks for a longer one keeps its own; nobody gets a
shorter one.

Durations move in steps, and down only when two steps would do: one cluster more or less seldom rewrites anything.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from muster.data.decision import Because, Decision, Input
from muster.data.kinds import FLEET, MANAGED_CLUSTER
from muster.fleet.acceptance import is_accepted
from muster.fleet.leases import LEASE_SECONDS, own_lease_seconds
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.context import Broadcast, Context
from muster.rules.effects.population import fleet_id
from muster.rules.stages import Local, Wide

#: Quarters of a minute, doubled or tripled: each at most half as long again as the one before it. They end after half
#: a day, because a cluster that is heard of less often is not watched.
STEPS: tuple[int, ...] = tuple(sorted(15 * factor << power for power in range(13) for factor in (2, 3)))[:22]
_MANY = "so many clusters are accepted that leases last longer to keep heartbeats bearable"
_LIMIT = ("spec", "heartbeats", "maxPerSecond")


@dataclass(frozen=True, slots=True)
class LeaseFloor(Broadcast):
    """The seconds that the lease of every accepted cluster lasts at least."""

    seconds: int


def stage(shared: Shared, context: Context, _now: datetime) -> Iterator[Decision | LeaseFloor]:
    """Decide how long the leases of accepted clusters must last at least."""
    limit = context.rules.settings.get("heartbeats", "maxPerSecond")
    fleet = fleet_id(shared)
    if (
        (fleet not in shared.objects and fleet not in shared.previous)
        or isinstance(limit, bool)
        or not isinstance(limit, int | float)
        or limit <= 0
    ):
        return
    least = _least(shared, (obj for obj in shared.of(MANAGED_CLUSTER) if is_accepted(obj)), float(limit))
    if least:
        if fleet not in shared.broken:  # of a broken one, all that was decided is kept
            yield Decision(fleet, LEASE_SECONDS, least, Because("valve", (Input(_LIMIT),), _MANY))
        yield LeaseFloor(least)


def stretched(view: View, context: Context, _now: datetime) -> Iterator[Decision]:
    """Decide of each accepted cluster with a shorter lease how long it lasts."""
    because = Because(
        "valve", (Input(_LIMIT, fleet_id(context.shared)), Input(("spec", "leaseDurationSeconds"))), _MANY
    )
    for obj in view.of(MANAGED_CLUSTER):
        if is_accepted(obj) and 0 < own_lease_seconds(obj) < context.told(LeaseFloor).seconds:
            yield Decision(obj.id, LEASE_SECONDS, context.told(LeaseFloor).seconds, because)


def _least(shared: Shared, clusters: Iterable[Object], limit: float) -> int:
    """The step to use; 0 where the clusters' own durations do."""
    durations = Counter(seconds for obj in clusters if (seconds := own_lease_seconds(obj)) > 0)
    needed = least_duration(durations, limit)
    before = shared.before(fleet_id(shared), *LEASE_SECONDS)
    if before in STEPS and needed < before and STEPS.index(before) - (STEPS.index(needed) if needed else -1) < 2:
        return int(before)
    return needed


def least_duration(durations: Counter[int], limit: float) -> int:
    """The shortest step that keeps so many leases of these durations within `limit` renewals a second; 0 for none.

    The longest step where not even that does.
    """
    for step in (0, *STEPS):
        if sum(count / max(seconds, step) for seconds, count in durations.items()) <= limit:
            return step
    return STEPS[-1]


STAGE = Wide("valve", stage, derives=(((FLEET,), (("status", "muster", "leaseDurationSeconds"),)),))


STRETCHING = Local(
    "stretching", stretched, derives=(((MANAGED_CLUSTER,), (("status", "muster", "leaseDurationSeconds"),)),)
)
