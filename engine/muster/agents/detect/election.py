"""Leader election among the detectors of a condition: the one that holds the lease on the cluster's ref reports.

Lease and report are one file on one ref, so one compare-and-swap writes both: an instance that lost the lease cannot
report any more, however long it was suspended. Each instance measures a lease's expiry on its own clock, from when it
saw the lease change; it never compares another machine's clock with its own.

Pure: `now` is in seconds on a monotonic clock.
"""

from enum import Enum

from muster.dataclass import dataclass

#: Renewals within a lease's duration: two of them may fail.
RENEWALS = 3


@dataclass(frozen=True, slots=True)
class LeaseHold:
    """The state of the lease: its holder (empty: released), its duration, and the time of its renewal as text.

    `renewed` is only compared for equality.
    """

    holder: str
    renewed: str
    lease_seconds: int
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class ObservedLease:
    """A lease (None: there is none), and since when this instance has seen it unchanged."""

    hold: LeaseHold | None
    since: float


class LeaseAction(Enum):
    """What an instance does next: keep reporting, take over, or wait."""

    RENEW = "renew"
    TAKE = "take"
    WAIT = "wait"


def observe_lease(before: ObservedLease | None, hold: LeaseHold | None, now: float) -> ObservedLease:
    """Return the lease as observed now; an unchanged one keeps its first instant."""
    return before if before is not None and before.hold == hold else ObservedLease(hold, now)


def next_action(lease: ObservedLease, me: str, now: float) -> LeaseAction:
    """Return the next action of instance `me`.

    It may take another's lease after it has seen it unchanged for its whole duration, and a released lease at once.
    """
    hold = lease.hold
    if hold is not None and hold.holder == me:
        return LeaseAction.RENEW
    if hold is None or not hold.holder or now >= lease.since + hold.lease_seconds:
        return LeaseAction.TAKE
    return LeaseAction.WAIT


def renewed_hold(before: LeaseHold | None, me: str, renewed: str, lease_seconds: int) -> LeaseHold:
    """Return the lease that `me` writes; `transitions` counts the changes of its holder."""
    transitions = 0 if before is None else before.transitions + (before.holder != me)
    return LeaseHold(me, renewed, lease_seconds, transitions)
