"""Lease durations: the load valve that stretches them, and what agents need to know about their leases.

A cluster's `leaseDurationSeconds` says how often its agent renews (seed 000: the hub's administrator sets it by load,
"managed agent can adjust the lease update time accordingly"). If the Fleet sets a rate, muster decides: the shortest
duration at which all accepted clusters together stay within `heartbeats.maxPerSecond`. A cluster with a longer one
keeps it. Durations change in steps, and get shorter only by two steps or more, so that one cluster more or less rarely
rewrites anything.

An agent reads one derived file, so a duration that is not the default is there: as an annotation if the cluster's own
spec sets it, as `status.muster.leaseDurationSeconds` if the valve stretches it.

If a duration gets shorter, the agent learns this at its next renewal, which is due by the old duration: a cluster that
goes from 300 to 10 seconds may be silent for 300 more. So a Lease from before the change lasts until that renewal is
due, plus the new grace. If a duration gets longer, it counts from the next renewal on, when the agent learns it
(upstream: at once). A duration that the agent never learned does not count in either direction, whether a person or the
valve sets it: from 60 to 3600 seconds and back, between two renewals, changes nothing. Only new input ends silence.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final

from muster.data.decision import Because, Decision, Input
from muster.data.finding import Finding
from muster.data.kinds import ACCEPTED, FLEET, MANAGED_CLUSTER
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.acceptance import is_accepted
from muster.fleet.faults import each
from muster.fleet.leases import (
    DEFAULT_SECONDS,
    DURATION,
    LEASE_SECONDS,
    RENEWAL,
    SHORTENED,
    Renewal,
    Shortened,
    derived_lease_seconds,
    effective_leases,
    lease_seconds,
    leases_by_cluster,
    own_lease_seconds,
    renew_time,
)
from muster.fleet.objects import SPEC_DIGEST, Object
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.effects.budget import fleet_id
from muster.rules.policies.in_force import InForce
from muster.rules.policies.staleness import expiry
from muster.rules.stages import Concerns, FleetTerm, GoverningObjects, Local, Wide

_SECONDS: Final = (Input(("spec", "leaseDurationSeconds")),)
_BECAUSE: Final = Because("durations", _SECONDS, "its agent renews the lease by this duration")
_LEARNING: Final = Because("durations", _SECONDS, "its agent cannot know yet that the lease has become shorter")
_LONGER: Final = Because("durations", _SECONDS, "it was renewed before its lease became longer")


@dataclass(frozen=True, slots=True)
class _Term:
    """A cluster's lease duration in this run and in the last one, and the number of durations it may be silent."""

    seconds: int
    before: int
    factor: int
    now: datetime


def stage(view: View, now: datetime, rules: InForce) -> Iterator[Decision | Finding]:
    """Decide what agents of accepted clusters need to know about their leases, and what to record."""
    own_leases, leases, factor = leases_by_cluster(view), effective_leases(view), rules.grace

    def of_cluster(obj: Object) -> Iterator[Decision]:
        seconds = lease_seconds(view, obj)
        term = _Term(seconds, _seconds_before(view, obj, seconds), factor, now)
        shortened = _shortened(view, obj, own_leases.get(obj.id.name), term)
        yield from _agent_annotations(view, obj, shortened, term)
        yield from _renewed(view, obj, leases.get(obj.id.name), shortened, term)

    yield from each((obj for obj in view.of(MANAGED_CLUSTER) if is_accepted(obj)), of_cluster)


def _agent_annotations(view: View, obj: Object, shortened: Shortened | None, term: _Term) -> Iterator[Decision]:
    announced: dict[str, str] = {}
    if term.seconds != DEFAULT_SECONDS and view.now(obj.id, *LEASE_SECONDS) is None:
        announced[DURATION] = str(term.seconds)
    if shortened is not None:
        announced[SHORTENED] = str(shortened)
    if announced:
        annotations = {**mapping_at(view.now(obj.id, "metadata", "annotations")), **announced}
        because, horizon = (_LEARNING, shortened.end(term.seconds)) if shortened else (_BECAUSE, None)
        yield Decision(obj.id, ("metadata", "annotations"), dict(sorted(annotations.items())), because, horizon)


def _shortened(view: View, obj: Object, lease: Tree, term: _Term) -> Shortened | None:
    """The shortening that the cluster's agent may not know yet."""
    shortened = Shortened.parse(view.before(obj.id, "metadata", "annotations", SHORTENED), term.factor)
    if 0 < term.seconds < term.before:
        shortened = Shortened(max(term.before, shortened.seconds if shortened else 0), term.now, term.factor)
    if (
        shortened is None
        or not shortened.matters(term.seconds)
        or shortened.known_to(lease)
        or term.now >= shortened.end(term.seconds)
    ):
        return None
    return shortened


