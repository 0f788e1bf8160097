"""What keeps the clusters of a Rollout from starting: a pause, freezes, a missing approval, closed windows, budgets."""

from collections.abc import Sequence
from datetime import datetime

from muster.data.decision import Held
from muster.data.kinds import MANAGED_CLUSTER
from muster.data.times import earliest, format_time
from muster.dataclass import dataclass
from muster.fleet.shared import Shared
from muster.rules.calendars.calendar import Calendar
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import ROLLOUT_EFFECT, ROLLOUT_TOPIC, Approvals
from muster.rules.policies.in_force import InForce
from muster.rules.rollouts.course import RolloutCourse
from muster.rules.rollouts.policy import Rollout, RolloutStage


@dataclass(slots=True)
class StartBlock:
    """What keeps clusters from starting, as a clause; `until`: when time alone ends it."""

    reason: str
    text: str
    until: datetime | None = None
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class StartHolds:
    """Tells for one Rollout what holds it. What is approved is noted in its course."""

    shared: Shared
    rules: InForce
    allowance: Allowance
    rollout: Rollout
    course: RolloutCourse
    now: datetime

    @property
    def approvals(self) -> Approvals:
        """What people approved, and the freezes in force."""
        return self.allowance.approvals

    def blocked(self, stage: RolloutStage, *, begun: bool) -> StartBlock | None:
        """Why no cluster of the stage may start now."""
        if self.rollout.paused:
            return StartBlock("Paused", "spec.paused is true")
        if self.course.backwards:  # what went wrong is undone at any hour, and needs no further word
            return None
        return self._unapproved(stage, begun=begun) or self._closed(stage)

    def frozen(self, stage: RolloutStage, chosen: Sequence[str]) -> dict[str, StartBlock]:
        """The clusters that a freeze holds."""
        if self.course.backwards or self.rollout.paused:
            return {}
        already_broken = {
            entry.rpartition(" ")[2] for entry in self.course.approved if entry.startswith(f"{stage.name} ")
        }
        broken = set(already_broken)
        effect = f"{ROLLOUT_EFFECT} {stage.name} {self.course.revision}"
        frozen = self.approvals.frozen_starts(self.shared, self.rollout.id, effect, chosen, broken)
        if broken != already_broken:
            self.course.approved |= {stage.name, *(f"{stage.name} {topic}" for topic in broken)}
        return {name: StartBlock("Waiting", held.reason, held.horizon, held) for name, held in frozen.items()}

    def _unapproved(self, stage: RolloutStage, *, begun: bool) -> StartBlock | None:
        if stage.name in self.course.approved or begun:
            return None
        effect = f"{ROLLOUT_EFFECT} {stage.name} {self.course.revision}"
        topic = ROLLOUT_TOPIC if stage.approval else ""
        wait = self.approvals.wait(self.shared, self.rollout.id, effect, topic, ())
        if wait is None:
            return None
        if wait.approved:
            self.course.approved.add(stage.name)
            return None
        held = self.approvals.held(self.rollout.id, effect, wait)
        return StartBlock("Waiting", held.reason, held=held)

    def _closed(self, stage: RolloutStage) -> StartBlock | None:
        """Is no Calendar of the stage open?"""
        if not stage.windows:
            return None
        calendars = self.calendars(stage)
        if not calendars:
            return StartBlock("Waiting", f"there is no calendar {stage.windows[0]!r}")
        if any(calendar.is_open(self.now) for calendar in calendars):
            return None
        changes = [calendar.next_change(self.now) for calendar in calendars]
        until = earliest(*changes)
        first = calendars[changes.index(until)]
        ends = f" until {format_time(until)}" if until is not None else ""
        return StartBlock("Waiting", f"{first.why_closed(self.now)}{ends}", until)

    def calendars(self, stage: RolloutStage) -> list[Calendar]:
        """The Calendars of a stage."""
        by_name = self.rules.calendars_by_name
        return [by_name[name] for name in stage.windows if name in by_name]

    def budget(self, name: str) -> StartBlock | None:
        """The budget that holds a cluster."""
        holding = self.allowance.holding_for(self.shared, MANAGED_CLUSTER.id(name))
        return None if holding is None else StartBlock("Waiting", holding.text, holding.until)
