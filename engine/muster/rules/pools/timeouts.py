"""Timeouts of resuming and hibernating clusters (the seed's two), and back-off of replacements.

A wait begins when the power state was requested and the Hibernating condition's reason says that the change is in
progress (its status differs between versions of Hive). It counts from the latest of the condition's transition, the
time the cluster was last ready, and the request. So a request during an unfinished stop counts from the request, and a
cluster that has run for days is not given up for one failed poll. At the limit the Hibernating condition becomes
FailedToStart or FailedToStop. There is no limit by default, and none for fake clusters.

A broken cluster is replaced at once. If its replacement breaks too, something else may be wrong (a credential, a
quota), and repeated creation only costs money. So clusters created since the first failure are replaced only after a
wait that doubles each time, until a claim gets one of them, or nothing has failed for twice the longest wait.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from muster.data.times import format_duration, format_time, later
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.rules.pools.manifest import TO_HIBERNATING, TO_RUNNING
from muster.rules.pools.model import HIBERNATING, RUNNING, Cluster, instant, span, whole
from muster.rules.pools.powerstate import (
    FAILED_TO_START,
    FAILED_TO_STOP,
    RESUME_REASONS,
    RESUMING,
    STOP_REASONS,
    PowerView,
    reported_conditions,
)
from muster.rules.pools.rules import Rules
from muster.rules.transitions import condition


@dataclass(frozen=True, slots=True)
class Streak:
    """A series of failures: when the first and the last replacement was created, and how many failed since."""

    first: datetime | None = None
    last: datetime | None = None
    failures: int = 0

    @classmethod
    def read(cls, tree: Tree) -> "Streak":
        """Parse the last run's record."""
        return cls(instant(tree, "first"), instant(tree, "last"), whole(tree, "failures") or 0)

    def tree(self) -> Tree:
        """The form to record; None without failures."""
        if self.first is None or self.last is None:
            return None
        return {"first": format_time(self.first), "last": format_time(self.last), "failures": self.failures}

    def repeats(self, cluster: Cluster) -> bool:
        """Is the cluster itself a replacement of this series?"""
        return self.first is not None and cluster.created >= self.first

    def next_at(self, rules: Rules) -> datetime | None:
        """When a replacement may be replaced again; None: at any time."""
        if self.last is None or rules.first_backoff is None:
            return None
        wait = min(rules.first_backoff * 2 ** min(self.failures, 30), rules.longest_backoff)
        return later(self.last, wait)

    def may_replace(self, cluster: Cluster, now: datetime, rules: Rules) -> bool:
        """May a broken cluster be replaced now?"""
        due = self.next_at(rules) if self.repeats(cluster) else None
        return due is None or now >= due

    def after(self, replaced: Iterable[Cluster], now: datetime, rules: Rules) -> "Streak":
        """The series after these broken clusters were marked for deletion."""
        clusters = tuple(replaced)
        if not clusters or rules.first_backoff is None:
            return self
        over = later(self.last, 2 * rules.longest_backoff) if self.last is not None else now
        if self.first is None or (over is not None and now >= over):
            return Streak(first=now, last=now)
        if any(self.repeats(cluster) for cluster in clusters):
            return replace(self, last=now, failures=self.failures + 1)
        return self

    def served(self, clusters: Iterable[Cluster]) -> "Streak":
        """The series after these clusters were given to claims: one created since the first failure ends it."""
        return Streak() if any(self.repeats(cluster) for cluster in clusters) else self


_VERBS: Final = {FAILED_TO_START: ("start", "resume"), FAILED_TO_STOP: ("stop", "hibernate")}


@dataclass(frozen=True, slots=True)
class PowerWait:
    """A limited change of power state: its deadline, and the failure to report afterwards."""

    deadline: datetime
    reason: str
    message: str


def wait_of(
    cluster: Cluster, timeouts: Tree, view: PowerView, requested: datetime | None, rules: Rules
) -> PowerWait | None:
    """Return the limited wait of a cluster, or None.

    `timeouts`: the limits in force, by field name; `requested`: when muster last changed spec.powerState.
    """
    if cluster.fake or not cluster.installed or cluster.deleting:
        return None
    if not rules.stop_timeout:
        return _upstream_wait(cluster, timeouts)
    reason = view.conditions.get("Hibernating", {}).get("reason")
    if view.power == (cluster.wanted or RUNNING):
        return None
    since = _wait_began(view, requested)
    if cluster.wanted in ("", RUNNING) and reason in RESUME_REASONS | STOP_REASONS:
        return _wait_from(timeouts, TO_RUNNING, since, requested, FAILED_TO_START)
    if cluster.wanted == HIBERNATING and reason in STOP_REASONS:
        return _wait_from(timeouts, TO_HIBERNATING, since, requested, FAILED_TO_STOP)
    return None


def _wait_began(view: PowerView, requested: datetime | None) -> datetime | None:
    """When the wait began: a condition's transition, but not before the cluster stopped being ready."""
    ready = view.conditions.get("Ready", {})
    moments = [
        instant(view.conditions.get("Hibernating", {}), "lastTransitionTime"),
        instant(ready, "lastTransitionTime") if ready.get("status") == "False" else None,
        requested,
    ]
    return max((moment for moment in moments if moment is not None), default=None)


def _upstream_wait(cluster: Cluster, timeouts: Tree) -> PowerWait | None:
    """Upstream's only timeout, with all of its conditions."""
    reported = reported_conditions(cluster)
    hibernating = reported.get("Hibernating", {})
    if "ProvisionStopped" not in reported or cluster.wanted != RUNNING or cluster.power in (RUNNING, HIBERNATING):
        return None
    if hibernating.get("reason") != RESUMING:
        return None
    since = instant(hibernating, "lastTransitionTime")
    return _wait_from(timeouts, TO_RUNNING, since, None, FAILED_TO_START)


def _wait_from(
    timeouts: Tree, field: str, since: datetime | None, requested: datetime | None, reason: str
) -> PowerWait | None:
    """The wait that counts from `since`; `requested`: muster's request, None for a person's."""
    limit = span(timeouts, field)
    deadline = later(since, limit) if since is not None and limit is not None else None
    if limit is None or since is None or deadline is None:
        return None
    verb, doing = _VERBS[reason]
    when = "" if requested is None else f": it was asked to {doing} at {format_time(requested)}"
    if requested != since:
        when += f"{', and' if when else ':'} the wait counts from {format_time(since)}"
    message = f"Timed out after waiting {format_duration(limit)} for the cluster to {verb}{when}"
    return PowerWait(deadline, reason, message)


def failed_condition(wait: PowerWait, before: Tree, now: datetime) -> Tree:
    """Return the Hibernating condition after a wait has failed."""
    return condition(before, "False", wait.reason, wait.message, now=now)
