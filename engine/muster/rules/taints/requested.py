"""The taints that TaintPolicies and ClusterTaintPolicies request on a cluster, before budgets allow them.

Policies are evaluated once in a run, before `budgets`, which counts the clusters with a disruptive effect.

A failed condition never counts as true, so its taint is not requested; a present one still is, because an error is no
recovery. Neither is silence: a rule that read a stale condition (`muster.rules.conditions.stale_input`) keeps
requesting its present taint, until there is new input or the rule is gone. While a policy cannot be read, the taints
that it may have added are requested, and budgets count them. A policy with a taint for Unknown, as the built-in ones
have, handles the silence of the conditions that this taint reads itself. For the others `status.muster.taints` records
each taint's policies and rules (`muster.rules.policies.grounds`). Nor does silence remove a ClusterTaintPolicy's taint
(Karmada): a stale condition fulfils none for removing, unless that one names the status Unknown.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime

from muster.data.decision import OF_ITSELF, Because, Decision, Failed, Path
from muster.data.finding import Finding
from muster.data.kinds import TAINT_EFFECTS, TAINT_POLICY
from muster.data.times import earliest
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.stage import guards_hold, holds
from muster.rules.conditions.stale_input import StaleInputs, record_reads
from muster.rules.failures import Failures, PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.lazy import PolicyScope, Variables
from muster.rules.policies.scopes import Scopes
from muster.rules.stages import GoverningObjects, Local
from muster.rules.taints.cluster_policy import ClusterTaintPolicies, ClusterTaintPolicy
from muster.rules.taints.cluster_stage import would_disrupt
from muster.rules.taints.keys import (
    RequestedLatch,
    RequestedLatches,
    RequestedTaints,
    TaintKey,
    present,
    put_before,
    rule_key,
    taint_fields,
    taints_by_key,
    without_key,
)
from muster.rules.taints.policy import TaintPolicy, TaintRule

KEPT = Because("kept", OF_ITSELF, "a policy has an error, so the taints that it may have added stay")
_SILENT = "the policy's conditions have no new input, so the taint stays until there is"


def stage(
    view: View, now: datetime, rules: InForce, governing: GoverningObjects, latching: ClusterTaintPolicies
) -> Iterator[RequestedTaints | RequestedLatches | Failed | Finding]:
    """Decide the requested taints of each cluster; none for one that is being deleted."""
    scopes, stale_inputs, failures = (
        Scopes.of(view, rules, now),
        StaleInputs.of(view, rules, now),
        Failures(),
    )
    taints, policies = (
        Taints(view, now, scopes, stale_inputs, failures, uncertain=governing.uncertain(TAINT_POLICY)),
        latching.policies,
    )

    def requested(obj: Object) -> Iterator[RequestedTaints | RequestedLatches]:
        if obj.deleting:
            return
        request = taints.request(obj)
        if request.decisions:
            yield request
        latching = latches(obj, policies, stale_inputs)
        keeps_away = would_disrupt(view, obj, latching)
        if latching or keeps_away:
            yield RequestedLatches(obj.id, latching, keeps_away)

    yield from each(view.clusters(), requested)
    yield from failures.failed


@dataclass(frozen=True, slots=True)
class Taints:
    """Evaluates the TaintPolicies of one run for clusters. `uncertain`: some policy cannot be read."""

    view: View
    now: datetime
    scopes: Scopes
    stale_inputs: StaleInputs
    failures: Failures
    uncertain: bool

    def request(self, obj: Object) -> RequestedTaints:
        """The requested taints of a cluster."""
        previous = self.view.previous.get(obj.id)
        cluster = _TaintedCluster(self, obj, taints_by_key(obj.kind, previous), put_before(obj.kind, previous))
        decisions = _by_taint(cluster.asked())
        if self.uncertain:
            decided = {decision.path for decision in decisions if decision.value is not None}
            decisions = (*decisions, *cluster.of_unread_policies(decided))
        return RequestedTaints(obj.id, decisions, cluster.put)


@dataclass(frozen=True, slots=True)
class _TaintedCluster:
    """One cluster for evaluation: `before`: the last run's taints, `standing`: its records of their policies; `put`:
    this run's records."""

    run: Taints
    obj: Object
    before: Mapping[TaintKey, Tree]
    standing: Mapping[TaintKey, list[Tree]]
    put: dict[TaintKey, list[Tree]] = field(default_factory=dict)

    def asked(self) -> Iterator[Decision]:
        """The policies' requests: a taint, or none until some instant."""
        scopes, base = self.run.scopes, None
        for policy in scopes.rules.compiled.of(TaintPolicy):
            if self.obj.kind not in policy.target.kinds or not policy.target.selects(self.obj):
                continue
            base = scopes.base(self.obj) if base is None else base
            scope = scopes.for_policy(policy, base, self.obj.id)
            # A policy may target clusters of both kinds, which have different effects.
            for rule in policy.taints:
                if rule.effect in TAINT_EFFECTS[self.obj.kind.name]:
                    yield from self._of_rule(policy, rule, scope)

    def of_unread_policies(self, decided: Collection[Path]) -> Iterator[Decision]:
        """The present taints that no readable policy accounts for.

        Requests and not decisions, because budgets count them: so no boundary after the stage can add them.
        """
        policies = self.run.scopes.rules.compiled.of(TaintPolicy)
        names: set[Tree] = {policy.id.name for policy in policies}
        accounted = {rule_key(self.obj.kind, rule) for policy in policies for rule in policy.taints}
        for key, taint in self.before.items():
            path, by = ("spec", "taints", key), {record.get("policy") for record in self.standing.get(key, ())}
            if path not in decided and (key not in accounted or not by <= names):
                yield Decision(self.obj.id, path, without_key(taint), KEPT)

    def _of_rule(self, policy: TaintPolicy, rule: TaintRule, scope: PolicyScope) -> Iterator[Decision]:
        clock = self.run.scopes.clock
        clock.reset()
        outcome = self._outcome(policy, rule, scope)
        if outcome is False and not self.standing and clock.horizon is None:  # of nearly all clusters
            return
        key = rule_key(self.obj.kind, rule)
        applies = key in self.before if outcome is None else outcome
        stays = not applies and self._put_by(rule, key) and self._reads_silence(policy, rule)
        if (applies or stays) and rule.recorded:
            self._record(policy, rule, key, failed=outcome is None)
        horizon = clock.horizon
        if not applies and not stays and horizon is None:
            return
        because = rule.because._replace(text=_SILENT) if stays else rule.because
        path = ("spec", "taints", key)
        taint = present(self.before.get(key), rule.value or "", self.run.now) if applies or stays else None
        yield Decision(self.obj.id, path, taint, because, horizon)

    def _record(self, policy: TaintPolicy, rule: TaintRule, key: TaintKey, *, failed: bool) -> None:
        """Record who put a taint. A rule that fails keeps it, and the records of those that did put it."""
        records = [{**taint_fields(key), "policy": policy.id.name, "ground": rule.ground}]
        if failed and not self._put_by(rule, key):
            records = self.standing.get(key, [])
        for record in records:
            if record not in self.put.get(key, ()):
                self.put.setdefault(key, []).append(record)

    def _put_by(self, rule: TaintRule, key: TaintKey) -> bool:
        """Did this rule add the taint, under any name of its policy, and perhaps with another value?

        A record of an earlier version has no ground: it holds for every rule with the taint.
        """
        return rule.recorded and any(
            record.get("ground") == rule.ground if "ground" in record else taint == key
            for taint, records in self.standing.items()
            if taint[:2] == key[:2]
            for record in records
        )

    def _reads_silence(self, policy: TaintPolicy, rule: TaintRule) -> bool:
        """Does the rule read a condition without new input, whose silence its policy does not handle?

        It is evaluated again, alone: a scope keeps what other rules have read.
        """
        scopes = self.run.scopes
        recorded_scope = Variables(scopes.base(self.obj).__getitem__)
        watched = record_reads(recorded_scope, self.run.stale_inputs.about(self.obj))
        scope = scopes.for_policy(policy, recorded_scope, self.obj.id, witnessed=False)
        with suppress(PolicyFailure):
            _ = guards_hold(policy.guards, scope) and holds(rule.when, scope, rule.key, rule.at)
        stale_types = {type_ for conditions in watched for type_ in conditions.stale_types}
        return any(type_ not in policy.silence_handled for type_ in stale_types)

    def _outcome(self, policy: TaintPolicy, rule: TaintRule, scope: PolicyScope) -> bool | None:
        """Does the rule hold? None if it fails."""
        try:
            return guards_hold(policy.guards, scope) and holds(rule.when, scope, rule.key, rule.at)
        except PolicyFailure as failure:
            self.run.failures.add(policy, failure, self.obj.id)
            return None


