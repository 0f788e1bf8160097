"""The stage of Rollouts: which clusters get the revision now, and the Rollout's status.

Stages run one after the other, each by the kernel of Open Cluster Management's strategies (`step`). What a cluster has,
and how it is doing with it, is in its own derived part; the Rollout's status has numbers, so that a step writes the
files of the clusters that it moves, and one more.

- A new revision starts again at the first stage. Clusters that the last one reached keep it until their turn.
- Once every stage has finished, failures stop nothing; a cluster that joins later gets the revision at once.
- A stage that has started needs no further approval for the same revision. A freeze holds each cluster that it selects
  until it ends or an Approval breaks it for the stage; a rollback is never held.
- A rollback takes the last complete revision from the last stage to the first, and ends when people set another one.
  It needs failures of clusters that speak: silence stops a Rollout, and rolls nothing back, because it may be the
  observer's.
- A cluster that the Placement drops because it is not available keeps its place until it has succeeded and soaked
  (`muster.rules.progress.absent`), or another revision is rolled out.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from fractions import Fraction
from typing import TypeAlias

from muster import cel
from muster.data.decision import Because, Decision, Held, Input
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER, ROLLOUT, of_kinds
from muster.data.tree import dig, mapping_at
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.shared import Shared
from muster.rules.effects.allowance import Allowance
from muster.rules.effects.approval import ROLLOUT_EFFECT
from muster.rules.placements.shards import DecisionShard, decided_shards
from muster.rules.policies.in_force import InForce
from muster.rules.progress.absent import absent_clusters, with_absent
from muster.rules.progress.step import (
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
from muster.rules.progress.strategy import PROGRESSIVE, Strategy, StrategyError
from muster.rules.rollouts.course import RolloutCourse
from muster.rules.rollouts.holds import StartBlock, StartHolds
from muster.rules.rollouts.policy import ROLLBACK, ClusterRollout, Rollout, RolloutStage
from muster.rules.rollouts.progress import RolloutMoves, entries_of
from muster.rules.rollouts.status import RolloutStatus, StageStep, kept_status
from muster.rules.rollouts.table import RolloutTable, table_of
from muster.rules.stages import STATUS, StepRecord, Wide

#: What the decision of one Rollout yields.
_Yielded: TypeAlias = Decision | Held | Finding | StepRecord
_NOTHING_LEFT = Step((), (), (), (), (), breach=False, next=None)


def stage(shared: Shared, now: datetime, rules: InForce, allowance: Allowance) -> Iterator[_Yielded | RolloutMoves]:
    """Decide every Rollout's step."""
    rollouts = {rollout.id: rollout for rollout in rules.compiled.of(Rollout)}
    if not rollouts:
        return
    stepping = _Rollouts(shared, rules, allowance, now, decided_shards(shared))
    included = rollouts.keys() if shared.steps is None else rollouts.keys() & shared.steps.keys()
    yield from each(
        (obj for obj in shared.of(ROLLOUT) if obj.id in included), lambda obj: stepping.of(rollouts[obj.id])
    )
    moves = stepping.moves
    yield from (RolloutMoves(id_, entries) for id_, entries in sorted(moves.items()))


@dataclass(frozen=True)
class _Rollouts:
    shared: Shared
    rules: InForce
    allowance: Allowance
    now: datetime
    shards: Mapping[ObjectId, tuple[DecisionShard, ...]]
    moves: dict[ObjectId, dict[str, ClusterRollout | None]] = field(default_factory=dict)

    def of(self, rollout: Rollout) -> list[_Yielded]:
        """The step of one Rollout. What it moves is added only if nothing fails."""
        stepping = _RolloutDecision(self, rollout)
        outcomes = list(stepping.decide())
        for name, entry in stepping.moved.items():
            self.moves.setdefault(MANAGED_CLUSTER.id(name), {})[rollout.key] = entry
        return outcomes


