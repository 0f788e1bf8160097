"""Scores, from -100 to 100 per prioritizer; a cluster's rank is the sum of scores times weights.

Source: upstream's plugins balance, steady, resource and addon. Balance counts what other Placements have chosen: as
decided in this run, or before it for those whose turn comes later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from muster.data.times import second_after
from muster.rules.placements.candidates import NO_SCORES, Candidates
from muster.rules.placements.spec import BALANCE, CPU, MEMORY, STEADY, Prioritizer

MOST = 100
_RESOURCES = {CPU: "cpu", MEMORY: "memory"}

#: The score of each cluster, in the order of the names that were asked for. Lists, because positions cost less than
#: names where there are a million of them.
Scores = list[int]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What scores of one Placement depend on besides the clusters.

    `others`: how many other Placements have chosen a cluster; `standing`: what this one has chosen so far.
    """

    others: Mapping[str, int]
    standing: frozenset[str]
    now: datetime


def scores(candidates: Candidates, prioritizer: Prioritizer, names: Sequence[str], around: Surroundings) -> Scores:
    """Return the score of each cluster; one that has none gets 0."""
    if prioritizer.add_on is not None:
        return _add_on(candidates, prioritizer.add_on, names, around.now)
    if prioritizer.name == BALANCE:
        return _balance(names, around)
    if prioritizer.name == STEADY:
        return [MOST if name in around.standing else 0 for name in names]
    return _resource(candidates.allocatable(_RESOURCES[prioritizer.name]), names)


def totals(
    candidates: Candidates, prioritizers: Iterable[Prioritizer], names: Sequence[str], around: Surroundings
) -> Scores:
    """Return the weighted sum for each cluster."""
    sums = [0] * len(names)
    for prioritizer in prioritizers:
        if weight := effective_weight(prioritizer):
            given = scores(candidates, prioritizer, names, around)
            sums = [total + weight * score for total, score in zip(sums, given, strict=True)]
    return sums


def effective_weight(prioritizer: Prioritizer) -> int:
    """The weight; a negative one of Steady counts as 0, because it would move the clusters in every run for ever."""
    return max(prioritizer.weight, 0) if prioritizer.name == STEADY else prioritizer.weight


def _balance(names: Iterable[str], around: Surroundings) -> Scores:
    others = around.others
    most = max(others.values(), default=0)
    by_count = [MOST, *(2 * int(MOST * (0.5 - count / most)) for count in range(1, most + 1))]
    return [by_count[others.get(name, 0)] for name in names]


def _resource(amounts: Mapping[str, float], names: Iterable[str]) -> Scores:
    given = [amounts.get(name) for name in names]
    known = [amount for amount in given if amount is not None]
    if not known:
        return [0] * len(given)
    least, span = min(known), max(known) - min(known)
    if not span:
        return [0 if amount is None else MOST for amount in given]
    return [0 if amount is None else int(((amount - least) / span - 0.5) * 2.0 * MOST) for amount in given]


def _add_on(candidates: Candidates, add_on: tuple[str, str], names: Iterable[str], now: datetime) -> Scores:
    resource, score = add_on
    reported = candidates.reported_scores(resource)
    return [reported.get(name, NO_SCORES).value(score, now) for name in names]


def expiries(candidates: Candidates, prioritizers: Iterable[Prioritizer], names: Iterable[str]) -> set[datetime]:
    """The first whole seconds at which scores of these clusters no longer count."""
    resources = {p.add_on[0] for p in prioritizers if p.add_on is not None}
    if not resources:
        return set()
    everyone = tuple(names)
    reported = [candidates.reported_scores(resource) for resource in sorted(resources)]
    known = [scores[name] for scores in reported for name in everyone if name in scores]
    instants = {scores.until for scores in known if scores.until is not None}
    return {over for instant in instants if (over := second_after(instant)) is not None}
