"""All Placements of a run, in turn, until none changes its choice.

Balance depends on other Placements' choices, and Steady on the present one. So the Placements choose in the order of
their names, each seeing the new choices of those before it, and again until a round changes nothing: a second
evaluation then gives the same. Rounds converge quickly, because Steady makes moving more expensive than staying; if
unusual weights make choices alternate, the last round ranks present choices first.

A Placement that is misconfigured, broken, being deleted or not scheduled keeps its choice.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT
from muster.data.tree import Tree
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.placements.candidates import Candidates
from muster.rules.placements.choice import PlacementChoice, PlacementTask, ScoringContext
from muster.rules.placements.policy import CompiledPlacement
from muster.rules.placements.shards import DecisionShard, clusters_of, previous_shards
from muster.rules.policies.in_force import InForce

SCHEDULING_DISABLED = "cluster.open-cluster-management.io/experimental-scheduling-disable"
MOST_ROUNDS = 12
_NOBODY: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One Placement's choice and its task.

    `choice` is from the round in which it last changed, so its scores explain it; `others`: the final choices of the
    other Placements.
    """

    task: PlacementTask
    choice: PlacementChoice
    others: Mapping[str, int]


class Entries(dict[str, Tree]):
    """The entry of a cluster in PlacementDecisions: one object for all of them, because trees are shared."""

    def __missing__(self, name: str) -> Tree:
        entry = self[name] = {"clusterName": name, "reason": ""}
        return entry


@dataclass(frozen=True, slots=True)
class Schedule:
    """The choices of all Placements of a fleet.

    `previous`: the last run's shards by Placement. `chosen`: the scheduled Placements; every other one in `previous`
    that exists, or may exist, is in `kept` with its remaining clusters.
    """

    candidates: Candidates
    previous: Mapping[ObjectId, tuple[DecisionShard, ...]]
    chosen: Mapping[ObjectId, Scheduled]
    kept: Mapping[ObjectId, frozenset[str]]
    entries: Entries = field(default_factory=Entries)


def schedule_all(view: View, rules: InForce, now: datetime, *, scored: bool = False) -> Schedule:
    """Schedule all Placements. `scored`: count rivals even if no score can change a choice."""
    candidates = Candidates.of(view, rules.settings)
    previous = previous_shards(view)
    tasks: list[PlacementTask] = []
    placements = placements_of(rules)
    for obj in view.of(PLACEMENT):
        compiled = placements.get(obj.id)
        if compiled is not None and compiled.spec is not None and not is_paused(obj):
            before = clusters_of(previous.get(obj.id, ()))
            tasks.append(PlacementTask.of(candidates, obj.id, compiled.spec, compiled.predicates, before))
    scheduled = {task.id for task in tasks}
    kept = {
        id_: frozenset(name for name in clusters_of(shards) if stays(candidates, name))
        for id_, shards in previous.items()
        if id_ not in scheduled and (id_ in view.objects or id_ in view.broken or view.unidentified)
    }
    return Schedule(candidates, previous, _rounds(tasks, kept.values(), now, scored=scored), kept)


def placements_of(rules: InForce) -> dict[ObjectId, CompiledPlacement]:
    """Return the compiled Placements by id."""
    return {placement.id: placement for placement in rules.compiled.of(CompiledPlacement)}


def is_paused(obj: Object) -> bool:
    """Is the Placement being deleted, or its scheduling disabled by annotation?"""
    return obj.deleting or obj.annotations.get(SCHEDULING_DISABLED) == "true"


def stays(candidates: Candidates, name: str) -> bool:
    """May a chosen cluster stay without being asked for? Denied and removed ones always leave."""
    return name in candidates.objects or candidates.uncertain(name)


def _rounds(
    tasks: list[PlacementTask], kept: Iterable[frozenset[str]], now: datetime, *, scored: bool
) -> dict[ObjectId, Scheduled]:
    current = {task.id: task.previous for task in tasks}
    counts: Counter[str] = Counter()
    for names in (*kept, *current.values()):
        counts.update(names)
    found: dict[ObjectId, Scheduled] = {}
    playing = tasks
    for number in range(MOST_ROUNDS):
        moved = False
        for task in playing:
            before = current[task.id]
            others = _without(counts, before) if task.limited_choice or scored else _NOBODY
            choice = task.choose(ScoringContext(others, before, now), sticky=number == MOST_ROUNDS - 1)
            if choice.selected == before and task.id in found:
                choice = found[task.id].choice
            found[task.id] = Scheduled(task, choice, others)
            if choice.selected != before:
                counts.subtract(before)
                counts.update(choice.selected)
                current[task.id] = choice.selected
                moved = True
        playing = [task for task in playing if task.limited_choice]
        if not moved or not playing:
            break
    return found


def _without(counts: Mapping[str, int], own: Iterable[str]) -> dict[str, int]:
    others = dict(counts)
    for name in own:
        others[name] -= 1
    return others
