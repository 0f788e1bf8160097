"""When each stage of a Rollout, and each set of works, finishes in a forecast; and what stops it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final

from muster.cli.documents import object_document
from muster.data.agentref import proposal_branch
from muster.data.ids import ObjectId
from muster.data.kinds import MANIFEST_WORK_REPLICA_SET, ROLLOUT, of_kinds
from muster.data.printable import printable
from muster.data.times import age, format_time
from muster.data.tree import Tree, dig, mapping_at, mappings_at
from muster.dataclass import dataclass
from muster.fleet.fleet import Fleet
from muster.fleet.objects import by_type
from muster.rules.progress.step import FAILED, PROGRESSING, SUCCEEDED, TIME_OUT, TO_APPLY
from muster.rules.rollouts.status import ROLLED_OUT, SOAKING
from muster.rules.works.sets import ROLLED_OUT as SET_ROLLED_OUT
from muster.rules.works.work import BOOK
from muster.rules.works.work import ROLLOUT as STATE

#: The reasons of a rollout that goes on.
_GOES_ON: Final = frozenset((PROGRESSING, SOAKING, "RollingBack", "Waiting"))


@dataclass(frozen=True, slots=True)
class SupposedApproval:
    """An approval that nobody has given yet: the object and effect that ask for it, the topic of the proposal, and
    since when they ask."""

    object: ObjectId
    effect: str
    topic: str
    asked: datetime

    @property
    def stage(self) -> str:
        """The stage of a Rollout that waits for it."""
        return self.effect.split(" ")[1]


@dataclass(slots=True)
class StageForecast:
    """A stage: its clusters by state, and since when it has these numbers; None: since before the forecast."""

    name: str
    clusters: int
    counts: Mapping[str, int]
    at: datetime | None = None

    @property
    def succeeded(self) -> int:
        """The clusters that have succeeded and soaked."""
        return self.counts.get(SUCCEEDED, 0)

    @property
    def failed(self) -> int:
        """The clusters that have failed."""
        return self.counts.get(FAILED, 0) + self.counts.get(TIME_OUT, 0)

    @property
    def in_change(self) -> int:
        """The clusters that are progressing or soaking."""
        return self.counts.get(PROGRESSING, 0) + self.counts.get(SOAKING, 0)


@dataclass(slots=True)
class RolloutForecast:
    """A Rollout or a set of works, as it is at the end of a forecast. `at`: since when its condition has this content;
    None: since before the forecast. A set has one stage without a name."""

    object: ObjectId
    revision: str
    stages: dict[str, StageForecast]
    done: bool
    reason: str
    message: str
    at: datetime | None = None

    @property
    def goes_on(self) -> bool:
        """Can anything that the forecast supposes change it?"""
        moving = any(stage.in_change for stage in self.stages.values())
        return not self.done and (moving or self.reason in _GOES_ON)


@dataclass
class RolloutForecasts:
    """All Rollouts and sets of works, after the runs so far. `begun`: those that were not complete at some time."""

    found: dict[ObjectId, RolloutForecast] = field(default_factory=dict)
    begun: set[ObjectId] = field(default_factory=set)

    @classmethod
    def of(cls, fleet: Fleet) -> "RolloutForecasts":
        """Those of a fleet, as its last run derived them."""
        forecasts = cls()
        for id_ in of_kinds(fleet.previous, ROLLOUT, MANIFEST_WORK_REPLICA_SET):
            forecasts.see(id_, fleet.previous[id_], None)
        return forecasts

    def look(self, fleet: Fleet, now: datetime) -> None:
        """See what a run decided."""
        for id_ in of_kinds(fleet.decided, ROLLOUT, MANIFEST_WORK_REPLICA_SET):
            self.see(id_, fleet.whole(id_), now)

    @property
    def at_rest(self) -> bool:
        """Has everything ended that can?"""
        return not any(one.goes_on for one in self.found.values())

    @property
    def shown(self) -> list[RolloutForecast]:
        """Those that were under way at some time, in order."""
        return [self.found[id_] for id_ in sorted(self.begun)]

    def see(self, id_: ObjectId, body: Tree, now: datetime | None) -> None:
        """See the state of one at an instant; None: before the forecast."""
        state = _of_rollout(id_, body) if ROLLOUT.has(id_) else _of_set(id_, body)
        if state is None:
            return
        before = self.found.get(id_)
        for name, stage in state.stages.items():
            earlier_stage = (
                before.stages.get(name) if before is not None and before.revision == state.revision else None
            )
            same = earlier_stage is not None and earlier_stage.counts == stage.counts
            stage.at = earlier_stage.at if same and earlier_stage is not None else now
        same = before is not None and (before.reason, before.revision) == (state.reason, state.revision)
        state.at = before.at if same and before is not None else now
        self.found[id_] = state
        if not state.done:
            self.begun.add(id_)


def _of_rollout(id_: ObjectId, body: Tree) -> RolloutForecast | None:
    stages = {
        str(stage["name"]): StageForecast(
            str(stage["name"]),
            stage.get("clusters", 0),
            {state: number for state, number in stage.items() if isinstance(number, int) and state != "clusters"},
        )
        for stage in mappings_at(body, "status", "stages")
    }
    return _with_condition(id_, body, ROLLED_OUT, str(dig(body, "status", "revision") or ""), stages)


def _of_set(id_: ObjectId, body: Tree) -> RolloutForecast | None:
    book = mapping_at(body, *BOOK, STATE)
    selected, done, soaking = (int(book.get(name, 0)) for name in ("selected", "done", "soaking"))
    failed = len(book.get("failed") or ())
    rest = max(selected - done - soaking - failed, 0)
    counts = {SUCCEEDED: done, SOAKING: soaking, FAILED: failed, TO_APPLY: rest}
    stages = {"": StageForecast("", selected, counts)}
    return _with_condition(id_, body, SET_ROLLED_OUT, str(book.get("revision", "")), stages)


def _with_condition(
    id_: ObjectId, body: Tree, type_: str, revision: str, stages: dict[str, StageForecast]
) -> RolloutForecast | None:
    condition = by_type(mappings_at(body, "status", "conditions")).get(type_)
    if condition is None:
        return None
    done, reason, message = condition["status"] == "True", str(condition["reason"]), str(condition.get("message", ""))
    return RolloutForecast(id_, revision, stages, done, reason, message)


# -- as text and as data


def rollouts_text(shown: Sequence[RolloutForecast], approvals: Iterable[SupposedApproval], start: datetime) -> str:
    """Return a block for each rollout that was under way: a line each stage, and how it ends."""
    if not shown:
        return "No rollout is under way.\n"
    asked = list(approvals)
    blocks = ["".join(f"{printable(line)}\n" for line in _lines(rollout, asked, start)) for rollout in shown]
    return "\n".join(blocks)


def _lines(rollout: RolloutForecast, approvals: Iterable[SupposedApproval], start: datetime) -> Iterator[str]:
    of_set = MANIFEST_WORK_REPLICA_SET.has(rollout.object)
    yield (
        f"{rollout.object} if all goes well:" if of_set else f"{rollout.object} to {rollout.revision} if all goes well:"
    )
    asked = _asked(rollout, approvals)
    for stage in rollout.stages.values():
        name = "  works" if of_set else f"  stage {stage.name}"
        yield f"{name}: {_stage_text(stage, start)}{_condition_text(asked.get(stage.name))}"
    message = f": {rollout.message}" if rollout.message and not rollout.done else ""
    yield f"  {rollout.reason} {_when(rollout.at, start)}{message}"


def _asked(rollout: RolloutForecast, approvals: Iterable[SupposedApproval]) -> dict[str, SupposedApproval]:
    """The approvals of its present revision, by stage."""
    return {a.stage: a for a in approvals if a.object == rollout.object and a.effect.endswith(f" {rollout.revision}")}


def _stage_text(stage: StageForecast, start: datetime) -> str:
    if not stage.clusters:
        return "no clusters"
    if not (stage.succeeded or stage.failed or stage.in_change):
        return f"0 of {stage.clusters}"
    failed = f", {stage.failed} failed" if stage.failed else ""
    left = f", {stage.in_change} in change" if stage.in_change else ""
    return f"{stage.succeeded} of {stage.clusters}{failed}{left} {_when(stage.at, start)}"


def _when(at: datetime | None, start: datetime) -> str:
    if at is None:
        return "already"
    return f"by {format_time(at)} ({age(at, start) if at > start else 'now'})"


def _condition_text(approval: SupposedApproval | None) -> str:
    if approval is None:
        return ""
    return f", if you merge {proposal_branch(approval.topic)} at {format_time(approval.asked)}"


def rollout_document(rollout: RolloutForecast, approvals: Iterable[SupposedApproval]) -> Tree:
    """Return a rollout as JSON data."""
    asked = _asked(rollout, approvals)
    return {
        "object": object_document(rollout.object),
        "revision": rollout.revision,
        "done": rollout.done,
        "reason": rollout.reason,
        "message": rollout.message,
        "at": _time(rollout.at),
        "stages": [
            {
                "name": stage.name or None,
                "clusters": stage.clusters,
                "succeeded": stage.succeeded,
                "failed": stage.failed,
                "inChange": stage.in_change,
                "at": _time(stage.at),
                "approval": _approval(asked.get(stage.name)),
            }
            for stage in rollout.stages.values()
        ],
    }


def _approval(approval: SupposedApproval | None) -> Tree:
    return None if approval is None else {"topic": approval.topic, "asked": format_time(approval.asked)}


def _time(at: datetime | None) -> str | None:
    return None if at is None else format_time(at)
