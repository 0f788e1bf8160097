"""The choice of one Placement at one instant: tolerate, score, rank, select.

Scores are from -100 to 100 per prioritizer; a cluster's rank follows from the sum of scores times weights.

Source: upstream's plugins balance, steady, resource and addon. Balance counts what other Placements have chosen: in
this run, or before it for those that come later.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property

from muster.data.ids import ObjectId
from muster.data.times import second_after
from muster.dataclass import dataclass
from muster.rules.placements.candidates import NO_SCORES, Candidates
from muster.rules.placements.filters import Eligible, Tolerated, eligible, tolerated
from muster.rules.placements.policy import Predicate
from muster.rules.placements.spec import BALANCE, CPU, MEMORY, STEADY, PlacementSpec, Prioritizer, TolerationLimits
from muster.rules.placements.spread import spread_out

MOST = 100
_RESOURCES = {CPU: "cpu", MEMORY: "memory"}

#: The scores of clusters, in the order of their names. Lists, because positions cost less than names for a million of
#: them.
Scores = list[int]


@dataclass(frozen=True, slots=True)
class ScoringContext:
    """What scores of one Placement depend on besides the clusters.

    `others`: how many other Placements have chosen a cluster; `previous`: what this one has chosen so far.
    """

    others: Mapping[str, int]
    previous: frozenset[str]
    now: datetime


def scores(candidates: Candidates, prioritizer: Prioritizer, names: Sequence[str], context: ScoringContext) -> Scores:
    """Return the score of each cluster; 0 without one."""
    if prioritizer.add_on is not None:
        return _add_on(candidates, prioritizer.add_on, names, context.now)
    if prioritizer.name == BALANCE:
        return _balance(names, context)
    if prioritizer.name == STEADY:
        return [MOST if name in context.previous else 0 for name in names]
    return _resource(candidates.allocatable(_RESOURCES[prioritizer.name]), names)


def totals(
    candidates: Candidates, prioritizers: Iterable[Prioritizer], names: Sequence[str], context: ScoringContext
) -> Scores:
    """Return the weighted sum for each cluster."""
    sums = [0] * len(names)
    for prioritizer in prioritizers:
        if weight := effective_weight(prioritizer):
            values = scores(candidates, prioritizer, names, context)
            sums = [total + weight * score for total, score in zip(sums, values, strict=True)]
    return sums


def effective_weight(prioritizer: Prioritizer) -> int:
    """The weight; a negative one of Steady counts as 0, because it would move the clusters in every run."""
    return max(prioritizer.weight, 0) if prioritizer.name == STEADY else prioritizer.weight


def _balance(names: Iterable[str], context: ScoringContext) -> Scores:
    others = context.others
    most = max(others.values(), default=0)
    by_count = [MOST, *(2 * int(MOST * (0.5 - count / most)) for count in range(1, most + 1))]
    return [by_count[others.get(name, 0)] for name in names]


def _resource(amounts: Mapping[str, float], names: Iterable[str]) -> Scores:
    by_cluster = [amounts.get(name) for name in names]
    reported = [amount for amount in by_cluster if amount is not None]
    if not reported:
        return [0] * len(by_cluster)
    least, span = min(reported), max(reported) - min(reported)
    if not span:
        return [0 if amount is None else MOST for amount in by_cluster]
    return [0 if amount is None else int(((amount - least) / span - 0.5) * 2.0 * MOST) for amount in by_cluster]


def _add_on(candidates: Candidates, add_on: tuple[str, str], names: Iterable[str], now: datetime) -> Scores:
    resource, score = add_on
    reported = candidates.reported_scores(resource)
    return [reported.get(name, NO_SCORES).value(score, now) for name in names]


def expiries(candidates: Candidates, prioritizers: Iterable[Prioritizer], names: Iterable[str]) -> set[datetime]:
    """The first whole seconds at which scores of these clusters no longer count."""
    resources = {p.add_on[0] for p in prioritizers if p.add_on is not None}
    if not resources:
        return set()
    all_names = tuple(names)
    reported = [candidates.reported_scores(resource) for resource in sorted(resources)]
    counted = [scores[name] for scores in reported for name in all_names if name in scores]
    instants = {scores.until for scores in counted if scores.until is not None}
    return {over for instant in instants if (over := second_after(instant)) is not None}


@dataclass(frozen=True, slots=True)
class FrozenMoves:
    """The clusters that a freeze lets neither leave a Placement (`staying`) nor come to it (`barred`)."""

    staying: frozenset[str] = frozenset()
    barred: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """Is any cluster's move frozen?"""
        return bool(self.staying or self.barred)


FREE = FrozenMoves()


@dataclass(frozen=True)
class PlacementChoice:
    """The choice and its basis. `kept`: clusters that stay, because their files cannot be read or by a freeze.

    `ranked`: the clusters that passed, best first; empty if all of them were taken.
    """

    tolerated: Tolerated
    context: ScoringContext
    ranked: tuple[str, ...]
    kept: frozenset[str]
    selected: frozenset[str]

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """The rank of each cluster in `ranked`, from 1."""
        return {name: rank for rank, name in enumerate(self.ranked, start=1)}


