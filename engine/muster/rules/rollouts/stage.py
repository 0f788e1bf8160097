"""The stage of Rollouts: which clusters get the revision now, and the Rollout's status.

Stages run one after the other, each by the kernel of Open Cluster Management's strategies (`step`). What a cluster has,
and how it is doing with it, is in its own derived part; the Rollout's status has numbers, so that a step writes the
files of the clusters that it moves, and one more.

- A new revision starts again at the first stage. Clusters that the last one reached keep it until their turn.
- Once every stage has finished, failures stop nothing; a cluster that joins later gets the revision at once.
- A stage that has started needs no further approval for the same revision. A freeze holds each cluster that it selects
  until it ends or an Approval breaks it for the stage; a rollback is never held.
- A rollback takes the last complete revision from the last stage to the first, and ends when people set another one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from fractions import Fraction
from typing import NamedTuple

from muster import cel
from muster.data.decision import Because, Decision, Held, Input
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, ROLLOUT
from muster.data.times import earliest, format_time, try_time
from muster.data.tree import Tree, dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.rules.calendars.calendar import Calendar
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import ROLLOUT_EFFECT, ROLLOUT_TOPIC
from muster.rules.placements.shards import DecisionShard, decided_shards
from muster.rules.rollouts.policy import ROLLBACK, ClusterRollout, Rollout, RolloutStage
from muster.rules.rollouts.progress import RolloutMoves, entries_of
from muster.rules.rollouts.step import (
    FAILED,
    PROGRESSING,
    SUCCEEDED,
    TIME_OUT,
    TO_APPLY,
    ClusterStatus,
    DecisionGroup,
    Step,
    groups_of,
    judged,
    next_step,
)
from muster.rules.rollouts.strategy import PROGRESSIVE, Strategy, StrategyError
from muster.rules.rollouts.table import RolloutTable, table_of
from muster.rules.stages import STATUS, Context, StepRecord, Wide, Yielded
from muster.rules.transitions import condition_decision

ROLLED_OUT = "RolledOut"
SOAKING = "Soaking"
_NOTHING_LEFT = Step((), (), (), (), (), breach=False, next=None)
#: States in the order of the status.
STATES = (TO_APPLY, PROGRESSING, SOAKING, SUCCEEDED, FAILED, TIME_OUT)
_MOST_NAMES = 10


class RolledOut(NamedTuple):
    """The content of the condition."""

    status: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class _Memory:
    """What the last run derived of a Rollout. `approved`: the stages that need no further approval, and `STAGE TOPIC`
    for those for which a freeze is broken."""

    revision: str
    completed: str
    started: datetime | None
    approved: frozenset[str]
    rolled_back: str
    rolled_back_at: datetime | None

    @classmethod
    def read(cls, status: Tree) -> "_Memory":
        muster = mapping_at(status, "muster")
        rollback = mapping_at(muster, "rollback")
        return cls(
            str(dig(status, "revision") or ""), str(dig(status, "completed") or ""), try_time(dig(status, "started")),
            frozenset(map(str, muster.get("approved") or ())), str(rollback.get("from", "")),
            try_time(rollback.get("since")),
        )  # fmt: skip


def stage(shared: Shared, context: Context, now: datetime) -> Iterator[Yielded]:
    """Decide every Rollout's step."""
    rollouts = {rollout.id: rollout for rollout in context.rules.compiled.of(Rollout)}
    if not rollouts:
        return
    stepping = _Rollouts(shared, context, now, decided_shards(shared))
    asked = rollouts.keys() if shared.steps is None else rollouts.keys() & shared.steps.keys()
    yield from each((obj for obj in shared.of(ROLLOUT) if obj.id in asked), lambda obj: stepping.of(rollouts[obj.id]))
    moves = stepping.moves
    yield from (RolloutMoves(id_, entries) for id_, entries in sorted(moves.items()))


@dataclass(frozen=True)
class _Rollouts:
    shared: Shared
    context: Context
    now: datetime
    shards: Mapping[ObjectId, tuple[DecisionShard, ...]]
    moves: dict[ObjectId, dict[str, ClusterRollout | None]] = field(default_factory=dict)

    def of(self, rollout: Rollout) -> list[Yielded]:
        """The step of one Rollout. What it moves is added only if nothing fails."""
        stepping = _RolloutDecision(self, rollout)
        found = list(stepping.decide())
        for name, entry in stepping.moved.items():
            self.moves.setdefault(MANAGED_CLUSTER.id(name), {})[rollout.key] = entry
        return found


