"""Silence: the last sign of life of silent clusters, and silence of clusters whose files are broken.

A cluster falls silent when a rule that reads its lease makes its headline condition Unknown. Its last sign of life is
recorded (`muster.fleet.leases`) until the condition changes, or is Unknown for another reason after a new sign of life.
A late renewal does not change the record: if an agent's clock lags, every heartbeat would be written.

A Karmada cluster without a Lease gives a sign of life with any change of its condition Ready, and a new one has the
whole grace period. Source: Karmada's cluster monitor (`pkg/controllers/cluster/cluster_controller.go`), which keeps
this in memory, muster in the derived part.

A broken object keeps its last derived state, but an error in a cluster's file says nothing about its agent. So
conditions that depend on the lease are still decided as far as possible without the spec: that the agent fell silent,
and what it reports. The lease duration is the last run's. Taints, actions and placements follow once the file is
repaired.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from muster.data.decision import OF_CONDITIONS, OF_ITSELF, Because, Decision, Input, Path
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, KARMADA_CLUSTER, kind_of
from muster.data.times import earliest, format_time
from muster.data.tree import Tree, dig, digest_of, mapping_at
from muster.fleet.faults import each
from muster.fleet.fleet import RefsRead
from muster.fleet.leases import (
    SIGHT,
    SILENT_AFTER,
    effective_leases,
    is_later,
    last_sign,
    leases_by_cluster,
    renew_time,
)
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.regex import Regex
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.conditions.stage import POLICY_ERROR, Statement, damped, evaluate_policy
from muster.rules.failures import PolicyFailure
from muster.rules.policies.in_force import InForce
from muster.rules.policies.scopes import Scopes
from muster.rules.stages import Local, UnsoundObjects
from muster.rules.transitions import condition, unchanged_condition

_SILENCE: Final = Because("silence", OF_CONDITIONS, "its lease has expired, whatever its file says")
SILENT: Final = Statement("Unknown", "AgentSilent", "The cluster's agent stopped renewing its lease.", _SILENCE)
_KEPT: Final = Because("kept", OF_ITSELF, "what declares the cluster cannot be read, and nothing else changes this")
#: Text of policies that read the lease.
_LEASE: Final = Regex(r"\blease(?:DurationSeconds)?\b|\bsilent\b|\.stale\b")


def retained_clusters(view: View, refs: RefsRead, unsound: UnsoundObjects) -> Iterator[Object]:
    """Yield the clusters that keep their last derived state, with their known content.

    Not those on which muster itself fails, whose results are unreliable, nor those whose refs could not be read, which
    is not silence.
    """
    if None in unsound.faulty:
        return
    for id_ in sorted(view.previous):
        unread = kind_of(id_) in CLUSTERS and view.is_unread(id_)
        if unread and id_ not in unsound.faulty and id_.name not in refs.unheard:
            yield known_cluster(view, id_)


def known_cluster(view: View, id_: ObjectId) -> Object:
    """A cluster with its known content."""
    obj = view.objects.get(id_) or Object(id_, kind_of(id_).body({"name": id_.name}), ())
    return replace(obj, body={**obj.body, "spec": obj.spec})


def stage(
    view: View, now: datetime, rules: InForce, refs: RefsRead, unsound: UnsoundObjects
) -> Iterator[Decision | Finding]:
    """Decide what does not depend on a cluster's broken file."""
    retained = list(retained_clusters(view, refs, unsound))
    if not retained:
        return
    scopes = Scopes.of(view, rules, now)
    policies = [policy for policy in rules.compiled.of(ConditionPolicy) if _LEASE.search(str(policy.source.spec))]
    yield from each(retained, partial(_conditions, scopes, policies, now))


def _conditions(scopes: Scopes, policies: list[ConditionPolicy], now: datetime, obj: Object) -> Iterator[Decision]:
    view = scopes.view
    base = scopes.base(obj)
    reported, last_conditions = view.reported(obj.id), view.conditions_before(obj.id)
    until = scopes.expiry(obj)
    expired = scopes.silent(obj.id.name, obj.kind) or (until is not None and now >= until)
    for policy in policies:
        before = last_conditions.get(policy.type)
        if before is None or obj.kind not in policy.target.kinds or not policy.target.selects(obj):
            continue
        scopes.clock.reset()
        try:
            statement = (
                None
                if _needs_spec(view, policy, obj)
                else evaluate_policy(policy, scopes.for_policy(policy, base, obj.id))
            )
        except PolicyFailure:
            statement = None
        if statement is None and expired and before.get("status") != "Unknown":
            statement = SILENT
        horizon = earliest(scopes.clock.horizon, None if expired else until)
        # The report may be in the broken file itself: then only silence is new input.
        if statement is None or not (policy.type in reported or expired or before.get("status") != "True"):
            yield unchanged_condition(obj.id, policy.type, before, _KEPT, horizon)
            continue
        statement, because, waiting = damped(view, policy, obj, statement, now)
        if waiting is not None:
            yield waiting
            horizon = earliest(horizon, waiting.horizon)
        decided = condition(
            before,
            statement.status,
            statement.reason,
            statement.message,
            now=now,
            generation=before.get("observedGeneration"),
        )
        yield Decision(obj.id, ("status", "conditions", (policy.type,)), decided, because, horizon)


