"""The clusters that an edit of policies affects; the decisions about all others hold.

This is determined from the stored state of a cluster that others may read: its inputs, conditions and taints. If a
policy reads more than that, or comes or goes, every cluster in its target is affected, and so is each cluster with
something that the policy has decided, because its bookkeeping depends on the policy's version.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

from muster import cel
from muster.data.ids import ObjectId
from muster.data.kinds import (
    ADMISSION,
    CALENDAR,
    CLUSTERS,
    FLEET,
    PROJECTION,
    TAINT_EFFECTS,
    Kind,
)
from muster.data.tree import Tree, mappings_at
from muster.dataclass import dataclass
from muster.fleet.objects import Object
from muster.fleet.projected import PROJECTIONS
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.conditions.stage import evaluate_policy, guards_hold, holds
from muster.rules.conditions.stale_input import conditions_of
from muster.rules.failures import PolicyFailure
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.policies import Policy
from muster.rules.policies.scopes import Scopes
from muster.rules.projections.policy import Projection
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.grounds import matched
from muster.rules.remedies.policy import Remedy
from muster.rules.rollouts.policy import Rollout
from muster.rules.scores.policy import ScorePolicy
from muster.rules.stages import ROLLOUTS
from muster.rules.taints.cluster_policy import ClusterTaintPolicy, taint_policies
from muster.rules.taints.policy import TaintPolicy

#: Variables that a policy may read if only a cluster's summary is known.
_KNOWN: Final = frozenset(("self", "fleet", "params", "variables", "accepted", "generation"))
#: The same for what is decided after the conditions.
_KNOWN_LATER: Final = _KNOWN | {"conditions"}
#: An edit of these kinds may affect anything.
_OF_ALL: Final = (FLEET, CALENDAR, *ADMISSION)

_P = TypeVar("_P", bound="Policy | Remedy | Rollout | ClusterTaintPolicy")
#: Does an edit affect a cluster?
_Affects = Callable[[Object], bool]


class AffectsAll(Exception):  # noqa: N818 - not an error: the whole fleet is decided
    """The affected clusters cannot be determined; the reason."""


def affected_clusters(
    standing: FleetWithPolicies,
    before: FleetWithPolicies,
    after: FleetWithPolicies,
    now: datetime,
    local: Iterable[Kind],
) -> frozenset[ObjectId]:
    """Return the clusters that an edit of policies affects. All decisions of the fleet `standing` are known.

    `before` and `after` hold policies and settings alone; `standing` has the settings and counts of the whole fleet.
    `local`: the kinds in clusters' neighbourhoods. Raises AffectsAll if the clusters cannot be determined.
    """
    _require_known_effect(before, after)
    scopes, kinds = Scopes.of(standing, standing.rules, now), frozenset(local) - frozenset(CLUSTERS)
    were, are = before.compiled, after.compiled
    asks: list[_Affects] = [
        *(
            _condition(standing, scopes, *pair, kinds, are.of(ConditionPolicy))
            for pair in _edited(were.of(ConditionPolicy), are.of(ConditionPolicy))
        ),
        *(_Taint(standing, scopes, *pair).concerns for pair in _edited(were.of(TaintPolicy), are.of(TaintPolicy))),
        *(_Action(standing, scopes, *pair).concerns for pair in _edited(were.of(Remedy), are.of(Remedy))),
        *(partial(_selected, *pair) for pair in _edited(were.of(ScorePolicy), are.of(ScorePolicy))),
        *(_pulses(*pair, kinds) for pair in _edited(were.of(PulsePolicy), are.of(PulsePolicy))),
        *(partial(_latches, *pair) for pair in _edited(taint_policies(before), taint_policies(after))),
        *(one.concerns for one in _projections(standing, before, after)),
        *(_Gates(standing, *pair).concerns for pair in _edited(were.of(Rollout), are.of(Rollout))),
    ]
    return frozenset(obj.id for obj in standing.clusters() if any(ask(obj) for ask in asks))


def _require_known_effect(before: FleetWithPolicies, after: FleetWithPolicies) -> None:
    if before.broken or after.broken:
        raise AffectsAll("a policy has an error")
    for kind in _OF_ALL:
        if {obj.id: obj.body for obj in before.policies(kind)} != {obj.id: obj.body for obj in after.policies(kind)}:
            raise AffectsAll(f"a {kind.name} was edited")
    if before.rules.grace != after.rules.grace:
        raise AffectsAll("agents may be silent for longer or shorter than before")


def _edited(before: Iterable[_P], after: Iterable[_P]) -> Iterable[tuple[_P | None, _P | None]]:
    old, new = {one.id: one for one in before}, {one.id: one for one in after}
    for id_ in sorted(old.keys() | new.keys()):
        was, is_ = old.get(id_), new.get(id_)
        if was is None or is_ is None or was.source.body != is_.source.body:
            yield was, is_


def _selects(policy: Policy | None, obj: Object) -> bool:
    return policy is not None and obj.kind in policy.target.kinds and policy.target.selects(obj)


def _selected(old: Policy | None, new: Policy | None, obj: Object) -> bool:
    """Does either version of a policy select the cluster?"""
    return _selects(old, obj) or _selects(new, obj)


def _latches(old: ClusterTaintPolicy | None, new: ClusterTaintPolicy | None, obj: Object) -> bool:
    """Does either version of a ClusterTaintPolicy target the cluster?"""
    return any(policy is not None and policy.targets(obj) for policy in (old, new))


def _pulses(old: PulsePolicy | None, new: PulsePolicy | None, local: frozenset[Kind]) -> _Affects:
    _require_clusters(local, old, new)
    return partial(_selected, old, new)


def _require_clusters(local: frozenset[Kind], *versions: Policy | None) -> None:
    """AffectsAll if a version of a policy targets other objects of clusters."""
    for policy in versions:
        if policy is not None and not local.isdisjoint(policy.target.kinds):
            raise AffectsAll(f"{policy.label} speaks of other objects of clusters")


def _reads(policy: Policy, programs: Iterable[cel.Program | None]) -> frozenset[str]:
    whole = (*programs, *policy.variables.values(), *(guard.when for guard in policy.guards))
    return frozenset(name for program in whole if program is not None for name in program.reads)


@dataclass(frozen=True, slots=True)
class _Condition:
    """An edit of a ConditionPolicy. `opaque`: its result depends on more than the stored state."""

    standing: FleetWithPolicies
    scopes: Scopes
    old: ConditionPolicy
    new: ConditionPolicy
    opaque: bool

    def concerns(self, obj: Object) -> bool:
        """May the edit change the condition of this cluster?"""
        decided = self.standing.conditions(obj.id).get(self.new.type)
        if not _selects(self.new, obj):
            return _selects(self.old, obj) and (decided is not None or self.opaque)
        if self.opaque:
            return True
        self.scopes.clock.reset()
        try:
            statement = evaluate_policy(self.new, self.scopes.for_policy(self.new, self.scopes.base(obj), obj.id))
        except PolicyFailure:
            return True
        if statement is None or decided is None:
            return (statement is None) is not (decided is None)
        return (statement.status, statement.reason, statement.message) != tuple(
            decided.get(n) for n in ("status", "reason", "message")
        )


def _condition(
    standing: FleetWithPolicies, scopes: Scopes, old: ConditionPolicy | None, new: ConditionPolicy | None,
    local: frozenset[Kind], policies: Iterable[ConditionPolicy],
) -> _Affects:  # fmt: skip
    """Return which clusters an edit of a ConditionPolicy affects. AffectsAll if it targets other objects of clusters,
    or if a kind's headline is decided by other policies than before."""
    _require_clusters(local, old, new)
    if old is None or new is None or old.type != new.type:
        if any(policy is not None and policy.type == kind.headline for policy in (old, new) for kind in CLUSTERS):
            raise AffectsAll("other policies decide whether clusters are available")
        return partial(_selected, old, new)
    rivals = (one for one in policies if one.type == new.type and one.id != new.id)
    rivalled = any(not set(one.target.kinds).isdisjoint((*old.target.kinds, *new.target.kinds)) for one in rivals)
    return _Condition(standing, scopes, old, new, rivalled or any(map(_is_opaque, (old, new)))).concerns


