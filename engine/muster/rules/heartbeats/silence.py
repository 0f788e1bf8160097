"""Silence runs, also of clusters whose files are broken.

What people own keeps its last derived state while there is an error in it: nobody knows what it should be. Whether the
cluster's agent is heard is another matter, which no typo in a spec makes unknown. So of conditions that follow the
lease, what can be said without the spec is said anew: that the agent fell silent, and what it reports meanwhile. The
duration of the lease is the one that the last run derived.

Everything else of such a cluster stays: taints, actions and placements follow once its file is mended.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from muster.data.decision import OF_CONDITIONS, OF_ITSELF, Because, Decision
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS, kind_of
from muster.data.times import earliest
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.conditions.stage import Statement, damped, judge
from muster.rules.context import Context
from muster.rules.failures import PolicyFailure
from muster.rules.policies.scopes import Scopes
from muster.rules.stages import Local
from muster.rules.transitions import as_it_was, condition

_SILENCE: Final = Because("silence", OF_CONDITIONS, "its lease has run out, whatever its file says")
SILENT: Final = Statement("Unknown", "AgentSilent", "The cluster's agent stopped renewing its lease.", _SILENCE)
_KEPT: Final = Because("kept", OF_ITSELF, "what declares the cluster cannot be read, and nothing else changes this")
#: What a policy says that looks at the lease.
_LEASE: Final = re.compile(r"\blease(?:DurationSeconds)?\b|\bsilent\b|\.stale\b")


def kept_clusters(view: View, context: Context) -> Iterator[Object]:
    """Yield the clusters that keep their last derived state, with as much of them as is known.

    Not those on which muster itself fails: nothing that it would say of them can be relied on. Nor those whose agents
    it could not hear: not hearing is not silence.
    """
    if None in context.faulty:
        return
    for id_ in sorted(view.previous):
        kept = id_ in view.broken or (view.unidentified and id_ not in view.objects)
        if kind_of(id_) in CLUSTERS and kept and id_ not in context.faulty and id_.name not in context.unheard:
            yield known_cluster(view, id_)


def known_cluster(view: View, id_: ObjectId) -> Object:
    """A cluster, with as much of it as is known."""
    obj = view.objects.get(id_) or Object(id_, kind_of(id_).body({"name": id_.name}), ())
    return replace(obj, body={**obj.body, "spec": obj.spec})


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Decide what no error in a cluster's file keeps from being known."""
    scopes = Scopes.of(view, context.rules, now)
    policies = [
        policy for policy in context.rules.compiled.of(ConditionPolicy) if _LEASE.search(str(policy.source.spec))
    ]
    yield from each(kept_clusters(view, context), partial(_conditions, scopes, policies, now))


def _conditions(
    scopes: Scopes, policies: list[ConditionPolicy], now: datetime, obj: Object
) -> Iterator[Decision]:  # fmt: skip
    view = scopes.view
    base = scopes.base(obj)
    reported, standing = view.reported(obj.id), view.conditions_before(obj.id)
    until = scopes.expiry(obj)
    expired = scopes.silent(obj.id.name, obj.kind) or (until is not None and now >= until)
    for policy in policies:
        before = standing.get(policy.type)
        if before is None or obj.kind not in policy.target.kinds or not policy.target.selects(obj):
            continue
        scopes.clock.reset()
        try:
            statement = judge(policy, scopes.for_policy(policy, base, obj.id))
        except PolicyFailure:
            statement = SILENT if expired else None
        horizon = earliest(scopes.clock.horizon, None if expired else until)
        # What was reported may stand in the very file that is broken: then only silence is news.
        if statement is None or not (policy.type in reported or expired or before.get("status") != "True"):
            yield as_it_was(obj.id, policy.type, before, _KEPT, horizon)
            continue
        statement, because, waiting = damped(view, policy, obj, statement, now)
        if waiting is not None:
            yield waiting
            horizon = earliest(horizon, waiting.horizon)
        decided = condition(
            before, statement.status, statement.reason, statement.message, now=now,
            generation=before.get("observedGeneration"),
        )  # fmt: skip
        yield Decision(obj.id, ("status", "conditions", (policy.type,)), decided, because, horizon)


STAGE = Local("silence", stage)