def _needs_spec(view: View, policy: ConditionPolicy, obj: Object) -> bool:
    """Does the policy read the cluster's spec, which cannot be read?"""
    cluster = view.objects.get(obj.id)
    return (cluster is None or not isinstance(cluster.body.get("spec"), dict)) and "self.spec" in str(
        policy.source.spec
    )


STAGE = Local("silence", stage)


_LAST_SIGN: Final = "the last sign of life before the cluster fell silent; only a later one ends that"
_NOT_SILENT: Final = "the cluster is not silent any more"
_MUSTER: Final[Path] = ("status", "muster")


def record_last_signs(
    view: View, now: datetime, rules: InForce, refs: RefsRead, unsound: UnsoundObjects
) -> Iterator[Decision | Finding]:
    """Decide `status.muster.silentAfter` of every cluster."""
    leases, scopes = effective_leases(view), Scopes.of(view, rules, now)
    of_leases = {
        rule.because.rule
        for policy in rules.compiled.of(ConditionPolicy)
        for rule in policy.rules
        if rule.of_lease and any(policy.type == kind.headline for kind in policy.target.kinds)
    } | {SILENT.because.rule}

    def lapse(obj: Object) -> Iterator[Decision]:
        path: Path = ("status", "conditions", (obj.kind.headline,))
        decided = view.decisions(obj.id).get(path)
        before = view.before(obj.id, *SILENT_AFTER)
        recorded = before if isinstance(before, str) else None
        sign = last_sign(view, obj.id, leases.get(obj.id.name))
        after = _silent_after(decided, of_leases, sign, recorded)
        if after != recorded or (after is not None and view.now(obj.id, *_MUSTER) is None):
            # Reports are stale from now on: earlier stages must run again if they did not know it.
            early = after is not None and recorded is None and not _has_expired(scopes, obj, now)
            yield _last_sign_decision(view, obj, after, path)._replace(horizon=now if early else None)

    yield from each(view.clusters(), lapse)
    yield from each(retained_clusters(view, refs, unsound), lapse)


def _has_expired(scopes: Scopes, obj: Object, now: datetime) -> bool:
    until = scopes.expiry(obj)
    return until is not None and now >= until


def _silent_after(decided: Decision | None, rules: set[str], sign: str | None, recorded: str | None) -> str | None:
    """The last sign of life before silence; `recorded`: the recorded one."""
    condition = mapping_at({"value": decided.value}, "value") if decided is not None else {}
    if decided is None or condition.get("status") != "Unknown":
        return None
    if recorded is not None and not is_later(sign, recorded):
        return recorded
    if decided.because.rule not in rules or condition.get("reason") == POLICY_ERROR:
        return None
    return recorded or sign


def _last_sign_decision(view: View, obj: Object, after: str | None, path: Path) -> Decision:
    because = Because("lapses", (Input(path),), _NOT_SILENT if after is None else _LAST_SIGN)
    whole = view.now(obj.id, *_MUSTER)
    if not isinstance(whole, dict):
        return Decision(obj.id, SILENT_AFTER, after, because)
    # The stage of `muster.rules.retention` decided all of it: replace it as a whole.
    rest = {name: value for name, value in whole.items() if name != SILENT_AFTER[-1]}
    value: Tree = {**rest, **({SILENT_AFTER[-1]: after} if after is not None else {})}
    return Decision(obj.id, _MUSTER, value or None, because)


LAPSES = Local("lapses", record_last_signs, derives=((CLUSTERS, (SILENT_AFTER,)),))


_READY: Final = KARMADA_CLUSTER.headline
_SIGHT_PATH: Final[Path] = SIGHT
_NO_LEASE: Final = Because(
    "sighting", (Input(("status", "conditions", (_READY,))),), "it renews no Lease: a change in its reports counts"
)
_LONG_AGO: Final = "1970-01-01T00:00:00Z"


def record_sights(view: View, now: datetime) -> Iterator[Decision | Finding]:
    """Record the report of each agent without a Lease, and since when it is unchanged."""
    return each(view.of(KARMADA_CLUSTER), partial(_record_sight, view, now))


def _record_sight(view: View, now: datetime, cluster: Object) -> Iterator[Decision]:
    lease = leases_by_cluster(view).get(cluster.id.name)
    if cluster.spec.get("syncMode") == "Pull" and renew_time(lease) is None:
        digest = digest_of([view.reported(cluster.id).get(_READY), dig(cluster.body, "status", "probe")])[:16]
        yield Decision(
            cluster.id, _SIGHT_PATH, {"said": digest, "at": _first_reported(view, cluster, digest, now)}, _NO_LEASE
        )


def _first_reported(view: View, cluster: Object, statement: str, now: datetime) -> Tree:
    """When it was first reported. A cluster that was Unknown before the first record stays silent."""
    record = view.before(cluster.id, *SIGHT)
    if record is not None:
        return record.get("at") if record.get("said") == statement and record.get("at") else format_time(now)
    silent = dig(view.conditions_before(cluster.id).get(_READY), "status") == "Unknown"
    return _LONG_AGO if silent else format_time(now)


SIGHTING = Local("sighting", record_sights, derives=(((KARMADA_CLUSTER,), (SIGHT,)),))