def _is_opaque(policy: ConditionPolicy) -> bool:
    """Does the policy's result depend on more than the stored state?"""
    programs = [
        program for rule in policy.rules
        for program in (rule.when, rule.status.program, rule.reason.program, rule.message.program)
    ]  # fmt: skip
    observes = any(rule.observed_generation is not None for rule in policy.rules)
    return observes or bool(policy.hold_for) or not _reads(policy, programs) <= _KNOWN


@dataclass(frozen=True, slots=True)
class _Taint:
    """An edit of a TaintPolicy."""

    standing: FleetWithPolicies
    scopes: Scopes
    old: TaintPolicy | None
    new: TaintPolicy | None

    def concerns(self, obj: Object) -> bool:
        """Is a taint of either version present, or will one be?"""
        rules = [rule for policy in (self.old, self.new) if policy is not None for rule in policy.taints]
        keys = {(rule.key, rule.effect) for rule in rules}
        decided = (path[2][:2] for path in self.standing.decisions(obj.id) if path[:2] == ("spec", "taints"))
        own = ((taint.get("key"), taint.get("effect")) for taint in mappings_at(obj.body, "spec", "taints"))
        if any(key in keys for key in (*decided, *own)):
            return True
        for policy in (self.old, self.new):
            if policy is not None and _selects(policy, obj) and not _reads(
                policy, (rule.when for rule in policy.taints)
            ) <= _KNOWN_LATER:  # fmt: skip
                return True
        return self.new is not None and _selects(self.new, obj) and self._applies(self.new, obj)

    def _applies(self, policy: TaintPolicy, obj: Object) -> bool:
        scope = self.scopes.for_policy(policy, self.scopes.base(obj), obj.id)
        effects = TAINT_EFFECTS[obj.kind.name]
        try:
            return guards_hold(policy.guards, scope) and any(
                holds(rule.when, scope, rule.key, rule.at) for rule in policy.taints if rule.effect in effects
            )
        except PolicyFailure:
            return True


