"""The actions that Remedies request on a cluster, by its present conditions (seed 003).

Silence is no recovery: while the condition behind an action has no new input, the action is still requested, until
there is input, or no Remedy has the match any more (`muster.rules.remedies.grounds`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import TypeVar

from muster import cel
from muster.data.decision import Failed
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS, REMEDY
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.stale_input import StaleInput, StaleInputs, conditions_of, record_reads
from muster.rules.effects.budget import in_service
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import Variables
from muster.rules.policies.scopes import Scopes
from muster.rules.remedies.grounds import (
    EarlierActions,
    Ground,
    Pair,
    RequestedActions,
    matched,
    merged,
    stale_matches,
)
from muster.rules.remedies.policy import ConditionMatch, Remedy
from muster.rules.stages import GoverningObjects, Local

K = TypeVar("K")


@dataclass(frozen=True)
class Index:
    """The Remedies by their clusters: all, all with an expression, or named ones; and by their matches, expressions by
    their digests.

    Those for all clusters are matched once per combination of statuses: a thousand Remedies over ten thousand clusters
    meet few combinations.
    """

    everywhere: tuple[Remedy, ...]
    with_expressions: tuple[Remedy, ...]
    named: Mapping[str, tuple[Remedy, ...]]
    types: frozenset[str]
    by_match: Mapping[ConditionMatch | str, tuple[Remedy, ...]]
    _matched: dict[frozenset[tuple[str, str]], tuple[Remedy, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, remedies: Iterable[Remedy]) -> "Index":
        """Index the Remedies that have actions."""
        named: dict[str, list[Remedy]] = {}
        by_match: dict[ConditionMatch | str, list[Remedy]] = {}
        everywhere = []
        for remedy in remedies:
            if not remedy.actions:
                continue
            for match in _matches(remedy.matches, (expression.ground for expression in remedy.expressions)):
                by_match.setdefault(match, []).append(remedy)
            if remedy.clusters is None:
                everywhere.append(remedy)
            for cluster in remedy.clusters or ():
                named.setdefault(cluster, []).append(remedy)
        types = frozenset(match.type for remedy in everywhere for match in remedy.matches)
        conditional = tuple(remedy for remedy in everywhere if remedy.expressions)
        return cls(tuple(everywhere), conditional, _tuples(named), types, _tuples(by_match))

    def matching(self, cluster: str, statuses: Mapping[str, str]) -> list[Remedy]:
        """The Remedies that act on a cluster by its conditions alone, given as status by type."""
        key = frozenset(item for item in statuses.items() if item[0] in self.types)
        if key not in self._matched:
            self._matched[key] = tuple(remedy for remedy in self.everywhere if _acts(remedy, statuses))
        return [*self._matched[key], *(remedy for remedy in self.named.get(cluster, ()) if _acts(remedy, statuses))]

    def expressive(self, cluster: str) -> Iterator[Remedy]:
        """The Remedies for a cluster that have expressions."""
        yield from self.with_expressions
        yield from (remedy for remedy in self.named.get(cluster, ()) if remedy.expressions)


def _acts(remedy: Remedy, statuses: Mapping[str, str]) -> bool:
    """One match is enough, and without any the Remedy acts at once."""
    return remedy.immediate or any(
        match.type in statuses and match.holds(statuses[match.type]) for match in remedy.matches
    )


def _matches(matches: Iterable[ConditionMatch], expressions: Iterable[str]) -> Iterator[ConditionMatch | str]:
    yield from matches
    yield from expressions


def _tuples(lists: Mapping[K, list[Remedy]]) -> Mapping[K, tuple[Remedy, ...]]:
    return {key: tuple(remedies) for key, remedies in lists.items()}


@dataclass(frozen=True, slots=True)
class _Answer:
    """The results of a Remedy's expressions, by their digests: those that hold; those that do not, or failed, and end
    nothing, each with the stale conditions that it read."""

    holding: frozenset[str]
    open: Mapping[str, frozenset[str]]


_NO_ANSWER = _Answer(frozenset(), {})


def stage(
    view: View, now: datetime, rules: InForce, governing: GoverningObjects
) -> Iterator[RequestedActions | Failed | Finding]:
    """Decide the requested actions of each cluster; none for one that is not accepted, or is being deleted."""
    scopes, stale_inputs, failures = (
        Scopes.of(view, rules, now),
        StaleInputs.of(view, rules, now),
        Failures(),
    )
    remedies = Remedies.of(view, governing, scopes, stale_inputs, failures)

    def requested(obj: Object) -> Iterator[RequestedActions]:
        if in_service(obj) and (request := remedies.request(obj)) != RequestedActions(obj.id):
            yield request

    yield from each(view.clusters(), requested)
    yield from failures.failed


@dataclass(frozen=True, slots=True)
class Remedies:
    """Evaluates the Remedies of one run for clusters."""

    view: View
    shared: View
    index: Index
    scopes: Scopes
    stale_inputs: StaleInputs
    failures: Failures
    _by_name: Mapping[str, Remedy]

    @classmethod
    def of(
        cls, view: View, governing: GoverningObjects, scopes: Scopes, stale_inputs: StaleInputs, failures: Failures
    ) -> "Remedies":
        """Prepare for the clusters of a view."""
        remedies = scopes.rules.compiled.of(Remedy)
        by_name = {remedy.id.name: remedy for remedy in remedies}
        return cls(view, governing, Index.of(remedies), scopes, stale_inputs, failures, by_name)

    def request(self, obj: Object) -> RequestedActions:
        """The requested actions on a cluster in service."""
        self.scopes.clock.reset()
        conditions = conditions_of(self.view, obj.id)
        statuses = {type_: str(condition.get("status")) for type_, condition in conditions.items()}
        earlier = EarlierActions.of(self.view, obj.id, self._is_gone)
        remedies = {remedy.id: remedy for remedy in self.index.matching(obj.id.name, statuses)}
        remedies.update((remedy.id, remedy) for remedy in self.index.expressive(obj.id.name))
        remedies.update((remedy.id, remedy) for remedy in self._with_grounds(obj, earlier))
        # An error in a Remedy is no recovery: its requests stay, and budgets count them.
        wanted = {pair for pair in earlier.pairs if self.shared.is_unread(REMEDY.id(pair[1]))}
        possible, grounds, stale_types = set[Pair](), {}, set[str]()
        doubt = self.stale_inputs.about(obj) if remedies else None
        scope: Variables | None = None
        for remedy in remedies.values():
            assert doubt is not None
            name, before = remedy.id.name, earlier.actions(remedy) if earlier.pairs else {}
            possible.update((action, name) for action in before)
            answer = _NO_ANSWER
            if remedy.expressions:
                if scope is None:
                    scope = self.scopes.base(obj)
                    scope["conditions"] = conditions
                answer = self._answer(remedy, obj, scope, doubt)
            held = Ground(frozenset(matched(remedy, statuses)), answer.holding)
            remaining = {action: _remaining(remedy, ground, doubt, answer) for action, ground in before.items()}
            if remedy.immediate or held.present:
                wanted.update((action, name) for action in remedy.actions)
            else:
                wanted.update((action, name) for action, ground in remaining.items() if ground.present)
                stale_types.update(_stale_types(remaining.values(), answer))
            present = (held, *remaining.values())
            if remedy.immediate or any(ground.present for ground in present):
                grounds[name] = merged(present)
            elif before:
                grounds[name] = merged(before.values())
        at_once = frozenset(action for remedy in remedies.values() if remedy.immediate for action in remedy.actions)
        return RequestedActions(
            obj.id,
            frozenset(wanted),
            grounds,
            frozenset(possible),
            frozenset(stale_types),
            at_once,
            self.scopes.clock.horizon,
        )

    def _is_gone(self, name: str) -> bool:
        """Is there no Remedy of this name any more, nor possibly one in an unreadable file?"""
        return name not in self._by_name and not self.shared.is_unread(REMEDY.id(name))

    def _with_grounds(self, obj: Object, earlier: EarlierActions) -> Iterator[Remedy]:
        """The Remedies that may have a match because of which an action was requested in the last run."""
        for name in {name for _, name in earlier.pairs}:
            ground = earlier.grounds.get(name)
            remedies = [self._by_name[name]] if name in self._by_name else []
            if ground is not None and ground.earlier is None:
                for match in _matches(ground.matches, ground.expressions):
                    remedies.extend(self.index.by_match.get(match, ()))
            elif self._is_gone(name):
                remedies.extend(self._by_name.values())
            yield from (remedy for remedy in remedies if remedy.actions and remedy.selects(obj.id.name))

    def _answer(self, remedy: Remedy, obj: Object, scope: Variables, doubt: StaleInput) -> _Answer:
        """The results of the expressions. A failed one does not hold, but ends nothing; nor does one that read stale
        conditions, unless it handles silence itself."""
        holding, open_ = set(), {}
        budget, note = cel.CostBudget(self.scopes.rules.share(CLUSTERS)), self.scopes.note(remedy.id, obj.id)
        for expression in remedy.expressions:
            recorded_scope = Variables(scope.__getitem__)
            watched = () if expression.handles_silence else record_reads(recorded_scope, doubt)
            result = expression.when.run(recorded_scope, clock=self.scopes.clock, budget=budget, trace=note is not None)
            if note is not None:
                note.take(expression.when, expression.at, result)
            stale_types = frozenset(type_ for reads in watched for type_ in reads.stale_types)
            if result.error is not None:
                self.failures.add(remedy, PolicyFailure(remedy.id.name, expression.at, result.error), obj.id)
                open_[expression.ground] = stale_types
            elif result.value is True:
                holding.add(expression.ground)
            elif stale_types:
                open_[expression.ground] = stale_types
        return _Answer(frozenset(holding), open_)


def _remaining(remedy: Remedy, before: Ground, doubt: StaleInput, answer: _Answer) -> Ground:
    """The part of a ground that does not hold now, and that nothing new has ended."""
    return Ground(stale_matches(remedy, before, doubt), before.expressions & answer.open.keys())


def _stale_types(grounds: Iterable[Ground], answer: _Answer) -> Iterator[str]:
    for ground in grounds:
        yield from ground.types
        for digest in ground.expressions:
            yield from answer.open[digest]


STAGE = Local("requested actions", stage, foundation=True)
