"""How soon an object may have its next pulse.

A rule such as "the oldest report is older than 30 minutes" holds until somebody reports, so without a pace a run per
second would be a pulse per second. HyperFleet's Sentinel polls every 5 seconds and pulses at each poll; the policy's
`interval` says the same, and its `backoff` makes it longer while nobody answers. A generation that was not announced
yet does not wait: it is news.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from muster.data.published import Published
from muster.data.times import LAST, later, parse_time
from muster.data.tree import Tree
from muster.rules.pulses.policy import PulsePolicy


def unanswered(last: Published | None, reports: Iterable[Tree]) -> int:
    """How many pulses in a row no accepted report has followed."""
    if last is None or any(parse_time(report["observed_time"]) >= last.time for report in reports):
        return 0
    return last.count


def not_before(policy: PulsePolicy, last: Published | None, generation: int, waiting: int) -> datetime | None:
    """The first instant at which the next pulse may go; None where it need not wait.

    `waiting` is the number of pulses without an answer.
    """
    if last is None or generation > last.generation:
        return None
    return later(last.time, pause(policy, waiting)) or LAST


def pause(policy: PulsePolicy, waiting: int) -> timedelta:
    """How long to wait after a pulse that is the `waiting`th without an answer, in whole seconds, rounded up."""
    span, backoff = policy.interval, policy.backoff
    if backoff is not None and backoff.factor > 1 and span:
        for _ in range(1, waiting):
            if span >= backoff.longest:
                break
            span = span * backoff.factor if backoff.factor < backoff.longest / span else backoff.longest
        span = max(policy.interval, span)
    return timedelta(seconds=-(-span // timedelta(seconds=1)))
