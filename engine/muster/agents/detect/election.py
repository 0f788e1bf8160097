"""Which of several detectors reports: the one that holds the lease on the cluster's ref.

Lease and report are one file on one ref, so they move in one compare-and-swap: an instance that lost the lease
cannot report any more, however long it was asleep. Whether a lease has expired is judged by when *this* instance saw
it change, on its own clock: another machine's clock is never compared with ours.

Pure: `now` is in seconds on a clock that never goes back.
"""

from dataclasses import dataclass
from enum import Enum

#: How many times within its duration a holder renews the lease: it may fail twice and still hold it.
RENEWALS = 3


@dataclass(frozen=True, slots=True)
class LeaseHold:
    """The lease as it stands: who holds it (empty: given up), how long it lasts, and the renewal's time as text.

    `renewed` is only ever compared for equality.
    """

    holder: str
    renewed: str
    lease_seconds: int
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Sighting:
    """A lease (None: there is none) and since when this instance sees it unchanged."""

    hold: LeaseHold | None
    since: float


class Turn(Enum):
    """What an instance may do: go on reporting, take over, or wait."""

    RENEW = "renew"
    TAKE = "take"
    WAIT = "wait"


def sight(before: Sighting | None, hold: LeaseHold | None, now: float) -> Sighting:
    """Return what is known after a look at the lease: one that did not change keeps its first instant."""
    return before if before is not None and before.hold == hold else Sighting(hold, now)


def turn(sighting: Sighting, me: str, now: float) -> Turn:
    """Return what instance `me` may do.

    Another's lease may be taken once it was seen unchanged for its whole duration, and at once where it was given up.
    """
    hold = sighting.hold
    if hold is not None and hold.holder == me:
        return Turn.RENEW
    if hold is None or not hold.holder or now >= sighting.since + hold.lease_seconds:
        return Turn.TAKE
    return Turn.WAIT


def next_hold(before: LeaseHold | None, me: str, renewed: str, lease_seconds: int) -> LeaseHold:
    """Return the lease that `me` writes; `transitions` counts how often it changed hands."""
    transitions = 0 if before is None else before.transitions + (before.holder != me)
    return LeaseHold(me, renewed, lease_seconds, transitions)
