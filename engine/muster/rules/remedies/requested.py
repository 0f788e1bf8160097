"""The actions that Remedies request on a cluster, by its present conditions (seed 003).

Silence is no recovery: while the condition behind an action has no new input, the action is still requested, until
there is input or the Remedy changes (`muster.rules.remedies.grounds`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import datetime

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
from muster.rules.policies.lazy import Variables
from muster.rules.policies.scopes import Scopes
from muster.rules.remedies.grounds import (
    Ground,
    Pair,
    RequestedActions,
    digest_of,
    grounds_before,
    matched,
    pairs_before,
    stale_matches,
)
from muster.rules.remedies.policy import Remedy
from muster.rules.stages import Context, Local


@dataclass(frozen=True)
class Index:
    """The Remedies by their clusters: all, all with an expression, or named ones.

    Those for all clusters are matched once per combination of statuses: a thousand Remedies over ten thousand clusters
    meet few combinations.
    """

    everywhere: tuple[Remedy, ...]
    with_expressions: tuple[Remedy, ...]
    named: Mapping[str, tuple[Remedy, ...]]
    types: frozenset[str]
    _matched: dict[frozenset[tuple[str, str]], tuple[Remedy, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, remedies: Iterable[Remedy]) -> "Index":
        """Index the Remedies that have actions."""
        named: dict[str, list[Remedy]] = {}
        everywhere = []
        for remedy in remedies:
            if not remedy.actions:
                continue
            if remedy.clusters is None:
                everywhere.append(remedy)
            for cluster in remedy.clusters or ():
                named.setdefault(cluster, []).append(remedy)
        types = frozenset(match.type for remedy in everywhere for match in remedy.matches)
        conditional = tuple(remedy for remedy in everywhere if remedy.expressions)
        return cls(tuple(everywhere), conditional, {name: tuple(found) for name, found in named.items()}, types)

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


@dataclass(frozen=True, slots=True)
class _Answer:
    """The result of a Remedy's expressions: one holds, one failed, or those that do not hold read stale conditions."""

    holds: bool = False
    failed: bool = False
    stale_types: frozenset[str] = frozenset()

    @property
    def open(self) -> bool:
        return self.failed or bool(self.stale_types)