@dataclass(frozen=True)
class PlacementTask:
    """One Placement with its eligible clusters: what does not depend on time or on other Placements.

    `unread`: the clusters with a score that it reads and that has an error; they neither come nor leave by their rank.
    """

    id: ObjectId
    spec: PlacementSpec
    candidates: Candidates
    eligible: Eligible
    previous: frozenset[str]
    limits: TolerationLimits
    unread: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        candidates: Candidates,
        id_: ObjectId,
        spec: PlacementSpec,
        predicates: Iterable[Predicate],
        previous: frozenset[str],
        unread: frozenset[str] = frozenset(),
    ) -> "PlacementTask":
        """Apply sets and predicates; `previous`: the last run's choice."""
        clusters = eligible(candidates, id_.namespace, spec.cluster_sets, predicates)
        if unread:
            matching = (clusters.matching - unread) | (clusters.available & previous & unread)
            clusters = replace(
                clusters, matching=matching, names=tuple(filter(matching.__contains__, candidates.names))
            )
        return cls(id_, spec, candidates, clusters, previous, TolerationLimits(spec.tolerations), unread)

    @cached_property
    def kept(self) -> frozenset[str]:
        """The chosen clusters that are no candidates because their files cannot be read."""
        lost = self.previous - self.candidates.objects.keys()
        return frozenset(name for name in lost if self.candidates.uncertain(name))

    @cached_property
    def limited_choice(self) -> bool:
        """Can other Placements, or the present choice, change the choice?"""
        return self.spec.limited

    def choose(self, context: ScoringContext, *, sticky: bool = False, frozen: FrozenMoves = FREE) -> PlacementChoice:
        """Choose clusters. `sticky` ranks the present choice first, to end an endless exchange between Placements."""
        tolerance = tolerated(self.candidates, self.eligible, self.limits, context.previous, context.now)
        kept = self.kept
        if self.unread:
            kept |= self.unread.intersection(tolerance.passing)
            tolerance = replace(tolerance, passing=tuple(name for name in tolerance.passing if name not in kept))
        if frozen:
            kept |= frozen.staying
            excluded = kept | frozen.barred
            tolerance = replace(tolerance, passing=tuple(name for name in tolerance.passing if name not in excluded))
        passing, room = tolerance.passing, self._room(tolerance, kept)
        if room is None:
            return PlacementChoice(tolerance, context, (), kept, kept.union(passing))
        scores = totals(self.candidates, self.spec.prioritizers, passing, context)
        ranked = _ranked(passing, scores, tolerance.avoided, context.previous if sticky else frozenset())
        constraints = self.spec.spread
        taken = spread_out(self.candidates, ranked, room, constraints) if constraints else ranked[:room]
        return PlacementChoice(tolerance, context, tuple(ranked), kept, kept.union(taken))

    def _room(self, tolerance: Tolerated, kept: frozenset[str]) -> int | None:
        """How many clusters may be taken; None for all that pass, whatever their rank."""
        wanted = self.spec.wanted
        room = len(tolerance.passing) if wanted is None else max(0, wanted - len(kept))
        hard = any(constraint.hard for constraint in self.spec.spread)
        return None if room >= len(tolerance.passing) and not hard else room

    def horizon(
        self, choice: PlacementChoice, others: Mapping[str, int], chosen: frozenset[str], frozen: FrozenMoves = FREE
    ) -> datetime | None:
        """The first second at which time alone changes the choice; `others`: the final choices of other Placements;
        `chosen`: what this one has chosen in the end, which is the choice itself unless a freeze holds moves.

        The end of a toleration that a chosen cluster needs is certain to change it. Other instants (a preference, an
        add-on's scores, a rival's toleration) matter only if there are more clusters than room; then the choice is
        tried at each, at most `_MOST_TRIALS` times, and the next instant is taken untried.
        """
        ends = choice.tolerated.ends
        certain = min((ends[name] for name in choice.selected - choice.kept if name in ends), default=None)
        if len(choice.selected - choice.kept) == len(choice.tolerated.passing) and choice.selected <= chosen:
            return certain  # all that pass were chosen before, too: nothing else can exclude one
        turns = choice.tolerated.turns | set(ends.values())
        turns |= expiries(self.candidates, self.spec.prioritizers, choice.tolerated.passing)
        ahead = sorted(t for t in turns if t > choice.context.now and (certain is None or t < certain))
        for trial, instant in enumerate(ahead):
            later = ScoringContext(others, chosen, instant)
            if trial >= _MOST_TRIALS or self.choose(later, frozen=frozen).selected != choice.selected:
                return instant
        return certain


_MOST_TRIALS = 32


def _ranked(names: Sequence[str], scores: Sequence[int], avoided: frozenset[str], first: frozenset[str]) -> list[str]:
    """By score, best first, then by name; avoided clusters last, and `first` before all others."""
    order = sorted(range(len(names)), key=scores.__getitem__, reverse=True)  # stable: the names are sorted
    ranked = [names[position] for position in order]
    if avoided:
        ranked.sort(key=avoided.__contains__)
    if first:
        ranked.sort(key=lambda name: name not in first)
    return ranked