def _by_taint(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """One decision about each taint: that of the first rule that asks for it; if none does, none does until the first
    instant at which one may."""
    by_path: dict[Path, Decision] = {}
    for decision in decisions:
        earlier = by_path.setdefault(decision.path, decision)
        if earlier.value is None:
            horizon = earliest(earlier.horizon, decision.horizon) if decision.value is None else decision.horizon
            by_path[decision.path] = decision._replace(horizon=horizon)
    return tuple(by_path.values())


def latches(
    obj: Object, policies: Iterable[ClusterTaintPolicy], stale_inputs: StaleInputs
) -> tuple[RequestedLatch, ...]:
    """Return the requests of each policy that targets the cluster, in order."""
    return tuple(_latches(obj, policies, stale_inputs)) if policies else ()


def _latches(
    obj: Object, policies: Iterable[ClusterTaintPolicy], stale_inputs: StaleInputs
) -> Iterator[RequestedLatch]:
    doubt = stale_inputs.about(obj)
    statuses = {type_: str(condition.get("status")) for type_, condition in doubt.conditions.items()}
    for policy in policies:
        if policy.targets(obj):
            adds = policy.adds(statuses)
            removes = policy.removes(statuses) and not policy.removal_depends_on(doubt.covers)
            if adds or removes:
                yield RequestedLatch(policy, adds, removes)


STAGE = Local("requested taints", stage, foundation=True)
