"""All Placements of a run, in turn, until none changes its choice.

Balance depends on other Placements' choices, and Steady on the present one. So the Placements choose in the order of
their names, each seeing the new choices of those before it, and again until a round changes nothing: a second
evaluation then gives the same. Rounds converge quickly, because Steady makes moving more expensive than staying. If
weights make choices answer each other for ever (a Placement that wants to be where another is not, and one that wants
to be where it is), the last run's choices come first, and a finding says so.

A Placement that is misconfigured, broken, being deleted or not scheduled keeps its choice.

While a freeze holds moves, the clusters that it selects neither leave a Placement nor come to it, unless an Approval
names the move. A cluster that is removed, being deleted or denied leaves all the same, and a new Placement makes its
first choice. What the choice would be without a freeze says which moves are held.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Final

from muster.data.decision import Held
from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT
from muster.data.times import earliest
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.approval import MOVE, Approvals
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.choice import FREE, FrozenMoves, PlacementChoice, PlacementTask, ScoringContext
from muster.rules.placements.filters import clusters_of_unread_scores
from muster.rules.placements.policy import CompiledPlacement
from muster.rules.placements.shards import DecisionShard, clusters_of, previous_shards
from muster.rules.policies.in_force import InForce

SCHEDULING_DISABLED = "cluster.open-cluster-management.io/experimental-scheduling-disable"
MOST_ROUNDS = 12
_NO_COUNTS: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One Placement's choice and its task.

    `choice` is from the round in which it last changed, so its scores explain it; `others`: the final choices of the
    other Placements. `free`: the choice without freezes, if one applies; `held`: the moves that are held, by cluster.
    """

    task: PlacementTask
    choice: PlacementChoice
    others: Mapping[str, int]
    frozen: FrozenMoves = FREE
    free: PlacementChoice | None = None
    held: Mapping[str, Held] = field(default_factory=dict)

    @property
    def horizon(self) -> datetime | None:
        """The first second at which time alone changes the choice, or which moves are held."""
        selected = self.choice.selected
        ahead = self.task.horizon(self.choice, self.others, selected, self.frozen)
        return ahead if self.free is None else earliest(ahead, self.task.horizon(self.free, self.others, selected))


class Entries(dict[str, Tree]):
    """The entry of a cluster in PlacementDecisions: one object for all of them, because trees are shared."""

    def __missing__(self, name: str) -> Tree:
        entry = self[name] = {"clusterName": name, "reason": ""}
        return entry


@dataclass(frozen=True, slots=True)
class Schedule:
    """The choices of all Placements of a fleet.

    `previous`: the last run's shards by Placement. `chosen`: the scheduled Placements; every other one in `previous`
    that exists, or may exist, is in `kept` with its remaining clusters. `restless`: those that would change their
    choice again and again, because their scores answer each other's choices; they keep their last ones.
    """

    candidates: Candidates
    previous: Mapping[ObjectId, tuple[DecisionShard, ...]]
    chosen: Mapping[ObjectId, Scheduled]
    kept: Mapping[ObjectId, frozenset[str]]
    restless: frozenset[ObjectId] = frozenset()
    entries: Entries = field(default_factory=Entries)


def schedule_all(view: View, rules: InForce, approvals: Approvals, now: datetime, *, scored: bool = False) -> Schedule:
    """Schedule all Placements. `scored`: count rivals even if no score can change a choice."""
    candidates = Candidates.of(view, rules.settings)
    previous = previous_shards(view)
    tasks: list[PlacementTask] = []
    placements = placements_of(rules)
    for obj in view.of(PLACEMENT):
        compiled = placements.get(obj.id)
        if compiled is not None and compiled.spec is not None and not is_paused(obj):
            before = clusters_of(previous.get(obj.id, ()))
            unread = clusters_of_unread_scores(view, obj)
            tasks.append(PlacementTask.of(candidates, obj.id, compiled.spec, compiled.predicates, before, unread))
    scheduled = {task.id for task in tasks}
    remaining = {
        id_: frozenset(name for name in clusters_of(shards) if stays(candidates, name))
        for id_, shards in previous.items()
        if id_ not in scheduled and (id_ in view.objects or view.is_unread(id_))
    }
    chosen, restless = _chosen_under_freezes(tasks, previous, tuple(remaining.values()), approvals, now, scored=scored)
    chosen = {
        id_: _with_held(scheduled_one, approvals) if scheduled_one.frozen else scheduled_one
        for id_, scheduled_one in chosen.items()
    }
    return Schedule(candidates, previous, chosen, remaining, restless)


def _chosen_under_freezes(
    tasks: Sequence[PlacementTask],
    previous: Collection[ObjectId],
    remaining: Sequence[frozenset[str]],
    approvals: Approvals,
    now: datetime,
    *,
    scored: bool,
) -> tuple[dict[ObjectId, Scheduled], frozenset[ObjectId]]:
    """The choices, while freezes hold the moves of the Placements that had one at the `previous` run.

    A new Placement has nothing to move, so it chooses freely. From the next run on the freezes hold its moves, too, and
    others may answer its choice: so the choice is made again from there, until the next run changes nothing.
    """
    if not approvals.freezes_on(MOVE):
        return _chosen(tasks, remaining, now, {}, scored=scored)
    new = {task.id for task in tasks if task.id not in previous}
    trial = tasks
    frozen = {task.id: _frozen(task, approvals) for task in tasks if task.id not in new}
    for _ in range(MOST_ROUNDS):
        chosen, restless = _chosen(trial, remaining, now, frozen, scored=scored)
        start = [replace(task, previous=chosen[task.id].choice.selected) if task.id in new else task for task in tasks]
        if [task.previous for task in start] == [task.previous for task in trial] and len(frozen) == len(tasks):
            break
        trial, frozen = start, {task.id: _frozen(task, approvals) for task in start}
    return chosen, restless


