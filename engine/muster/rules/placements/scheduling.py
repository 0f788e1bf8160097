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
from muster.rules.placements.choice import Contest, PlacementChoice, ScoringContext
from muster.rules.placements.policy import CompiledPlacement
from muster.rules.placements.shards import DecisionShard, clusters_of, standing_shards
from muster.rules.policies.in_force import InForce

SCHEDULING_DISABLED = "cluster.open-cluster-management.io/experimental-scheduling-disable"
MOST_ROUNDS = 12
_NOBODY: Mapping[str, int] = {}


@dataclass(frozen=True, slots=True)
class Chosen:
    """One Placement's choice and its contest.

    `choice` is from the round in which it last changed, so its scores explain it; `others`: the final choices of the
    other Placements.
    """

    contest: Contest
    choice: PlacementChoice
    others: Mapping[str, int]


class Entries(dict[str, Tree]):
    """The entry of a cluster in PlacementDecisions: one object for all of them, because trees are shared."""

    def __missing__(self, name: str) -> Tree:
        """Create the entry."""
        entry = self[name] = {"clusterName": name, "reason": ""}
        return entry


@dataclass(frozen=True, slots=True)
class Contests:
    """The choices of all Placements of a fleet.

    `standing`: the last run's shards by Placement. `chosen`: the scheduled Placements; every other one in `standing`
    that exists, or may exist, is in `kept` with its remaining clusters.
    """

    candidates: Candidates
    standing: Mapping[ObjectId, tuple[DecisionShard, ...]]
    chosen: Mapping[ObjectId, Chosen]
    kept: Mapping[ObjectId, frozenset[str]]
    entries: Entries = field(default_factory=Entries)


def hold(view: View, rules: InForce, now: datetime, *, scored: bool = False) -> Contests:
    """Schedule all Placements. `scored`: count rivals even if no score can change a choice."""
    candidates = Candidates.of(view, rules.settings)
    standing = standing_shards(view)
    contests: list[Contest] = []
    placements = placements_of(rules)
    for obj in view.of(PLACEMENT):
        compiled = placements.get(obj.id)
        if compiled is not None and compiled.spec is not None and not is_paused(obj):
            before = clusters_of(standing.get(obj.id, ()))
            contests.append(Contest.of(candidates, obj.id, compiled.spec, compiled.predicates, before))
    scheduled = {contest.id for contest in contests}
    kept = {
        id_: frozenset(name for name in clusters_of(shards) if stays(candidates, name))
        for id_, shards in standing.items()
        if id_ not in scheduled and _may_exist(view, id_)
    }
    return Contests(candidates, standing, _rounds(contests, kept.values(), now, scored=scored), kept)


def placements_of(rules: InForce) -> dict[ObjectId, CompiledPlacement]:
    """Return the compiled Placements by id."""
    return {placement.id: placement for placement in rules.compiled.of(CompiledPlacement)}


def is_paused(obj: Object) -> bool:
    """Is the Placement being deleted, or its scheduling disabled by annotation?"""
    return obj.deleting or obj.annotations.get(SCHEDULING_DISABLED) == "true"


def stays(candidates: Candidates, name: str) -> bool:
    """May a chosen cluster stay without being asked for? Denied and removed ones always leave."""
    return name in candidates.objects or candidates.uncertain(name)


def _may_exist(view: View, id_: ObjectId) -> bool:
    return id_ in view.objects or id_ in view.broken or view.unidentified


def _rounds(
    contests: list[Contest], kept: Iterable[frozenset[str]], now: datetime, *, scored: bool
) -> dict[ObjectId, Chosen]:
    current = {contest.id: contest.standing for contest in contests}
    counts: Counter[str] = Counter()
    for names in (*kept, *current.values()):
        counts.update(names)
    found: dict[ObjectId, Chosen] = {}
    playing = contests
    for number in range(MOST_ROUNDS):
        moved = False
        for contest in playing:
            before = current[contest.id]
            others = _without(counts, before) if contest.restless or scored else _NOBODY
            choice = contest.choose(ScoringContext(others, before, now), sticky=number == MOST_ROUNDS - 1)
            if choice.selected == before and contest.id in found:
                choice = found[contest.id].choice
            found[contest.id] = Chosen(contest, choice, others)
            if choice.selected != before:
                counts.subtract(before)
                counts.update(choice.selected)
                current[contest.id] = choice.selected
                moved = True
        playing = [contest for contest in playing if contest.restless]
        if not moved or not playing:
            break
    return found


def _without(counts: Mapping[str, int], own: Iterable[str]) -> dict[str, int]:
    others = dict(counts)
    for name in own:
        others[name] -= 1
    return others
