"""Remedies: which actions each cluster needs, from which Remedy, by its conditions as they are now (seed 003).

Level-based: the actions are computed anew in every run, so they go when the condition recovers or the Remedy goes, and
nothing that was written by hand survives. Silence is no recovery: while nothing new is known of the condition behind an
action it stands, until there is news or the Remedy changes (`muster.decide.grounds`).

`status.remedyActions` is the sorted set; `status.muster.remedies` says which Remedy each action comes from. A new
action is a disruptive effect, which a budget may hold.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from muster import cel
from muster.decide.context import Context, Disruption
from muster.decide.doubt import Doubt, Doubts, conditions_of, watch
from muster.decide.failures import Failed, Failures, PolicyFailure
from muster.decide.grounds import (
    GROUNDS,
    ORIGINS,
    Ground,
    Pair,
    digest_of,
    entries,
    grounds_before,
    in_doubt,
    matched,
    pairs_before,
)
from muster.decide.population import in_service
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.model.decision import OF_CONDITIONS, OF_ITSELF, Because, Decision, Held, Input, Path
from muster.model.finding import Finding
from muster.model.kinds import CLUSTERS, REMEDY
from muster.model.tree import Tree, dig
from muster.policy.lazy import Variables
from muster.policy.remedies import Remedy
from muster.policy.scopes import Scopes

ACTIONS: Path = ("status", "remedyActions")

_MOST_NAMED = 10
_BECAUSE = Because("remedies", OF_CONDITIONS, "no Remedy asks for anything")
_KEPT = Because("kept", OF_ITSELF, "the cluster is being removed, so its actions stay as they are")


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Held | Failed | Finding]:
    """Decide the actions of every cluster."""
    asking = Asking.of(view, context, now)
    yield from each(view.clusters(), lambda obj: cluster_actions(asking, obj))
    yield from asking.failures.seen


def wishes(view: View, context: Context, now: datetime) -> Iterator[Disruption | Finding]:
    """Yield the clusters on which some Remedy asks for an action, whether it stands or not."""
    asking = Asking.of(view, context, now)

    def wished(obj: Object) -> Iterator[Disruption]:
        if in_service(obj) and asking.wish(obj).pairs:
            yield Disruption(obj.id)

    yield from each(view.clusters(), wished)


@dataclass(frozen=True)
class Index:
    """The Remedies by the clusters that they speak of: all, all with an expression to ask, or the named ones.

    Those that speak of all clusters are matched once per combination of statuses: a thousand Remedies over ten
    thousand clusters meet few combinations.
    """

    everywhere: tuple[Remedy, ...]
    asked_everywhere: tuple[Remedy, ...]
    named: Mapping[str, tuple[Remedy, ...]]
    types: frozenset[str]
    _matched: dict[frozenset[tuple[str, str]], tuple[Remedy, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, remedies: Iterable[Remedy]) -> "Index":
        """Sort Remedies that do something."""
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
        asked = tuple(remedy for remedy in everywhere if remedy.expressions)
        return cls(tuple(everywhere), asked, {name: tuple(found) for name, found in named.items()}, types)

    def matching(self, cluster: str, statuses: Mapping[str, str]) -> list[Remedy]:
        """The Remedies that act on a cluster by its conditions alone, given as status by type."""
        key = frozenset(item for item in statuses.items() if item[0] in self.types)
        if key not in self._matched:
            self._matched[key] = tuple(remedy for remedy in self.everywhere if _acts(remedy, statuses))
        return [*self._matched[key], *(remedy for remedy in self.named.get(cluster, ()) if _acts(remedy, statuses))]

    def expressive(self, cluster: str) -> Iterator[Remedy]:
        """The Remedies that speak of a cluster and have expressions."""
        yield from self.asked_everywhere
        yield from (remedy for remedy in self.named.get(cluster, ()) if remedy.expressions)


def _acts(remedy: Remedy, statuses: Mapping[str, str]) -> bool:
    """One match is enough, and without any the Remedy acts at once."""
    return remedy.immediate or any(
        match.type in statuses and match.holds(statuses[match.type]) for match in remedy.matches
    )


@dataclass(frozen=True, slots=True)
class Wish:
    """What the Remedies of one run want of a cluster: actions, each with its Remedy; on what each Remedy stands; and
    the types of the conditions of which nothing new is known and that alone keep a Remedy standing."""

    pairs: frozenset[Pair]
    grounds: Mapping[str, Ground]
    doubtful: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the expressions of a Remedy say: one holds, one failed, or those that do not looked at what is in doubt."""

    holds: bool = False
    failed: bool = False
    doubtful: frozenset[str] = frozenset()

    @property
    def open(self) -> bool:
        """Whether it is no news."""
        return self.failed or bool(self.doubtful)


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks the Remedies of one run what they want of a cluster."""

    view: View
    context: Context
    index: Index
    scopes: Scopes
    doubts: Doubts
    failures: Failures
    _by_name: Mapping[str, Remedy]
    _digests: dict[str, str]

    @classmethod
    def of(cls, view: View, context: Context, now: datetime) -> "Asking":
        """Prepare for the clusters of a fleet at an instant."""
        remedies = context.rules.compiled.remedies
        by_name = {remedy.id.name: remedy for remedy in remedies}
        scopes, doubts = Scopes.of(view, context.rules, now), Doubts.of(view, context.rules, now)
        return cls(view, context, Index.of(remedies), scopes, doubts, Failures(), by_name, {})

    def wish(self, obj: Object) -> Wish:
        """What is wanted of a cluster; `scopes.clock` has its horizon."""
        self.scopes.clock.reset()
        conditions = conditions_of(self.view, obj.id)
        statuses = {type_: str(condition.get("status")) for type_, condition in conditions.items()}
        standing = dict(self._standing(obj))
        asked = {remedy.id: remedy for remedy in self.index.matching(obj.id.name, statuses)}
        asked.update((remedy.id, remedy) for remedy in self.index.expressive(obj.id.name))
        asked.update((self._by_name[name].id, self._by_name[name]) for name in standing)
        wanted, grounds, doubtful = set(self._kept(obj)), {}, set[str]()
        doubt = self.doubts.about(obj) if asked else None
        scope: Variables | None = None
        for remedy in asked.values():
            assert doubt is not None
            name, before = remedy.id.name, standing.get(remedy.id.name)
            held = frozenset(matched(remedy, statuses))
            kept = in_doubt(remedy, before, doubt)
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
            elif ground.stands:
                wanted.update(pair for pair in pairs_before(self.view, obj.id) if pair[1] == name)
                doubtful.update(kept or expression.doubtful)
            else:
                continue
            grounds[name] = ground
        return Wish(frozenset(wanted), grounds, frozenset(doubtful))

    def _digest(self, remedy: Remedy) -> str:
        if remedy.id.name not in self._digests:
            self._digests[remedy.id.name] = digest_of(remedy)
        return self._digests[remedy.id.name]

    def _standing(self, obj: Object) -> Iterator[tuple[str, Ground]]:
        """The Remedies that acted on the cluster in the last run, are the same today, and still speak of it."""
        names = {name for _, name in pairs_before(self.view, obj.id)}
        known = grounds_before(self.view.previous.get(obj.id)) if names else {}
        for name in names:
            remedy = self._by_name.get(name)
            if remedy is None or not remedy.actions or not remedy.speaks_of(obj.id.name):
                continue
            ground = known.get(name, Ground(self._digest(remedy), None, expression=True))
            if ground.digest == self._digest(remedy):
                yield name, ground

    def _answer(self, remedy: Remedy, obj: Object, scope: Variables, doubt: Doubt) -> _Answer:
        """What the expressions say. One that fails does not hold, but takes nothing off; nor does one that looked at
        what is in doubt, unless it says itself what silence means to it."""
        answer = _Answer()
        budget, note = cel.Budget(self.scopes.rules.share(CLUSTERS)), self.scopes.note(remedy.id, obj.id)
        for expression in remedy.expressions:
            seen = Variables(scope.__getitem__)
            watched = () if expression.of_silence else watch(seen, doubt)
            result = expression.when.run(seen, clock=self.scopes.clock, budget=budget, trace=note is not None)
            if note is not None:
                note.take(expression.when, expression.at, result)
            if result.error is not None:
                self.failures.add(remedy, PolicyFailure(remedy.id.name, expression.at, result.error), obj.id)
                answer = replace(answer, failed=True)
            elif result.value is True:
                return _Answer(holds=True)
            looked_at = frozenset(type_ for one in watched for type_ in one.doubtful)
            answer = replace(answer, doubtful=answer.doubtful | looked_at)
        return answer

    def _kept(self, obj: Object) -> Iterator[Pair]:
        """What a Remedy that cannot be read had asked for: a typo in it is no recovery."""
        shared = self.context.shared
        if shared.uncertain(REMEDY):
            for action, name in pairs_before(self.view, obj.id):
                id_ = REMEDY.id(name)
                if id_ in shared.broken or (shared.unidentified and id_ not in shared.objects):
                    yield action, name

    def frozen(self, obj: Object) -> Iterator[Pair]:
        """What the last run derived and the same Remedies still could ask for, whatever the conditions say now."""
        standing = dict(self._standing(obj))
        for action, name in pairs_before(self.view, obj.id):
            if name in standing and action in self._by_name[name].actions:
                yield action, name


def cluster_actions(asking: Asking, obj: Object) -> Iterator[Decision | Held]:
    """Decide the actions of one cluster. The cost depends on its own conditions and Remedies alone."""
    view, context = asking.view, asking.context
    before = _texts(view.before(obj.id, *map(str, ACTIONS)))
    known = grounds_before(view.previous.get(obj.id))
    if obj.deleting:
        yield from _decide(obj, before, pairs_before(view, obj.id), known, _KEPT, None)
        return
    if not in_service(obj):
        return  # never accepted, or denied: nothing is asked of what is not the fleet's
    wish = asking.wish(obj)
    pairs = set(wish.pairs)
    horizon = asking.scopes.clock.horizon
    if context.allowance.freezes(view, obj.id):
        pairs.update(asking.frozen(obj))
    for action in sorted({action for action, _ in pairs} - set(before)):
        held = context.allowance.holds(view, obj.id, f"remedy {action}")
        if held is not None:
            yield held
            pairs = {pair for pair in pairs if pair[0] != action}
    because = _because(pairs, wish) if pairs else _BECAUSE
    actions = sorted({action for action, _ in pairs})
    yield from _decide(obj, actions, sorted(pairs), {**known, **wish.grounds}, because, horizon)


def _decide(
    obj: Object, actions: list[str], pairs: Collection[Pair], grounds: Mapping[str, Ground], because: Because,
    horizon: datetime | None,
) -> Iterator[Decision]:  # fmt: skip
    """An empty set is spelled out only where an input says otherwise; otherwise the field is absent."""
    origins = [{"action": action, "remedy": remedy} for action, remedy in pairs]
    overwritten = bool(dig(obj.body, *map(str, ACTIONS)))
    if actions or overwritten or horizon is not None:
        yield Decision(obj.id, ACTIONS, actions if actions or overwritten else None, because, horizon)
    if origins:
        yield Decision(obj.id, ORIGINS, origins, because, horizon)
    if standing := entries(grounds, (remedy for _, remedy in pairs)):
        yield Decision(obj.id, GROUNDS, standing, because, horizon)


def _because(pairs: Iterable[Pair], wish: Wish) -> Because:
    """The Remedies behind the actions, and the conditions that they match; of very many, the first few Remedies. And
    what they wait for, where they do."""
    names = sorted({name for _, name in pairs})
    ids = [REMEDY.id(name) for name in names[:_MOST_NAMED]]
    types = sorted({type_ for name in names if name in wish.grounds for type_ in wish.grounds[name].matches or ()})
    inputs = [Input(("spec",), id_) for id_ in ids] + [Input(("status", "conditions", (type_,))) for type_ in types]
    more = f" and {len(names) - len(ids)} more" if len(names) > len(ids) else ""
    silent = ", ".join(sorted(wish.doubtful))
    text = f"nothing new is known of {silent}, so what stands because of it stays until there is news" if silent else ""
    return Because(f"{', '.join(map(str, ids))}{more}", tuple(inputs), text)


def _texts(value: Tree) -> list[str]:
    return sorted({text for text in value if isinstance(text, str)}) if isinstance(value, list) else []
