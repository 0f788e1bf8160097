"""Why a Placement chooses a cluster or not: the first step that decided it, as text.

The text completes the sentence "cluster X left placement Y because ..."; `rule` names the step: `removed`, `denied`,
`pending`, `deleting`, `set`, `predicate`, `taint`, `limit`, `spread`, `selected`, `frozen` or `kept`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import field
from datetime import datetime
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import MANAGED_CLUSTER
from muster.dataclass import dataclass
from muster.rules.effects.approval import Approvals
from muster.rules.placements.candidates import Candidates, is_candidate
from muster.rules.placements.choice import scores
from muster.rules.placements.scheduling import Schedule, Scheduled, schedule_all
from muster.rules.placements.shards import clusters_of
from muster.rules.placements.spec import NO_SELECT_IF_NEW
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.sets.stage import was_denied


@dataclass(frozen=True, slots=True)
class Score:
    """One prioritizer's score of one cluster."""

    prioritizer: str
    weight: int
    score: int


@dataclass(frozen=True, slots=True)
class Why:
    """One cluster and one Placement. `rank` counts from 1 among those that passed; 0 if it did not, or all were taken.

    `rule` and `text`: see `muster.rules.placements.reasons`. A cluster that passed sets, predicates and taints has
    scores; `total` is their weighted sum.
    """

    cluster: str
    selected: bool
    rule: str
    text: str
    scores: tuple[Score, ...] = field(default=())
    total: int = 0
    rank: int = 0


def why(fleet: FleetWithPolicies, now: datetime, placement: ObjectId) -> tuple[Why, ...]:
    """Return the reasons of every cluster by name, for an evaluated fleet or one before `placements` ran.

    Empty for a missing Placement. One that keeps its last decisions has no scores.
    """
    return _reasons(fleet, _schedule(fleet, now), placement)


def why_each(fleet: FleetWithPolicies, now: datetime, placements: Iterable[ObjectId]) -> Iterator[tuple[Why, ...]]:
    """Yield the same for each of some Placements, which are all scheduled once."""
    schedule = _schedule(fleet, now)
    yield from (_reasons(fleet, schedule, placement) for placement in placements)


#: What is said of the clusters that a Placement leaves out, by the rule.
_LEFT_OUT: Final = {
    "removed": "removed",
    "denied": "denied",
    "pending": "not accepted",
    "deleting": "being deleted",
    "set": "in none of its sets",
    "predicate": "matched by no predicate",
    "taint": "with a taint that is not tolerated",
    "limit": "beyond the number of clusters",
    "spread": "left out to keep the topologies even",
    "frozen": "frozen",
    "kept": "with an error",
}


def left_out(choices: Iterable[Why]) -> str:
    """Return how many clusters a Placement does not choose and why: `2 with a taint that is not tolerated, 1 denied`;
    empty for none.

    Upstream's condition PlacementSatisfied names predicates whatever excludes the clusters. This is true as of the
    instant of looking only, because time ends tolerations, so it is not part of the condition.
    """
    counts = Counter(choice.rule for choice in choices if not choice.selected)
    return ", ".join(f"{count} {_LEFT_OUT[rule]}" for rule, count in sorted(counts.items(), key=_most_first))


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _schedule(fleet: FleetWithPolicies, now: datetime) -> Schedule:
    return schedule_all(fleet, fleet.rules, Approvals.of(fleet, now), now, scored=True)


def _reasons(fleet: FleetWithPolicies, schedule: Schedule, placement: ObjectId) -> tuple[Why, ...]:
    names = {obj.id.name for obj in fleet.of(MANAGED_CLUSTER)} | clusters_of(schedule.previous.get(placement, ()))
    chosen = schedule.chosen.get(placement)
    if chosen is not None:
        return _scheduled(chosen, sorted(names))
    if placement not in fleet.objects:
        return ()
    remaining = schedule.kept.get(placement, frozenset())
    reasons = {name: removal_of(schedule.candidates, name) for name in sorted(names)}
    return tuple(Why(name, name in remaining, reason.rule, reason.text) for name, reason in reasons.items())