def _renewed(view: View, obj: Object, lease: Tree, shortened: Shortened | None, term: _Term) -> Iterator[Decision]:
    """Record the last renewal before the lease was made longer, and how long it lasts: what its agent knew then."""
    renewal = Renewal.parse(view.before(obj.id, *RENEWAL))
    covered = renewal is not None and renewal.covers(lease)
    stretched, renewed = view.now(obj.id, *LEASE_SECONDS) is not None, renew_time(lease)
    if term.before < term.seconds and renewed is not None:
        limit = min(term.before, renewal.seconds) if renewal is not None and covered else term.before
        limit = _seconds_of_agent(view, obj, lease, limit, renewal, term)
        if limit < term.seconds:
            yield Decision(obj.id, RENEWAL, Renewal(renewed, limit).entry, _LONGER)
            return
    # While a shorter lease lasts as long as the longer one would, the record says that its agent never learned that.
    longest = max(term.seconds, shortened.seconds if shortened else 0)
    # An obsolete record stays while leases are stretched: otherwise every cluster would be written again.
    if renewal is not None and renewal.seconds < longest and (covered or stretched):
        yield Decision(obj.id, RENEWAL, renewal.entry, _LONGER)


def _seconds_of_agent(view: View, obj: Object, lease: Tree, seconds: int, renewal: Renewal | None, term: _Term) -> int:
    """The duration by which the agent of a Lease that lasted `seconds` at the last run renews it: a longer one if the
    agent cannot know yet that it was made shorter, unless it is silent by the longer one, too."""
    shortened = Shortened.parse(view.before(obj.id, "metadata", "annotations", SHORTENED), term.factor)
    lasted = shortened.lasts(seconds, lease, renewal) if shortened else seconds
    until = expiry(obj, lease, term.factor * lasted)
    has_run_out = until is not None and term.now >= until
    return shortened.learned(lease, renewal) if shortened and lasted > seconds and not has_run_out else seconds


def _seconds_before(view: View, obj: Object, seconds: int) -> int:
    """The lease duration at the last run; the present one if unknown."""
    previous = view.previous.get(obj.id)
    if view.conditions_before(obj.id).get(ACCEPTED, {}).get("status") != "True":
        return seconds
    if dig(previous, "metadata", "annotations", SPEC_DIGEST) is None:
        return seconds  # a live hub decided it and informed its agent
    return derived_lease_seconds(previous)


STAGE = Local("durations", stage, derives=(((MANAGED_CLUSTER,), (("metadata", "annotations"), RENEWAL)),))


#: Multiples of 15 s, each at most 1.5 times the one before. They end after half a day, because a cluster heard of less
#: often is not watched.
STEPS: tuple[int, ...] = tuple(sorted(15 * factor << power for power in range(13) for factor in (2, 3)))[:22]
_MANY_CLUSTERS = "so many clusters are accepted that leases last longer to keep heartbeats bearable"
_RATE = ("spec", "heartbeats", "maxPerSecond")


@dataclass(frozen=True, slots=True)
class LeaseFloor(FleetTerm):
    """The minimum lease duration of every accepted cluster."""

    seconds: int

    def concerns(self) -> Concerns:
        """Return the duration of a cluster that it stretches; 0 for any other."""
        return lambda concerned: self.seconds if self.stretches(concerned.cluster) else 0

    def stretches(self, cluster: Object) -> bool:
        """Is it longer than the cluster's own duration?"""
        return (
            cluster.kind is MANAGED_CLUSTER and is_accepted(cluster) and 0 < own_lease_seconds(cluster) < self.seconds
        )


def lease_floor(shared: Shared, rules: InForce) -> Iterator[Decision | LeaseFloor]:
    """Decide the minimum lease duration of accepted clusters."""
    limit = rules.settings.get("heartbeats", "maxPerSecond")
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
        if fleet not in shared.broken:  # a broken Fleet keeps its last state
            yield Decision(fleet, LEASE_SECONDS, least, Because("valve", (Input(_RATE),), _MANY_CLUSTERS))
        yield LeaseFloor(least)


def stretched(view: View, floor: LeaseFloor, governing: GoverningObjects) -> Iterator[Decision]:
    """Decide the duration of each accepted cluster with a shorter lease."""
    because = Because(
        "valve", (Input(_RATE, fleet_id(governing)), Input(("spec", "leaseDurationSeconds"))), _MANY_CLUSTERS
    )
    for obj in view.of(MANAGED_CLUSTER):
        if floor.stretches(obj):
            yield Decision(obj.id, LEASE_SECONDS, floor.seconds, because)


def _least(shared: Shared, clusters: Iterable[Object], limit: float) -> int:
    """The step to use; 0 if the clusters' own durations suffice."""
    durations = Counter(seconds for obj in clusters if (seconds := own_lease_seconds(obj)) > 0)
    needed = least_duration(durations, limit)
    before = shared.before(fleet_id(shared), *LEASE_SECONDS)
    if before in STEPS and needed < before and STEPS.index(before) - (STEPS.index(needed) if needed else -1) < 2:
        return int(before)
    return needed


def least_duration(durations: Counter[int], limit: float) -> int:
    """The shortest step that keeps these leases within `limit` renewals per second; 0 for none, the longest step if no
    step does."""
    for step in (0, *STEPS):
        if sum(count / max(seconds, step) for seconds, count in durations.items()) <= limit:
            return step
    return STEPS[-1]


VALVE = Wide("valve", lease_floor, derives=(((FLEET,), (("status", "muster", "leaseDurationSeconds"),)),))


STRETCHING = Local(
    "stretching", stretched, derives=(((MANAGED_CLUSTER,), (("status", "muster", "leaseDurationSeconds"),)),)
)
