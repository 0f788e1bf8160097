"""Replacements of replacements wait, each time twice as long.

A broken cluster is replaced at once. When the cluster that was made in its place breaks too, something else may be
wrong (a credential, a quota), and deleting and creating in circles only costs money. So what was made since the first
failure is replaced only after a wait that doubles, until a claim gets a cluster that was made since, or nothing has
failed for twice the longest wait.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from muster.data.times import format_time, later
from muster.data.tree import Tree
from muster.rules.pools.model import Cluster, instant, whole
from muster.rules.pools.rules import Rules


@dataclass(frozen=True, slots=True)
class Streak:
    """A row of failures: when the first and the last replacement was made, and how many replacements failed since."""

    first: datetime | None = None
    last: datetime | None = None
    failures: int = 0

    @classmethod
    def read(cls, tree: Tree) -> "Streak":
        """Read what the last run recorded."""
        return cls(instant(tree, "first"), instant(tree, "last"), whole(tree, "failures") or 0)

    def tree(self) -> Tree:
        """What is recorded; None where nothing has failed."""
        if self.first is None or self.last is None:
            return None
        return {"first": format_time(self.first), "last": format_time(self.last), "failures": self.failures}

    def repeats(self, cluster: Cluster) -> bool:
        """Whether a cluster is itself a replacement of this row."""
        return self.first is not None and cluster.created >= self.first

    def next_at(self, rules: Rules) -> datetime | None:
        """When a replacement may be replaced again; None: at any time."""
        if self.last is None or rules.first_backoff is None:
            return None
        wait = min(rules.first_backoff * 2 ** min(self.failures, 30), rules.longest_backoff)
        return later(self.last, wait)

    def may_replace(self, cluster: Cluster, now: datetime, rules: Rules) -> bool:
        """Whether a broken cluster may be replaced now."""
        due = self.next_at(rules) if self.repeats(cluster) else None
        return due is None or now >= due

    def after(self, replaced: Iterable[Cluster], now: datetime, rules: Rules) -> "Streak":
        """The row after these broken clusters were marked for deletion."""
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
        """The row after these clusters were given to claims: one that was made since the first failure ends it."""
        return Streak() if any(self.repeats(cluster) for cluster in clusters) else self
