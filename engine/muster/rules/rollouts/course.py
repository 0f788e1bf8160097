"""The course of a Rollout: which revision it rolls out since when, and what it must remember from run to run."""

from collections.abc import Collection
from datetime import datetime

from muster.data.times import format_time, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass


@dataclass(slots=True)
class RolloutCourse:
    """What the last run derived of a Rollout, and then what this run decides.

    `approved`: the stages that need no further approval, and `STAGE TOPIC` for those for which a freeze is broken;
    `completed`: the last revision that every stage had; `rolled_back`: the revision that failed, in a rollback.
    """

    revision: str
    completed: str
    started: datetime | None
    approved: set[str]
    rolled_back: str
    rolled_back_at: datetime | None

    @classmethod
    def read(cls, status: Tree, broken: Collection[str]) -> "RolloutCourse":
        """Parse a derived status. `broken`: the topics of freezes in force, others are forgotten."""
        muster = mapping_at(status, "muster")
        rollback = mapping_at(muster, "rollback")
        entries = map(str, muster.get("approved") or ())
        approved = {entry for entry in entries if " " not in entry or entry.rpartition(" ")[2] in broken}
        return cls(
            str(dig(status, "revision") or ""),
            str(dig(status, "completed") or ""),
            try_time(dig(status, "started")),
            approved,
            str(rollback.get("from", "")),
            try_time(rollback.get("since")),
        )

    def set_out(self, target: str, now: datetime) -> None:
        """Go for the revision that people want; in a rollback for the last complete one, until they want another."""
        before = self.revision
        if self.rolled_back and self.rolled_back != target:
            self.rolled_back, self.rolled_back_at = "", None  # people decided something else
        self.revision = self.completed if self.rolled_back else target
        if self.revision != before or self.started is None:
            self._begin(now)

    def roll_back(self, target: str, now: datetime) -> None:
        """Go back to the last complete revision, because `target` failed."""
        self.rolled_back, self.rolled_back_at = target, now
        self.revision = self.completed
        self._begin(now)

    def _begin(self, now: datetime) -> None:
        self.started, self.approved = now, set()

    @property
    def backwards(self) -> bool:
        """Is it a rollback?"""
        return bool(self.rolled_back)

    @property
    def complete(self) -> bool:
        """Has every stage finished?"""
        return self.completed == self.revision and not self.backwards

    def entry(self) -> Tree:
        """What goes below `status.muster`."""
        muster: Tree = {}
        if self.approved:
            muster["approved"] = sorted(self.approved)
        if self.rolled_back_at is not None:
            muster["rollback"] = {"from": self.rolled_back, "since": format_time(self.rolled_back_at)}
        return muster