@dataclass(slots=True)
class _Blocked:
    """What keeps clusters from starting, as a clause; `until`: when time alone ends it."""

    reason: str
    text: str
    until: datetime | None = None
    held: Held | None = None


@dataclass(frozen=True, slots=True)
class _StageStep:
    """A stage with its clusters and its step."""

    stage: RolloutStage
    clusters: tuple[str, ...]
    step: Step
    blocked: _Blocked | None = None


class _RolloutDecision:
    """The decision of one Rollout."""

    def __init__(self, run: _Rollouts, rollout: Rollout) -> None:
        self.run, self.rollout, self.shared, self.now = run, rollout, run.shared, run.now
        self.memory = _Memory.read(mapping_at(self.shared.previous.get(rollout.id), "status"))
        self.because = Because(str(rollout.id), (Input(("spec",), rollout.id),))
        self.moved: dict[str, ClusterRollout | None] = {}
        self.approvals = run.context.broadcast(Allowance).approvals
        broken = {freeze.topic for freeze in self.approvals.freezes_on(ROLLOUT_EFFECT)}
        self.approved = {one for one in self.memory.approved if " " not in one or one.rpartition(" ")[2] in broken}
        self.horizons: list[datetime | None] = []
        self.held: list[Held] = []

    def decide(self) -> Iterator[Yielded]:
        rollout, run = self.rollout, self.run
        try:
            self.target = self._revision()
            self._place()
            self._set_out()
            steps = self._advance()
        except StrategyError as error:
            yield from self._holding("Invalid", f"{error.message}; its clusters keep what they have")
            return
        except cel.EvaluationError as error:
            yield from self._holding("Invalid", f"the expression of its revision failed: {error.message}")
            return
        yield from self.held
        yield from self._status(steps, rollout, run)
        if not self.approvals.freezes_on(ROLLOUT_EFFECT):  # it selects by labels, which the record does not have
            yield StepRecord(rollout.id, self.table.packed())

    # -- what there is

    def _revision(self) -> str:
        """The revision that people want now."""
        if self.rollout.computed is None:
            return self.rollout.revision
        clock = cel.Clock(self.now)
        fleet = self.run.context.rules.settings.spec
        result = self.rollout.computed.run({"self": self.rollout.source.body, "fleet": fleet}, clock=clock)
        if result.error is not None:
            raise result.error
        self.horizons.append(clock.horizon)
        return str(result.value)

    def _place(self) -> None:
        """The Placement's clusters that can be decided, and their entries; or the record, with what changed in it."""
        shared, key = self.shared, self.rollout.key
        sound = {obj.id.name: obj for obj in shared.of(MANAGED_CLUSTER)}
        entries = entries_of(shared, (obj.id for obj in sound.values()), key)
        if shared.steps is not None:
            table = RolloutTable.unpacked(shared.steps[self.rollout.id])
            for name in sound:
                table.entries.pop(name, None)
            table.entries |= entries
        else:
            table = self._whole_table(sound, entries)
        self.table, self.entries = table, table.entries
        for name in table.entries.keys() - table.names():
            self._move(name, None)

    def _whole_table(self, sound: Mapping[str, Object], entries: Mapping[str, ClusterRollout]) -> RolloutTable:
        id_ = self.rollout.placement
        shards = self.run.shards.get(id_)
        if shards is None:
            raise StrategyError(
                f"there is no Placement {id_.name!r} in the namespace {id_.namespace!r}", "placementRef"
            )
        groups = groups_of(shards)
        placed = {name: sound[name] for group in groups for name in group.clusters if name in sound}
        obj = self.shared.objects.get(id_)
        size = dig(obj.spec if obj else None, "decisionStrategy", "groupStrategy", "clustersPerDecisionGroup")
        length = None if size is None else max((len(group.clusters) for group in groups), default=None)
        return table_of(self.rollout, groups, placed, entries, length)

    def _move(self, name: str, entry: ClusterRollout | None) -> None:
        self.moved[name] = entry
        if entry is None:
            self.entries.pop(name, None)
        else:
            self.entries[name] = entry

    def _set_out(self) -> None:
        """What the revision is now, and since when: the target, or in a rollback the last complete revision."""
        memory = self.memory
        self.rolled_back, self.rolled_back_at = memory.rolled_back, memory.rolled_back_at
        if self.rolled_back and self.rolled_back != self.target:
            self.rolled_back, self.rolled_back_at = "", None  # people decided something else
        self.completed = memory.completed
        self.revision = self.completed if self.rolled_back else self.target
        self.started = memory.started
        if self.revision != memory.revision or self.started is None:
            self._begin()

    def _begin(self) -> None:
        self.started, self.approved = self.now, set()

    @property
    def backwards(self) -> bool:
        return bool(self.rolled_back)

    @property
    def complete(self) -> bool:
        return self.completed == self.revision and not self.backwards

    def _staged(self) -> Iterator[tuple[RolloutStage, tuple[DecisionGroup, ...]]]:
        """The stages in their order, with their clusters as groups of the kernel."""
        found = tuple(zip(self.rollout.stages, self.table.stages, strict=True))
        if self.rollout.strategy is not None or not self.backwards:
            return iter(found)
        return ((one, tuple(replace(g, clusters=g.clusters[::-1]) for g in groups)) for one, groups in reversed(found))

    # -- the step

    def _advance(self) -> list[_StageStep]:
        """Start what may start; return the stages as they are afterwards."""
        first = self._steps()
        if self._must_roll_back(first):
            self.rolled_back, self.rolled_back_at = self.target, self.now
            self.revision = self.completed
            self._begin()
            first = self._steps()
        if not self.complete and all(one.step.finished for one in first) and self.table.placed:
            self.completed = self.revision
            return self._steps()
        return first

    def _must_roll_back(self, steps: Sequence[_StageStep]) -> bool:
        breach = any(one.step.breach for one in steps) and not self.complete
        wanted = self.rollout.on_failure == ROLLBACK and not self.backwards
        return breach and wanted and self.completed not in ("", self.target)

    def _steps(self) -> list[_StageStep]:
        found: list[_StageStep] = []
        ready = True
        for one, groups in list(self._staged()):
            found.append(self._stage_step(one, groups, ready=ready))
            step = found[-1].step
            ready = ready and (self.complete or (step.finished and not step.breach))
        return found

    def _stage_step(self, one: RolloutStage, groups: tuple[DecisionGroup, ...], *, ready: bool) -> _StageStep:
        names = tuple(name for group in groups for name in group.clusters)
        entries = [self.entries.get(name) for name in names]
        if self.rollout.strategy is None and self._is_done(one, entries):
            return _StageStep(one, names, _NOTHING_LEFT)
        if not ready and not any(entries):
            return _StageStep(one, names, replace(_NOTHING_LEFT, pending=names))
        for name in names:  # a cluster whose labels put it into another stage keeps what it has
            entry = self.entries.get(name)
            if entry is not None and entry.stage != one.name:
                self._move(name, replace(entry, stage=one.name))
        step = self._kernel(one, groups, names)
        chosen = [status.cluster for status in step.rolling if status.state == TO_APPLY]
        if not ready or step.breach or not chosen:
            return _StageStep(one, names, step)
        frozen = self._frozen(one, chosen)
        blocked = self._blocked(one, names) if len(frozen) < len(chosen) else None
        if blocked is None:
            kept = {name: frozen.get(name) or self._budget(name) for name in chosen}
            gate = one.gates[0].name if one.gates else MANAGED_CLUSTER.headline
            for name in chosen:
                if kept[name] is None:
                    self._move(name, ClusterRollout(self.revision, one.name, PROGRESSING, self.now, gate))
            blocked = next((held for held in kept.values() if held is not None), None)
            if blocked is not None:  # when the window closes, that is why they wait
                self.horizons += [calendar.next_change(self.now) for calendar in self._calendars(one)]
            step = self._kernel(one, groups, names)
        for block in (*frozen.values(), *([blocked] if blocked is not None else [])):
            self.horizons.append(block.until)
            if block.held is not None and block.held not in self.held:
                self.held.append(block.held)
        return _StageStep(one, names, step, blocked)

    def _is_done(self, one: RolloutStage, entries: Sequence[ClusterRollout | None]) -> bool:
        """Has every cluster succeeded and soaked? Most stages are done or far ahead, so the kernel is not asked."""
        since = set[datetime]()
        for entry in entries:
            if entry is None or (entry.state, entry.revision, entry.stage) != (SUCCEEDED, self.revision, one.name):
                return False
            since.add(entry.since)
        strategy = Strategy(limits=one.limits)
        return not any(judged(ClusterStatus("", SUCCEEDED, start), strategy, self.now).soaking for start in since)

    def _kernel(self, one: RolloutStage, groups: tuple[DecisionGroup, ...], names: Sequence[str]) -> Step:
        strategy = self.rollout.strategy or Strategy(PROGRESSIVE, one.limits)
        if self.complete:
            strategy = Strategy(strategy.type, replace(strategy.limits, max_failures=Fraction(1)))
        known = [(name, self.entries[name]) for name in names if name in self.entries]
        existing = [entry.status(name) for name, entry in known if entry.revision == self.revision]
        stale = [entry.status(name) for name, entry in known if entry.revision != self.revision]
        length = self.table.group_length if self.rollout.strategy is not None else None
        return next_step(strategy, groups, existing, self.now, stale=stale, group_length=length)

    # -- what holds it

    def _blocked(self, one: RolloutStage, names: Sequence[str]) -> _Blocked | None:
        """Why no cluster of the stage may start now."""
        if self.rollout.paused:
            return _Blocked("Paused", "spec.paused is true")
        if self.backwards:  # what went wrong is undone at any hour, and needs no further word
            return None
        return self._unapproved(one, names) or self._closed(one)

    def _frozen(self, one: RolloutStage, chosen: Sequence[str]) -> dict[str, _Blocked]:
        """The clusters that a freeze holds."""
        if self.backwards or self.rollout.paused:
            return {}
        known = {word.rpartition(" ")[2] for word in self.approved if word.startswith(f"{one.name} ")}
        broken = set(known)
        effect = f"{ROLLOUT_EFFECT} {one.name} {self.revision}"
        frozen = self.approvals.frozen_starts(self.shared, self.rollout.id, effect, chosen, broken)
        if broken != known:
            self.approved |= {one.name, *(f"{one.name} {topic}" for topic in broken)}
        return {name: _Blocked("Waiting", held.reason, held.horizon, held) for name, held in frozen.items()}

    def _unapproved(self, one: RolloutStage, names: Sequence[str]) -> _Blocked | None:
        begun = any(name in self.entries and self.entries[name].revision == self.revision for name in names)
        if one.name in self.approved or begun:
            return None
        effect = f"{ROLLOUT_EFFECT} {one.name} {self.revision}"
        topic = ROLLOUT_TOPIC if one.approval else ""
        wait = self.approvals.wait(self.shared, self.rollout.id, effect, topic, ())
        if wait is None:
            return None
        if wait.approved:
            self.approved.add(one.name)
            return None
        held = self.approvals.held(self.rollout.id, effect, wait)
        return _Blocked("Waiting", held.reason, held=held)

    def _closed(self, one: RolloutStage) -> _Blocked | None:
        """Is no Calendar of the stage open?"""
        if not one.windows:
            return None
        found = self._calendars(one)
        if not found:
            return _Blocked("Waiting", f"there is no calendar {one.windows[0]!r}")
        if any(calendar.is_open(self.now) for calendar in found):
            return None
        changes = [calendar.next_change(self.now) for calendar in found]
        until = earliest(*changes)
        first = found[changes.index(until)]
        ends = f" until {format_time(until)}" if until is not None else ""
        return _Blocked("Waiting", f"{first.why_closed(self.now)}{ends}", until)

    def _calendars(self, one: RolloutStage) -> list[Calendar]:
        known = self.run.context.rules.calendars_by_name
        return [known[name] for name in one.windows if name in known]

    def _budget(self, name: str) -> _Blocked | None:
        holding = self.run.context.broadcast(Allowance).holding_for(self.shared, MANAGED_CLUSTER.id(name))
        return None if holding is None else _Blocked("Waiting", holding.text, holding.until)

    # -- what is said of it

    def _status(self, steps: Sequence[_StageStep], rollout: Rollout, run: _Rollouts) -> Iterator[Yielded]:
        id_ = rollout.id
        current = next((one for one in steps if not one.step.finished or one.step.breach), None)
        self.horizons += [one.step.next for one in steps]
        ahead = earliest(*(instant for instant in self.horizons if instant is not None and instant > self.now))
        counts = [_counts(one, self.entries, self.revision) for one in steps]
        if self.backwards:
            counts.reverse()
        revisions = Counter(entry.revision for entry in self.entries.values())
        muster: Tree = {}
        if self.approved:
            muster["approved"] = sorted(self.approved)
        if self.rolled_back_at is not None:
            muster["rollback"] = {"from": self.rolled_back, "since": format_time(self.rolled_back_at)}
        fields: Tree = {
            "revision": self.revision, "completed": self.completed or None,
            "started": format_time(self.started) if self.started else None,
            "stage": current.stage.name if current else None, "stages": counts,
            "revisions": dict(sorted(revisions.items())) or None, "skipped": self.table.skipped or None,
            "nextStepAt": format_time(ahead) if ahead else None,
        }  # fmt: skip
        for name, value in fields.items():
            if value is not None:
                yield Decision(id_, ("status", name), value, self.because, ahead)
        for name, value in muster.items():
            yield Decision(id_, ("status", "muster", name), value, self.because)
        said = self._said(steps, current)
        yield condition_decision(self.shared, id_, ROLLED_OUT, said, self.because, run.now, ahead)

    def _said(self, steps: Sequence[_StageStep], current: _StageStep | None) -> RolledOut:
        """The condition: is it rolled out, and what does it wait for?"""
        behind = sum(entry.revision != self.revision for entry in self.entries.values())
        rest = f"; {_clusters(behind, 'keep')} another revision until their turn" if behind else ""
        back = f" (rolled back from {self.rolled_back})" if self.backwards else ""
        failed = [name for one in steps if one.step.breach for name in one.step.failures]
        if failed and not self.complete:
            names = ", ".join(failed[:_MOST_NAMES]) + (" and more" if len(failed) > _MOST_NAMES else "")
            stopped = next(one.stage.name for one in steps if one.step.breach)
            return RolledOut("False", "Stopped", f"stage {stopped}: {names} failed at {self.revision}{back}{rest}")
        blocked = next((one for one in steps if one.blocked is not None), None)
        if blocked is not None and blocked.blocked is not None:
            text = f"stage {blocked.stage.name}: {blocked.blocked.text}{back}{rest}"
            return RolledOut("False", blocked.blocked.reason, text)
        if not self.table.placed:
            return RolledOut("False", "NoClusters", "the placement chooses no cluster")
        if self.backwards:
            if current is None:
                return RolledOut("False", "RolledBack", f"{self.rolled_back} failed; clusters have {self.revision}")
            return RolledOut("False", "RollingBack", f"stage {current.stage.name}: {self.revision}{back}{rest}")
        if current is None or self.complete:
            having = sum(entry.revision == self.revision for entry in self.entries.values())
            return RolledOut("True", "Complete", f"{_clusters(having, 'have')} {self.revision}")
        soaking = all(status.soaking for status in current.step.rolling) and not current.step.pending
        text = f"stage {current.stage.name}: {self.revision}"
        last = max((status.until for status in current.step.rolling if status.until is not None), default=None)
        if soaking and last is not None:
            return RolledOut("False", SOAKING, f"{text}, until {format_time(last)}{rest}")
        return RolledOut("False", PROGRESSING, f"{text}{rest}")

    def _holding(self, reason: str, message: str) -> Iterator[Decision]:
        """Everything stays as it is."""
        id_ = self.rollout.id
        status = mapping_at(self.shared.previous.get(id_), "status")
        for name in sorted(status.keys() - {"conditions", "muster"}):
            yield Decision(id_, ("status", name), status[name], self.because)
        for name, value in sorted(mapping_at(status, "muster").items()):
            if name != "held":
                yield Decision(id_, ("status", "muster", name), value, self.because)
        said = RolledOut("False", reason, message)
        yield condition_decision(self.shared, id_, ROLLED_OUT, said, self.because, self.now)


def _clusters(number: int, verb: str) -> str:
    if number == 1:
        return f"1 cluster {'has' if verb == 'have' else f'{verb}s'}"
    return f"{number} clusters {verb}"


def _counts(one: _StageStep, entries: Mapping[str, ClusterRollout], revision: str) -> Tree:
    """The numbers of a stage; a state that no cluster has is left out."""
    soaking = {status.cluster for status in one.step.rolling if status.soaking}
    states = Counter(
        TO_APPLY if (entry := entries.get(name)) is None or entry.revision != revision
        else SOAKING if name in soaking else entry.state
        for name in one.clusters
    )  # fmt: skip
    return {"name": one.stage.name, "clusters": len(one.clusters), **{s: states[s] for s in STATES if states[s]}}


STAGE = Wide("rollouts", stage, derives=(((ROLLOUT,), (STATUS,)),), steps=ROLLOUT)
