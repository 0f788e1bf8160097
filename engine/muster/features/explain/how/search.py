"""The search for ways: each candidate alone, then two together, each in a rehearsal; and waiting.

A candidate counts if a run with it brings the goal about now, or within a minute, and sooner than waiting does. They
are tried smallest first: what needs no change of a declared object, a field, then two changes. Waiting follows the
horizons of runs, as forecasts do.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from datetime import datetime, timedelta
from itertools import combinations, product
from typing import Final

from muster.data.ids import ObjectId
from muster.data.kinds import PLACEMENT, ROLLOUT
from muster.data.times import LAST, earliest, later
from muster.dataclass import dataclass
from muster.features.explain.how.candidates import Candidate, Steps
from muster.features.explain.how.conditions import to_turn
from muster.features.explain.how.goals import Goal, goal_of
from muster.features.explain.how.holders import to_release
from muster.features.explain.how.placements import to_choose
from muster.features.explain.how.rollouts import to_go_on
from muster.features.forecast.forecast import RenewingAgents, instants
from muster.features.whatif.rehearsal import Rehearsal, rehearsal
from muster.features.whatif.supposing import NotSupposable, Supposition, renew_ahead
from muster.fleet.fleet import Fleet
from muster.rules.policies.lazy import Evaluation, Witness
from muster.run.incremental import Wanted
from muster.run.progress import RunStep, doing

#: How many rehearsals of candidates are made, and how many pairs are shown.
MOST_TRIED: Final = 200
_MOST_PAIRS: Final = 5
#: How many of the nearest numbers are tried together with other numbers.
_NUMBERS_OF_PAIRS: Final = 3
#: How long a change may take to suffice, how long is waited, and how many instants are looked at.
_SOON: Final = timedelta(minutes=1)
_LONGEST: Final = timedelta(days=31)
MOST_INSTANTS: Final = 300


@dataclass(frozen=True, slots=True)
class Way:
    """Changes that suffice together. `at`: when, if not at once."""

    changes: tuple[Candidate, ...]
    at: datetime | None = None

    @property
    def text(self) -> str:
        """The changes in words."""
        return " and ".join(change.text for change in self.changes)


@dataclass(frozen=True, slots=True)
class WaysToGoal:
    """The ways to a goal, each alone. `wait`: when it comes about without new input; `renewing`: if all agents that
    renew their Leases keep doing so; None if not `until` an instant, which is `_LONGEST` from now, or sooner. `tried`:
    how many rehearsals were made, `limited`: there were more candidates."""

    goal: Goal
    ways: tuple[Way, ...] = ()
    wait: datetime | None = None
    renewing: datetime | None = None
    until: datetime | None = None
    tried: int = 0
    limited: bool = False


class _LimitReached(Exception):  # noqa: N818 - no error
    """No more rehearsals are made."""


def find_ways(trial: Rehearsal, fleet: Fleet, id_: ObjectId, field_: str, now: datetime, wanted: Wanted) -> WaysToGoal:
    """Find the ways for an object to reach what a field names. `trial`: after a step at `now`, and `fleet` its files;
    `wanted`: what a run must evaluate for the object. NoGoal."""
    witness = Witness(lambda other: other == id_)
    steady = trial.attempt({}, now, wanted, witness)
    goal = goal_of(fleet, steady.last.fleet.held, id_, field_)
    if goal.already:
        return WaysToGoal(goal)
    renewing, renewed_until = _waits(trial, goal, now, renew=True)
    wait, waited_until = _waits(trial, goal, now)
    search = _WaySearch(trial, fleet, goal, now, earliest(wait, renewing))
    limited = search.all(list(_candidates(fleet, goal, _latest(witness.seen), now)))
    until = min((until for at, until in ((wait, waited_until), (renewing, renewed_until)) if at is None), default=None)
    return WaysToGoal(goal, tuple(search.ways), wait, renewing, until, search.tried, limited)


def _latest(seen: Iterable[Evaluation]) -> list[Evaluation]:
    """The last evaluation of each expression."""
    return list({(evaluation.policy, evaluation.at): evaluation for evaluation in seen}.values())


def _candidates(fleet: Fleet, goal: Goal, seen: Sequence[Evaluation], now: datetime) -> Iterator[Candidate | Steps]:
    if ROLLOUT.has(goal.object):
        yield from to_go_on(fleet, goal, now)
    elif goal.condition is not None:
        yield from to_turn(fleet, goal, seen, now)
    else:
        for held in goal.held:
            yield from to_release(fleet, held, now)
        if PLACEMENT.has(goal.object) and goal.field in {obj.id.name for obj in fleet.clusters()}:
            yield from to_choose(fleet, goal.object, goal.field)


@dataclass
class _WaySearch:
    """Tries candidates. `before`: when waiting alone suffices."""

    trial: Rehearsal
    fleet: Fleet
    goal: Goal
    now: datetime
    before: datetime | None
    ways: list[Way] = field(default_factory=list)
    tried: int = 0
    _texts: set[str] = field(default_factory=set)

    def all(self, candidates: Sequence[Candidate | Steps]) -> bool:
        """Try all candidates. Returns whether there were more than may be tried."""
        try:
            for entry in candidates:
                if self._is_known(entry):
                    continue
                way = self._least(_alone(entry), _doubling)
                if way is not None:
                    self.ways.append(way)
            if not self.ways:
                self._pairs(candidates)
        except _LimitReached:
            return True
        return False

    def _is_known(self, entry: Candidate | Steps) -> bool:
        """Was it tried under the same words, or does a part of it suffice?"""
        tried_before, enough = entry.text in self._texts, {way.text for way in self.ways}
        self._texts.add(entry.text)
        return tried_before or (isinstance(entry, Candidate) and not enough.isdisjoint(entry.parts))

    def _pairs(self, candidates: Sequence[Candidate | Steps]) -> None:
        for first, second in combinations(candidates, 2):
            if len(self.ways) < _MOST_PAIRS and (way := self._pair(first, second)) is not None:
                self.ways.append(way)

    def _pair(self, first: Candidate | Steps, second: Candidate | Steps) -> Way | None:
        """Two changes together. A number beside another change is the nearest or the farthest one, or then between."""
        if isinstance(first, Steps) and isinstance(second, Steps):
            ways = (self._way(one, other) for one, other in product(_nearest(first), _nearest(second)))
            return next(filter(None, ways), None)
        both = [(*one, *other) for one, other in product(_alone(first), _alone(second))]
        return self._least(both, lambda count: (0, count - 1) if count > 1 else range(count))

    def _least(self, steps: Sequence[tuple[Candidate, ...]], tries: Callable[[int], Iterable[int]]) -> Way | None:
        """The smallest change that suffices: `tries` of so many steps, in their order, then halves of the last one."""
        below, above, way = -1, 0, None
        for above in tries(len(steps)):
            if (way := self._way(*steps[above])) is not None:
                break
            below = above
        while way is not None and above - below > 1:
            middle = (above + below) // 2
            nearer = self._way(*steps[middle])
            below, above, way = (below, middle, nearer) if nearer is not None else (middle, above, way)
        return way

    def _way(self, *candidates: Candidate) -> Way | None:
        """The candidates as a way, if they suffice."""
        if self.tried >= MOST_TRIED:
            raise _LimitReached
        self.tried += 1
        doing(RunStep.REHEARSING, self.tried)
        supposition = Supposition(self.fleet)
        try:
            for candidate in candidates:
                candidate.apply(supposition)
        except NotSupposable:
            return None
        edits = supposition.edits
        settled = self.trial.attempt(edits, self.now)
        if any(map(self.goal.reached, settled.changes)):
            return Way(candidates)
        until = min(self.now + _SOON, self.before or LAST)
        if settled.last.turn is None or settled.last.turn >= until:
            return None
        with _beside(self.trial) as ahead:
            ahead.suppose(edits)
            at, _ = _first(ahead, self.goal, self.now, until)
        return None if at is None or at >= until else Way(candidates, at)


def _alone(entry: Candidate | Steps) -> list[tuple[Candidate, ...]]:
    return [(step,) for step in entry.candidates] if isinstance(entry, Steps) else [(entry,)]


def _doubling(count: int) -> Iterator[int]:
    """Numbers of steps, of so many: the first, then twice as far each time, and the last."""
    at = 0
    while at < count - 1:
        yield at
        at = 2 * at + 1
    yield from range(count)[-1:]


def _nearest(entry: Steps) -> Sequence[Candidate]:
    return entry.candidates[:_NUMBERS_OF_PAIRS]


@contextmanager
def _beside(trial: Rehearsal) -> Iterator[Rehearsal]:
    """A rehearsal that goes on from another one, which stays as it is."""
    state = trial.state.path if trial.state is not None else None
    with rehearsal(trial.repository, trial.commit, trial.heard, state, trial.memory) as beside:
        yield beside


def _waits(trial: Rehearsal, goal: Goal, now: datetime, *, renew: bool = False) -> tuple[datetime | None, datetime]:
    """When time alone reaches the goal, and up to which instant that was tried; with `renew` while all agents renew
    that do so now."""
    until = later(now, _LONGEST) or LAST
    with _beside(trial) as ahead:
        if renew:
            agents = RenewingAgents.of(ahead, ("*",), now)
            supposition = Supposition(agents.fleet)
            renew_ahead(supposition, agents.agents, until)
            ahead.suppose(supposition.edits)
        return _first(ahead, goal, now, until)


def _first(ahead: Rehearsal, goal: Goal, now: datetime, until: datetime) -> tuple[datetime | None, datetime]:
    """The first instant at which a run reaches the goal, and up to which instant runs were made."""
    at = now
    for number, (at, settled) in enumerate(instants(ahead, now, until)):
        if any(map(goal.reached, settled.changes)):
            return at, at
        if number >= MOST_INSTANTS:
            return None, at
    return None, until