def _frozen(task: PlacementTask, approvals: Approvals) -> FrozenMoves:
    """The clusters that may neither leave the Placement nor come to it."""
    candidates = task.candidates
    names = frozenset[str]().union(
        *(candidates.labels.selected(freeze.selector) for freeze in approvals.freezes_on(MOVE))
    )
    for entry in mappings_at(candidates.fleet.previous.get(task.id), "status", "muster", "held"):
        sort, _, name = (effect := str(entry.get("effect"))).partition(" ")
        if sort == MOVE and name in names:
            wait = approvals.wait(candidates.fleet, task.id, effect)
            names -= {name} if wait is not None and wait.approved else frozenset()
    return FrozenMoves(task.previous & names, names - task.previous)


def _with_held(chosen: Scheduled, approvals: Approvals) -> Scheduled:
    """The choice with the moves that freezes hold."""
    task, choice = chosen.task, chosen.choice
    free = task.choose(ScoringContext(chosen.others, choice.selected, choice.context.now))
    held = dict[str, Held]()
    for name in sorted(free.selected ^ choice.selected):
        effect = f"{MOVE} {name}"
        wait = approvals.wait(task.candidates.fleet, task.id, effect)
        if wait is not None:
            move = approvals.held(task.id, effect, wait)
            held[name] = replace(move, reason=_APPROVED) if wait.approved else move
    return replace(chosen, free=free, held=held)


_APPROVED: Final = "it is approved, and waits until another cluster may come or leave"


def placements_of(rules: InForce) -> dict[ObjectId, CompiledPlacement]:
    """Return the compiled Placements by id."""
    return {placement.id: placement for placement in rules.compiled.of(CompiledPlacement)}


def is_paused(obj: Object) -> bool:
    """Is the Placement being deleted, or its scheduling disabled by annotation?"""
    return obj.deleting or obj.annotations.get(SCHEDULING_DISABLED) == "true"


def stays(candidates: Candidates, name: str) -> bool:
    """May a chosen cluster stay without being asked for? Denied and removed ones always leave."""
    return name in candidates.objects or candidates.uncertain(name)


@dataclass(frozen=True)
class _Rounds:
    """Placements that choose in turn. `current`: what each has chosen so far; `counts`: how many chose each cluster;
    `decided`: each one's choice from the round in which it last changed."""

    current: dict[ObjectId, frozenset[str]]
    counts: Counter[str]
    now: datetime
    frozen: Mapping[ObjectId, FrozenMoves]
    scored: bool
    decided: dict[ObjectId, Scheduled] = field(default_factory=dict)

    def play(self, tasks: Iterable[PlacementTask], *, sticky: bool = False) -> frozenset[ObjectId]:
        """Let each choose once, and return those that changed their choice."""
        moved = set[ObjectId]()
        for task in tasks:
            before = self.current[task.id]
            others = _subtract(self.counts, before) if task.limited_choice or self.scored else _NO_COUNTS
            frozen = self.frozen.get(task.id, FREE)
            choice = task.choose(ScoringContext(others, before, self.now), sticky=sticky, frozen=frozen)
            if choice.selected == before and task.id in self.decided:
                choice = self.decided[task.id].choice
            self.decided[task.id] = Scheduled(task, choice, others, frozen)
            if choice.selected != before:
                self.counts.subtract(before)
                self.counts.update(choice.selected)
                self.current[task.id] = choice.selected
                moved.add(task.id)
        return frozenset(moved)


def _chosen(
    tasks: Sequence[PlacementTask],
    remaining: Sequence[frozenset[str]],
    now: datetime,
    frozen: Mapping[ObjectId, FrozenMoves],
    *,
    scored: bool,
) -> tuple[dict[ObjectId, Scheduled], frozenset[ObjectId]]:
    """The final choices, and the Placements that come to rest only because they prefer their last choice.

    If the rounds do not come to rest, the last run's choices are ranked first, and the rounds begin again from what
    follows: the next run, which begins there, then does the same and changes nothing.
    """
    limited = [task for task in tasks if task.limited_choice]
    start, restless = {task.id: task.previous for task in tasks}, frozenset[ObjectId]()
    for _ in range(MOST_ROUNDS):
        rounds = _Rounds(dict(start), _count((*remaining, *start.values())), now, frozen, scored)
        moved, last = rounds.play(tasks), deque[frozenset[ObjectId]](maxlen=MOST_ROUNDS // 2)
        for _ in range(MOST_ROUNDS):
            if not moved or not limited:
                return rounds.decided, frozenset()
            moved = rounds.play(limited)
            last.append(moved)
        restless = frozenset().union(*last)
        rounds = _Rounds(dict(start), _count((*remaining, *start.values())), now, frozen, scored)
        rounds.play(tasks, sticky=True)
        if rounds.current == start:
            break
        start = rounds.current
    return rounds.decided, restless


def _count(choices: Iterable[frozenset[str]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for names in choices:
        counts.update(names)
    return counts


def _subtract(counts: Mapping[str, int], subtracted: Iterable[str]) -> dict[str, int]:
    others = dict(counts)
    for name in subtracted:
        others[name] -= 1
    return others
