"""The status of a Rollout: numbers of each stage, and a condition that says what it waits for."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from muster.data.decision import Because, Decision
from muster.data.ids import ObjectId
from muster.data.times import earliest, format_time
from muster.data.tree import Tree, mapping_at
from muster.dataclass import dataclass
from muster.fleet.shared import Shared
from muster.fleet.view import View
from muster.rules.progress.step import FAILED, PROGRESSING, SUCCEEDED, TIME_OUT, TO_APPLY, Step
from muster.rules.rollouts.course import RolloutCourse
from muster.rules.rollouts.holds import StartBlock
from muster.rules.rollouts.policy import ClusterRollout, Rollout, RolloutStage
from muster.rules.rollouts.table import RolloutTable
from muster.rules.transitions import condition_decision

ROLLED_OUT = "RolledOut"
SOAKING = "Soaking"
#: States in the order of the status.
STATES = (TO_APPLY, PROGRESSING, SOAKING, SUCCEEDED, FAILED, TIME_OUT)
_MOST_NAMES = 10


class RolledOut(NamedTuple):
    """The content of the condition."""

    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class StageStep:
    """A stage with its clusters and its step."""

    stage: RolloutStage
    clusters: tuple[str, ...]
    step: Step
    blocked: StartBlock | None = None


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """The status of a Rollout after its step. `steps`: its stages, in their order."""

    shared: Shared
    rollout: Rollout
    because: Because
    course: RolloutCourse
    table: RolloutTable
    steps: Sequence[StageStep]
    horizons: Sequence[datetime | None]
    now: datetime

    def decisions(self) -> Iterator[Decision]:
        """The whole status, after the step."""
        id_, course, steps = self.rollout.id, self.course, self.steps
        current = next(
            (stage_step for stage_step in steps if not stage_step.step.finished or stage_step.step.breach), None
        )
        instants = (*self.horizons, *(stage_step.step.next for stage_step in steps))
        ahead = earliest(*(instant for instant in instants if instant is not None and instant > self.now))
        counts = [_counts(stage_step, self.table.entries, self.course.revision) for stage_step in steps]
        if self.course.backwards:
            counts.reverse()
        revisions = Counter(entry.revision for entry in self.table.entries.values())
        fields: Tree = {
            "revision": self.course.revision,
            "completed": self.course.completed or None,
            "started": format_time(self.course.started) if self.course.started else None,
            "stage": current.stage.name if current else None,
            "stages": counts,
            "revisions": dict(sorted(revisions.items())) or None,
            "skipped": self.table.skipped or None,
            "nextStepAt": format_time(ahead) if ahead else None,
        }
        for name, value in fields.items():
            if value is not None:
                yield Decision(id_, ("status", name), value, self.because, ahead)
        for name, value in course.entry().items():
            yield Decision(id_, ("status", "muster", name), value, self.because)
        statement = self._rolled_out(current)
        yield condition_decision(self.shared, id_, ROLLED_OUT, statement, self.because, self.now, ahead)

    def _rolled_out(self, current: StageStep | None) -> RolledOut:
        """The condition: is it rolled out, and what does it wait for?"""
        steps, revision, complete = self.steps, self.course.revision, self.course.complete
        behind = sum(entry.revision != revision for entry in self.table.entries.values())
        rest = f"; {_clusters(behind, 'keep')} another revision until their turn" if behind else ""
        rest += self._waits_for_silent()
        back = f" (rolled back from {self.course.rolled_back})" if self.course.backwards else ""
        failed = [name for stage_step in steps if stage_step.step.breach for name in stage_step.step.failures]
        if failed and not complete:
            names = self._names(failed)
            stopped = next(stage_step.stage.name for stage_step in steps if stage_step.step.breach)
            return RolledOut("False", "Stopped", f"stage {stopped}: {names} failed at {revision}{back}{rest}")
        blocked = next((stage_step for stage_step in steps if stage_step.blocked is not None), None)
        if blocked is not None and blocked.blocked is not None:
            text = f"stage {blocked.stage.name}: {blocked.blocked.text}{back}{rest}"
            return RolledOut("False", blocked.blocked.reason, text)
        if not self.table.placed and not self.table.absent:
            return RolledOut("False", "NoClusters", "the placement chooses no cluster")
        if self.course.backwards:
            if current is None:
                return RolledOut("False", "RolledBack", f"{self.course.rolled_back} failed; clusters have {revision}")
            return RolledOut("False", "RollingBack", f"stage {current.stage.name}, revision {revision}{back}{rest}")
        if current is None or complete:
            at_revision = sum(entry.revision == revision for entry in self.table.entries.values())
            return RolledOut("True", "Complete", f"{_clusters(at_revision, 'have')} {revision}")
        soaking = all(status.soaking for status in current.step.rolling) and not current.step.pending
        text = f"stage {current.stage.name}, revision {revision}"
        last = max((status.until for status in current.step.rolling if status.until is not None), default=None)
        if soaking and last is not None:
            return RolledOut("False", SOAKING, f"{text}, until {format_time(last)}{rest}")
        return RolledOut("False", PROGRESSING, f"{text}{rest}")

    def _waits_for_silent(self) -> str:
        """The silent clusters that keep their places."""
        rolling = sorted(
            {status.cluster for stage_step in self.steps for status in stage_step.step.rolling if status.silent_after}
        )
        return f"; waits for {self._names(rolling)}" if rolling else ""

    def _names(self, names: Sequence[str]) -> str:
        shown = [f"{name} (silent)" if self._is_silent(name) else name for name in names[:_MOST_NAMES]]
        return ", ".join(shown) + (" and more" if len(names) > _MOST_NAMES else "")

    def _is_silent(self, name: str) -> bool:
        entry = self.table.entries.get(name)
        return entry is not None and entry.silent_after is not None


def kept_status(view: View, id_: ObjectId, message: str, because: Because, now: datetime) -> Iterator[Decision]:
    """The last status, if a Rollout cannot be decided: everything stays as it is."""
    status = mapping_at(view.previous.get(id_), "status")
    for name in sorted(status.keys() - {"conditions", "muster"}):
        yield Decision(id_, ("status", name), status[name], because)
    for name, value in sorted(mapping_at(status, "muster").items()):
        if name != "held":
            yield Decision(id_, ("status", "muster", name), value, because)
    statement = RolledOut("False", "Invalid", message)
    yield condition_decision(view, id_, ROLLED_OUT, statement, because, now)


def _clusters(number: int, verb: str) -> str:
    if number == 1:
        return f"1 cluster {'has' if verb == 'have' else f'{verb}s'}"
    return f"{number} clusters {verb}"


def _counts(stage_step: StageStep, entries: Mapping[str, ClusterRollout], revision: str) -> Tree:
    """The numbers of a stage; a state that no cluster has is left out."""
    soaking = {status.cluster for status in stage_step.step.rolling if status.soaking}
    states = Counter(
        TO_APPLY
        if (entry := entries.get(name)) is None or entry.revision != revision
        else SOAKING
        if name in soaking
        else entry.state
        for name in stage_step.clusters
    )
    return {
        "name": stage_step.stage.name,
        "clusters": len(stage_step.clusters),
        **{s: states[s] for s in STATES if states[s]},
    }