class _RolloutDecision:
    """The decision of one Rollout."""

    def __init__(self, run: _Rollouts, rollout: Rollout) -> None:
        self.run, self.rollout, self.shared, self.now = run, rollout, run.shared, run.now
        self.because = Because(str(rollout.id), (Input(("spec",), rollout.id),))
        self.moved: dict[str, ClusterRollout | None] = {}
        self.unread: Collection[str] = ()
        self.approvals = run.allowance.approvals
        broken = {freeze.topic for freeze in self.approvals.freezes_on(ROLLOUT_EFFECT)}
        self.course = RolloutCourse.read(mapping_at(self.shared.previous.get(rollout.id), "status"), broken)
        self.holds = StartHolds(self.shared, run.rules, run.allowance, rollout, self.course, self.now)
        self.horizons: list[datetime | None] = []
        self.held: list[Held] = []

    def decide(self) -> Iterator[_Yielded]:
        rollout = self.rollout
        try:
            self.target = self._revision()
            self.course.set_out(self.target, self.now)
            self._place()
            steps = self._advance()
        except StrategyError as error:
            yield from self._kept_status(f"{error.message}; its clusters keep what they have")
            return
        except cel.EvaluationError as error:
            yield from self._kept_status(f"the expression of its revision failed: {error.message}")
            return
        yield from self.held
        status = RolloutStatus(
            self.shared, rollout, self.because, self.course, self.table, steps, self.horizons, self.now
        )
        yield from status.decisions()
        if not self.approvals.freezes_on(ROLLOUT_EFFECT):  # it selects by labels, which the record does not have
            yield StepRecord(rollout.id, self.table.packed())

    def _kept_status(self, message: str) -> Iterator[_Yielded]:
        return kept_status(self.shared, self.rollout.id, message, self.because, self.now)

    # -- what there is

    def _revision(self) -> str:
        """The revision that people want now."""
        if self.rollout.computed is None:
            return self.rollout.revision
        clock = cel.Clock(self.now)
        fleet = self.run.rules.settings.spec
        result = self.rollout.computed.run({"self": self.rollout.source.body, "fleet": fleet}, clock=clock)
        if result.error is not None:
            raise result.error
        self.horizons.append(clock.horizon)
        return str(result.value)

    def _place(self) -> None:
        """The Placement's clusters and their entries; or the record, with what changed in it.

        A cluster that cannot be read keeps its entry and its place: none takes its turn, and it is not started.
        """
        shared, key = self.shared, self.rollout.key
        sound = {obj.id.name: obj for obj in shared.of(MANAGED_CLUSTER)}
        unread = {id_.name: shared.objects.get(id_) for id_ in of_kinds(shared.broken, MANAGED_CLUSTER)}
        self.unread = unread.keys()
        sound |= {name: obj for name, obj in unread.items() if obj is not None}
        entries = entries_of(shared, map(MANAGED_CLUSTER.id, sound.keys() | unread), key)
        if shared.steps is not None:
            table = RolloutTable.unpacked(shared.steps[self.rollout.id])
            for name in sound:
                table.entries.pop(name, None)
            table.entries |= entries
        else:
            table = self._whole_table(sound, entries)
        self.table, self.entries = table, table.entries
        table.absent &= table.entries.keys() - table.names()
        self._drop_absent()

    def _drop_absent(self) -> None:
        """Clusters leave that the Placement dropped, unless they keep their places."""
        self.table.absent = frozenset(self._in_flight(self.table.absent, self.entries))
        for name in self.entries.keys() - self.table.names() - self.table.absent:
            self._move(name, None)

    def _in_flight(self, names: Iterable[str], entries: Mapping[str, ClusterRollout]) -> Iterator[str]:
        """Yield the clusters that are in flight, soaking or failed with the present revision."""
        for name in names if not self.course.complete else ():
            entry = entries[name]
            limits = self.rollout.stage(entry.stage).limits
            status = judged(entry.status(name), Strategy(limits=limits), self.now)
            if entry.revision == self.course.revision and (status.state != SUCCEEDED or status.soaking):
                yield name

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
        table = table_of(self.rollout, groups, placed, entries, length)
        outside = frozenset(self._in_flight(entries.keys() - placed.keys(), entries))
        table.absent = absent_clusters(self.shared, self.run.rules, id_, outside)
        return table

    def _move(self, name: str, entry: ClusterRollout | None) -> None:
        self.moved[name] = entry
        if entry is None:
            self.entries.pop(name, None)
        else:
            self.entries[name] = entry

    def _staged(self) -> Iterator[tuple[RolloutStage, tuple[DecisionGroup, ...]]]:
        """The stages in their order, with their clusters as groups of the kernel."""
        stages = tuple(
            (stage, self._with_absent(stage, groups))
            for stage, groups in zip(self.rollout.stages, self.table.stages, strict=True)
        )
        if self.rollout.strategy is not None or not self.course.backwards:
            return iter(stages)
        return (
            (stage, tuple(replace(g, clusters=g.clusters[::-1]) for g in groups)) for stage, groups in reversed(stages)
        )

    def _with_absent(self, stage: RolloutStage, groups: tuple[DecisionGroup, ...]) -> tuple[DecisionGroup, ...]:
        staying = [name for name in self.table.absent if self.rollout.stage(self.entries[name].stage) is stage]
        begun = (
            {name for name, entry in self.entries.items() if entry.revision == self.course.revision} if staying else ()
        )
        return with_absent(self.rollout.strategy or Strategy(), groups, staying, begun)

    # -- the step

    def _advance(self) -> list[StageStep]:
        """Start what may start; return the stages as they are afterwards."""
        first = self._steps()
        if self._must_roll_back(first):
            self.course.roll_back(self.target, self.now)
            self._drop_absent()
            first = self._steps()
        if not self.course.complete and all(stage_step.step.finished for stage_step in first) and self.table.placed:
            self.course.completed = self.course.revision
            self._drop_absent()
            return self._steps()
        return first

    def _must_roll_back(self, steps: Sequence[StageStep]) -> bool:
        wanted = self.rollout.on_failure == ROLLBACK and not self.course.backwards and not self.course.complete
        if not wanted or self.course.completed in ("", self.target):
            return False
        groups = {stage.name: stage_groups for stage, stage_groups in self._staged()}
        return any(
            stage_step.step.breach
            and self._kernel(stage_step.stage, groups[stage_step.stage.name], stage_step.clusters, heard=True).breach
            for stage_step in steps
        )

    def _steps(self) -> list[StageStep]:
        steps: list[StageStep] = []
        ready = True
        for stage, groups in list(self._staged()):
            steps.append(self._stage_step(stage, groups, ready=ready))
            step = steps[-1].step
            ready = ready and (self.course.complete or (step.finished and not step.breach))
        return steps

    def _stage_step(self, stage: RolloutStage, groups: tuple[DecisionGroup, ...], *, ready: bool) -> StageStep:
        names = tuple(name for group in groups for name in group.clusters)
        entries = [self.entries.get(name) for name in names]
        if self.rollout.strategy is None and self._is_done(stage, entries):
            return StageStep(stage, names, _NOTHING_LEFT)
        if not ready and not any(entries):
            return StageStep(stage, names, replace(_NOTHING_LEFT, pending=names))
        for name in names:  # a cluster whose labels put it into another stage keeps what it has
            entry = self.entries.get(name)
            if entry is not None and entry.stage != stage.name:
                self._move(name, replace(entry, stage=stage.name))
        step = self._kernel(stage, groups, names)
        chosen = [status.cluster for status in step.rolling if status.state == TO_APPLY]
        if not ready or step.breach or not chosen:
            return StageStep(stage, names, step)
        frozen = self.holds.frozen(stage, chosen)
        begun = any(
            entry is not None and entry.revision == self.course.revision for entry in map(self.entries.get, names)
        )
        blocked = self.holds.blocked(stage, begun=begun) if len(frozen) < len(chosen) else None
        if blocked is None:
            blocks = {name: frozen.get(name) or self._unread(name) or self.holds.budget(name) for name in chosen}
            gate = stage.gates[0].name if stage.gates else MANAGED_CLUSTER.headline
            for name in chosen:
                if blocks[name] is None:
                    self._move(name, ClusterRollout(self.course.revision, stage.name, PROGRESSING, self.now, gate))
            blocked = next((held for held in blocks.values() if held is not None), None)
            if blocked is not None:  # when the window closes, that is why they wait
                self.horizons += [calendar.next_change(self.now) for calendar in self.holds.calendars(stage)]
            step = self._kernel(stage, groups, names)
        for block in (*frozen.values(), *([blocked] if blocked is not None else [])):
            self.horizons.append(block.until)
            if block.held is not None and block.held not in self.held:
                self.held.append(block.held)
        return StageStep(stage, names, step, blocked)

    def _unread(self, name: str) -> StartBlock | None:
        return StartBlock("Waiting", f"cluster {name!r} cannot be read") if name in self.unread else None

    def _is_heard(self, status: ClusterStatus) -> bool:
        return status.silent_after is None and status.cluster not in self.unread

    def _is_done(self, stage: RolloutStage, entries: Sequence[ClusterRollout | None]) -> bool:
        """Has every cluster succeeded and soaked? Most stages are done or far ahead, so the kernel is not asked."""
        since = set[datetime]()
        for entry in entries:
            if entry is None or (entry.state, entry.revision, entry.stage) != (
                SUCCEEDED,
                self.course.revision,
                stage.name,
            ):
                return False
            since.add(entry.since)
        strategy = Strategy(limits=stage.limits)
        return not any(judged(ClusterStatus("", SUCCEEDED, start), strategy, self.now).soaking for start in since)

    def _kernel(
        self, stage: RolloutStage, groups: tuple[DecisionGroup, ...], names: Sequence[str], *, heard: bool = False
    ) -> Step:
        """The step of a stage. `heard`: without the deadlines that silent and unreadable clusters missed."""
        strategy = self.rollout.strategy or Strategy(PROGRESSIVE, stage.limits)
        if self.course.complete:
            strategy = Strategy(strategy.type, replace(strategy.limits, max_failures=Fraction(1)))
        entries = [(name, self.entries[name]) for name in names if name in self.entries]
        existing = [entry.status(name) for name, entry in entries if entry.revision == self.course.revision]
        if heard:
            existing = [status for status in existing if status.state != TIME_OUT or self._is_heard(status)]
        stale = [entry.status(name) for name, entry in entries if entry.revision != self.course.revision]
        length = self.table.group_length if self.rollout.strategy is not None else None
        return next_step(strategy, groups, existing, self.now, stale=stale, group_length=length)


STAGE = Wide("rollouts", stage, derives=(((ROLLOUT,), (STATUS,)),), steps=ROLLOUT)
