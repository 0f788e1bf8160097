"""When a detector believes what it sees: an observation must last before it changes the judgement.

Source: seed 003, "Domain name resolution function detection". Failures must last for the failure threshold, successes
for the success threshold (the seed's text swaps the two names; Karmada's code does not). Thresholds are durations, not
counts, and the window begins anew whenever the observation changes: while it flaps, the judgement stays.

Pure: `now` is in seconds on any clock that never goes back.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Thresholds:
    """For how many seconds an observation must last before it is believed; zero or less believes at once."""

    failure_seconds: float
    success_seconds: float


@dataclass(frozen=True, slots=True)
class Detection:
    """What a detector holds to be so (`healthy`), and what it saw last: `seen`, uninterruptedly since `since`.

    `seen` is None where the last probe could not look at all, or none was made yet.
    """

    healthy: bool
    seen: bool | None
    since: float


def resumed(healthy: bool, now: float) -> Detection:  # noqa: FBT001 - the judgement is the whole argument
    """Return the state of a detector that starts where an earlier one stopped: a restart skips no threshold."""
    return Detection(healthy, None, now)


def observe(before: Detection | None, seen: bool | None, now: float, thresholds: Thresholds) -> Detection | None:  # noqa: FBT001
    """Return the state after one probe; None while nothing was ever seen.

    The very first observation is believed at once. A probe that could not look changes no judgement, and a window
    that it interrupts begins anew. A window is over at its end exactly: `now == since + threshold` believes.
    """
    if before is None:
        return None if seen is None else Detection(seen, seen, now)
    if seen != before.seen:
        before = replace(before, seen=seen, since=now)
    if seen is None or seen == before.healthy:
        return before
    threshold = thresholds.success_seconds if seen else thresholds.failure_seconds
    return replace(before, healthy=seen) if now >= before.since + threshold else before
