"""Lapses: after which sign of life each silent cluster fell silent (`muster.fleet.leases`).

A cluster falls silent when a rule that looks at its lease makes its headline condition Unknown. That is remembered
until the condition says something else, or says Unknown for another reason after a new sign of life. A renewal that
comes too late changes nothing here: if the clock of an agent lags, every heartbeat of it would be written down.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from muster.data.decision import Because, Decision, Input, Path
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS
from muster.data.tree import Tree, mapping_at
from muster.fleet.faults import each
from muster.fleet.leases import SILENT_AFTER, effective_leases, is_later, last_sign
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.conditions.stage import POLICY_ERROR
from muster.rules.context import Context
from muster.rules.heartbeats.silence import SILENT, kept_clusters
from muster.rules.policies.scopes import Scopes
from muster.rules.stages import Local

_SILENT: Final = "the last sign of life before the cluster fell silent; only a later one ends that"
_HEARD: Final = "the cluster is not silent any more"
_MUSTER: Final[Path] = ("status", "muster")


def stage(view: View, context: Context, now: datetime) -> Iterator[Decision | Finding]:
    """Decide `status.muster.silentAfter` of every cluster."""
    leases, scopes = effective_leases(view), Scopes.of(view, context.rules, now)
    rules = {
        rule.because.rule
        for policy in context.rules.compiled.of(ConditionPolicy)
        for rule in policy.rules
        if rule.of_lease and any(policy.type == kind.headline for kind in policy.target.kinds)
    } | {SILENT.because.rule}

    def lapse(obj: Object) -> Iterator[Decision]:
        path: Path = ("status", "conditions", (obj.kind.headline,))
        decided = view.decisions(obj.id).get(path)
        before = view.before(obj.id, *SILENT_AFTER)
        known = before if isinstance(before, str) else None
        sign = last_sign(view, obj.id, leases.get(obj.id.name))
        after = _silent_after(decided, rules, sign, known)
        if after != known or (after is not None and view.now(obj.id, *_MUSTER) is None):
            # What was reported is stale from now on: earlier stages must know if they did not find it so themselves.
            early = after is not None and known is None and not _has_expired(scopes, obj, now)
            yield _decision(view, obj, after, path)._replace(horizon=now if early else None)

    yield from each(view.clusters(), lapse)
    yield from each(kept_clusters(view, context), lapse)


def _has_expired(scopes: Scopes, obj: Object, now: datetime) -> bool:
    until = scopes.expiry(obj)
    return until is not None and now >= until


def _silent_after(decided: Decision | None, rules: set[str], sign: str | None, known: str | None) -> str | None:
    """The sign of life after which a cluster fell silent, `known` being the one that is remembered."""
    condition = mapping_at({"value": decided.value}, "value") if decided is not None else {}
    if decided is None or condition.get("status") != "Unknown":
        return None
    if known is not None and not is_later(sign, known):
        return known
    if decided.because.rule not in rules or condition.get("reason") == POLICY_ERROR:
        return None
    return known or sign


def _decision(view: View, obj: Object, after: str | None, path: Path) -> Decision:
    because = Because("lapses", (Input(path),), _HEARD if after is None else _SILENT)
    whole = view.now(obj.id, *_MUSTER)
    if not isinstance(whole, dict):
        return Decision(obj.id, SILENT_AFTER, after, because)
    # The stage `kept` has decided the whole of it: replace it as a whole.
    rest = {name: value for name, value in whole.items() if name != SILENT_AFTER[-1]}
    value: Tree = {**rest, **({SILENT_AFTER[-1]: after} if after is not None else {})}
    return Decision(obj.id, _MUSTER, value or None, because)


STAGE = Local("lapses", stage, derives=((CLUSTERS, (SILENT_AFTER,)),))