def stage(view: View, context: Context, now: datetime) -> Iterator[RequestedActions | Failed | Finding]:
    """Decide the requested actions of each cluster; none for one that is not accepted, or is being deleted."""
    scopes, stale_inputs, failures = (
        Scopes.of(view, context.rules, now),
        StaleInputs.of(view, context.rules, now),
        Failures(),
    )
    remedies = Remedies.of(view, context, scopes, stale_inputs, failures)

    def requested(obj: Object) -> Iterator[RequestedActions]:
        if in_service(obj) and (found := remedies.request(obj)) != RequestedActions(obj.id):
            yield found

    yield from each(view.clusters(), requested)
    yield from failures.seen


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
    _digests: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, view: View, context: Context, scopes: Scopes, stale_inputs: StaleInputs, failures: Failures
    ) -> "Remedies":
        """Prepare for the clusters of a view."""
        remedies = context.rules.compiled.of(Remedy)
        by_name = {remedy.id.name: remedy for remedy in remedies}
        return cls(view, context.shared, Index.of(remedies), scopes, stale_inputs, failures, by_name)

    def request(self, obj: Object) -> RequestedActions:
        """The requested actions on a cluster in service."""
        self.scopes.clock.reset()
        conditions = conditions_of(self.view, obj.id)
        statuses = {type_: str(condition.get("status")) for type_, condition in conditions.items()}
        pairs, known = self._before(obj)
        standing = dict(self._unchanged(obj, pairs, known))
        matching = {remedy.id: remedy for remedy in self.index.matching(obj.id.name, statuses)}
        matching.update((remedy.id, remedy) for remedy in self.index.expressive(obj.id.name))
        matching.update((self._by_name[name].id, self._by_name[name]) for name in standing)
        wanted, grounds, stale_types = set(self._retained(pairs)), {}, set[str]()
        doubt = self.stale_inputs.about(obj) if matching else None
        scope: Variables | None = None
        for remedy in matching.values():
            assert doubt is not None
            name, before = remedy.id.name, standing.get(remedy.id.name)
            held = frozenset(matched(remedy, statuses))
            kept = stale_matches(remedy, before, doubt)
            expression = _Answer()
            if remedy.expressions and not held:
                if scope is None:
                    scope = self.scopes.base(obj)
                    scope["conditions"] = conditions
                expression = self._answer(remedy, obj, scope, doubt)
            stays = before is not None and before.expression and expression.open
            ground = Ground(self._digest(remedy), held | kept, expression.holds or stays)
            if remedy.immediate or held or expression.holds:
                wanted.update((action, name) for action in remedy.actions)
            elif ground.present:
                wanted.update(pair for pair in pairs if pair[1] == name and pair[0] in remedy.actions)
                stale_types.update(kept or expression.stale_types)
            else:
                continue
            grounds[name] = ground
        could = (pair for pair in pairs if pair[1] in standing and pair[0] in self._by_name[pair[1]].actions)
        at_once = frozenset(action for remedy in matching.values() if remedy.immediate for action in remedy.actions)
        return RequestedActions(
            obj.id, frozenset(wanted), grounds, frozenset(could), frozenset(stale_types), at_once,
            self.scopes.clock.horizon,
        )  # fmt: skip

    def _digest(self, remedy: Remedy) -> str:
        if remedy.id.name not in self._digests:
            self._digests[remedy.id.name] = digest_of(remedy)
        return self._digests[remedy.id.name]

    def _before(self, obj: Object) -> tuple[list[Pair], Mapping[str, Ground]]:
        """The last run's actions with their Remedies, and the grounds, by the Remedies' present names."""
        pairs = pairs_before(self.view, obj.id)
        if not pairs:
            return pairs, {}
        known = grounds_before(self.view.previous.get(obj.id))
        names = {name: self._name_now(obj, name, known.get(name)) for _, name in pairs}
        now = sorted({(action, names[name]) for action, name in pairs})
        return now, {names[name]: known[name] for name in sorted(names) if name in known}

    def _name_now(self, obj: Object, name: str, ground: Ground | None) -> str:
        """The present name of the Remedy called `name`: another one if an equal Remedy has replaced it."""
        if name in self._by_name or ground is None or self._may_be_unreadable(name):
            return name
        same = (one for one in self._by_name.values() if one.actions and one.selects(obj.id.name))
        return min((one.id.name for one in same if self._digest(one) == ground.digest), default=name)

    def _unchanged(
        self, obj: Object, pairs: Iterable[Pair], known: Mapping[str, Ground]
    ) -> Iterator[tuple[str, Ground]]:
        """The Remedies that acted on the cluster in the last run, are unchanged, and still select it."""
        for name in {name for _, name in pairs}:
            remedy = self._by_name.get(name)
            if remedy is None or not remedy.actions or not remedy.selects(obj.id.name):
                continue
            ground = known.get(name, Ground(self._digest(remedy), None, expression=True))
            if ground.digest == self._digest(remedy):
                yield name, ground

    def _answer(self, remedy: Remedy, obj: Object, scope: Variables, doubt: StaleInput) -> _Answer:
        """The result of the expressions. A failed one does not hold, but ends nothing; nor does one that read stale
        conditions, unless it handles silence itself."""
        answer = _Answer()
        budget, note = cel.CostBudget(self.scopes.rules.share(CLUSTERS)), self.scopes.note(remedy.id, obj.id)
        for expression in remedy.expressions:
            seen = Variables(scope.__getitem__)
            watched = () if expression.handles_silence else record_reads(seen, doubt)
            result = expression.when.run(seen, clock=self.scopes.clock, budget=budget, trace=note is not None)
            if note is not None:
                note.take(expression.when, expression.at, result)
            if result.error is not None:
                self.failures.add(remedy, PolicyFailure(remedy.id.name, expression.at, result.error), obj.id)
                answer = replace(answer, failed=True)
            elif result.value is True:
                return _Answer(holds=True)
            looked_at = frozenset(type_ for one in watched for type_ in one.stale_types)
            answer = replace(answer, stale_types=answer.stale_types | looked_at)
        return answer

    def _retained(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Earlier requests of an unreadable Remedy: an error in it is no recovery."""
        if self.shared.uncertain(REMEDY):
            yield from ((action, name) for action, name in pairs if self._may_be_unreadable(name))

    def _may_be_unreadable(self, name: str) -> bool:
        """Is the Remedy broken, or possibly in an unreadable file?"""
        id_ = REMEDY.id(name)
        return id_ in self.shared.broken or (self.shared.unidentified and id_ not in self.shared.objects)


STAGE = Local("requested actions", stage, foundation=True)
