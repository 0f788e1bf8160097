"""`why`: of every cluster, what let a Placement choose it or kept it from doing so, as data."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.rules.placements.contests import Chosen, Contests, hold
from muster.rules.placements.prioritizers import scores
from muster.rules.placements.reasons import reason_of, removal_of
from muster.rules.placements.standing import clusters_of
from muster.rules.policies.in_force import Ruled


@dataclass(frozen=True, slots=True)
class Score:
    """One prioritizer's score of one cluster."""

    prioritizer: str
    weight: int
    score: int


@dataclass(frozen=True, slots=True)
class Why:
    """One cluster and one Placement. `rank` counts from 1 among those that passed; 0 where it did not, or all do.

    `rule` and `text` are those of `muster.rules.placements.reasons`. A cluster that passed sets, predicates and
    taints has its scores; `total` is their weighted sum.
    """

    cluster: str
    selected: bool
    rule: str
    text: str
    scores: tuple[Score, ...] = field(default=())
    total: int = 0
    rank: int = 0


def why(fleet: Ruled, now: datetime, placement: ObjectId) -> tuple[Why, ...]:
    """Return the reasons of every cluster, sorted by name; of an evaluated fleet, or of one before `placements` ran.

    Empty for a Placement that does not exist. One that keeps its last decisions has no scores.
    """
    return _why(fleet, hold(fleet, fleet.rules, now, scored=True), placement)


def why_each(fleet: Ruled, now: datetime, placements: Iterable[ObjectId]) -> Iterator[tuple[Why, ...]]:
    """Yield the same for each of some Placements: all of them choose once, however many are asked about."""
    contests = hold(fleet, fleet.rules, now, scored=True)
    yield from (_why(fleet, contests, placement) for placement in placements)


def _why(fleet: Ruled, contests: Contests, placement: ObjectId) -> tuple[Why, ...]:
    names = {obj.id.name for obj in fleet.of(MANAGED_CLUSTER)} | clusters_of(contests.standing.get(placement, ()))
    chosen = contests.chosen.get(placement)
    if chosen is not None:
        return _scheduled(chosen, sorted(names))
    if placement not in fleet.objects:
        return ()
    kept = contests.kept.get(placement, frozenset())
    reasons = {name: removal_of(contests.candidates, name) for name in sorted(names)}
    return tuple(Why(name, name in kept, reason.rule, reason.text) for name, reason in reasons.items())


def _scheduled(chosen: Chosen, names: list[str]) -> tuple[Why, ...]:
    contest, choice = chosen.contest, chosen.choice
    passing = choice.tolerated.passing
    given = [(p, scores(contest.candidates, p, passing, choice.around)) for p in contest.spec.prioritizers]
    by_name = {
        name: tuple(Score(p.name, p.weight, values[position]) for p, values in given)
        for position, name in enumerate(passing)
    }
    found = []
    for name in names:
        reason = reason_of(chosen, name)
        own = by_name.get(name, ())
        total = sum(score.weight * score.score for score in own)
        rank = choice.ranks.get(name, 0)
        found.append(Why(name, name in choice.selected, reason.rule, reason.text, own, total, rank))
    return tuple(found)