def _scheduled(chosen: Scheduled, names: list[str]) -> tuple[Why, ...]:
    task, choice = chosen.task, chosen.free or chosen.choice
    passing = choice.tolerated.passing
    values_by_prioritizer = [(p, scores(task.candidates, p, passing, choice.context)) for p in task.spec.prioritizers]
    by_name = {
        name: tuple(Score(p.name, p.weight, values[position]) for p, values in values_by_prioritizer)
        for position, name in enumerate(passing)
    }
    reasons = []
    for name in names:
        reason = reason_of(chosen, name)
        cluster_scores = by_name.get(name, ())
        total = sum(score.weight * score.score for score in cluster_scores)
        rank = choice.ranks.get(name, 0)
        reasons.append(Why(name, name in chosen.choice.selected, reason.rule, reason.text, cluster_scores, total, rank))
    return tuple(reasons)


@dataclass(frozen=True, slots=True)
class Reason:
    """The step that decided about a cluster, and its text."""

    rule: str
    text: str


def reason_of(chosen: Scheduled, name: str) -> Reason:
    """Return why a scheduled Placement chose a cluster, or did not."""
    task, choice = chosen.task, chosen.choice
    if name in chosen.held:
        stays = name in choice.selected
        return Reason("frozen", f"{chosen.held[name].reason}, so it {'stays' if stays else 'does not come'}")
    if name in task.kept:
        return Reason("kept", "its file has an error, so it stays")
    if name not in task.candidates.objects:
        return removal_of(task.candidates, name)
    if name not in task.eligible.available:
        return Reason("set", _no_set(chosen))
    if name in task.unread and name not in choice.tolerated.refused:
        verb = "stays" if name in choice.selected else "does not come"
        return Reason("kept", f"a score of it has an error, so it {verb}")
    if name not in task.eligible.matching:
        return Reason("predicate", "none of the placement's predicates matches it")
    if name in choice.tolerated.refused:
        return Reason("taint", _taint(chosen, name))
    if name in choice.selected:
        return Reason("selected", "it passes, and there is room for it")
    if task.spec.spread:
        return Reason("spread", "others were taken before it to keep the topologies even")
    return Reason("limit", _limit(chosen, name))


def removal_of(candidates: Candidates, name: str) -> Reason:
    """Return why a cluster is no candidate of any Placement."""
    obj = candidates.fleet.objects.get(MANAGED_CLUSTER.id(name))
    if candidates.uncertain(name):
        return Reason("kept", "its file has an error or cannot be read, so it stays where it was chosen")
    if obj is None:
        return Reason("removed", "there is no such cluster any more")
    if obj.deleting:
        return Reason("deleting", "it is being deleted")
    if not is_candidate(obj):
        if was_denied(candidates.fleet, obj.id):
            return Reason("denied", "the hub no longer accepts it")
        return Reason("pending", "the hub has not accepted it")
    return Reason("kept", "the placement keeps its last decisions")


def _no_set(chosen: Scheduled) -> str:
    clusters = chosen.task.eligible
    if not clusters.bound:
        return f"namespace {chosen.task.id.namespace} is bound to no set of clusters"
    if not clusters.sets:
        return "none of the sets that the placement names is bound to its namespace"
    return f"it is in none of the sets {', '.join(clusters.sets)}"


def _taint(chosen: Scheduled, name: str) -> str:
    taint = chosen.choice.tolerated.refused[name]
    if any(t.matches(*taint[:3]) for t in chosen.task.spec.tolerations):
        return f"the toleration of its taint {taint} has ended"
    new = " and it was not chosen before" if taint.effect == NO_SELECT_IF_NEW else ""
    return f"its taint {taint} is not tolerated{new}"


def _limit(chosen: Scheduled, name: str) -> str:
    choice = chosen.free or chosen.choice
    wanted = f"only {chosen.task.spec.wanted} wanted"
    if name in choice.tolerated.avoided:
        return f"{wanted}, and it has a PreferNoSelect taint that is not tolerated"
    return f"{wanted}, and others rank before it (it is number {choice.ranks[name]})"