@dataclass(frozen=True, slots=True)
class _Action:
    """An edit of a Remedy."""

    standing: FleetWithPolicies
    scopes: Scopes
    old: Remedy | None
    new: Remedy | None

    def concerns(self, obj: Object) -> bool:
        """Did either version request an action, or does one now?"""
        name = next(one.id.name for one in (self.old, self.new) if one is not None)
        remembered = (
            decision.value for path, decision in self.standing.decisions(obj.id).items()
            if path[:2] == ("status", "muster")
        )  # fmt: skip
        if any(_names(value, name) for value in remembered):
            return True
        for remedy in (self.old, self.new):
            reads = {name for one in remedy.expressions for name in one.when.reads} if remedy is not None else set()
            if remedy is not None and remedy.selects(obj.id.name) and not reads <= _KNOWN_LATER:
                return True
        return self.new is not None and self.new.selects(obj.id.name) and self._acts(self.new, obj)

    def _acts(self, remedy: Remedy, obj: Object) -> bool:
        conditions = conditions_of(self.standing, obj.id)
        statuses = {type_: str(condition.get("status")) for type_, condition in conditions.items()}
        if remedy.immediate or any(matched(remedy, statuses)):
            return True
        scope = self.scopes.base(obj)
        scope["conditions"] = conditions
        budget = cel.CostBudget(self.scopes.rules.share(CLUSTERS))
        results = (one.when.run(scope, clock=self.scopes.clock, budget=budget) for one in remedy.expressions)
        return any(result.error is not None or result.value is True for result in results)


@dataclass(frozen=True, slots=True)
class _Gates:
    """An edit of a Rollout: its gates are asked about clusters that have a revision of it."""

    standing: FleetWithPolicies
    old: Rollout | None
    new: Rollout | None

    def concerns(self, obj: Object) -> bool:
        """Has the cluster a revision of it?"""
        key = next(one.key for one in (self.old, self.new) if one is not None)
        return (*ROLLOUTS, key) in self.standing.decisions(obj.id)


def _projections(
    standing: FleetWithPolicies, before: FleetWithPolicies, after: FleetWithPolicies
) -> Iterable["_Projection"]:
    bodies = [{obj.id: obj.body for obj in fleet.of(PROJECTION)} for fleet in (before, after)]
    known = [{one.id: one for one in fleet.compiled.of(Projection)} for fleet in (before, after)]
    for id_ in sorted(bodies[0].keys() | bodies[1].keys()):
        if bodies[0].get(id_) != bodies[1].get(id_):
            yield _Projection(standing, id_, tuple(one[id_] for one in known if id_ in one))


@dataclass(frozen=True, slots=True)
class _Projection:
    """An edit of a Projection: the clusters that have, or may get, a file of it."""

    standing: FleetWithPolicies
    id: ObjectId
    versions: tuple[Projection, ...]

    def concerns(self, obj: Object) -> bool:
        """Has the cluster a file, or does a version select it?"""
        if (*PROJECTIONS, self.id.name) in self.standing.decisions(obj.id):
            return True
        own = (one for one in self.versions if one.source.of_cluster and one.kind is obj.kind)
        return any(one.selector.matches(obj.labels) for one in own)


def _names(value: Tree, name: str) -> bool:
    if isinstance(value, Mapping):
        return any(_names(one, name) for pair in value.items() for one in pair)
    return any(_names(one, name) for one in value) if isinstance(value, list) else value == name
