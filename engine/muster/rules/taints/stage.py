"""Taints: those of TaintPolicies, and the time at which each person's taint appeared.

`timeAdded` is set once, when the taint appears or its value or effect changes, and kept (upstream's mutating webhook;
seed 002: "set automatically, the user should not set it"). Requests come from `muster.rules.taints.requested`; a new
taint that keeps work away is a disruptive effect, which a budget may hold.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import cast

from muster.data.decision import OF_CONDITIONS, Because, Decision, Held, Input
from muster.data.finding import Finding
from muster.data.ids import ObjectId
from muster.data.kinds import CLUSTERS
from muster.data.tree import Tree
from muster.dataclass import dataclass
from muster.fleet.faults import each
from muster.fleet.objects import Object
from muster.fleet.view import View
from muster.rules.effects.allowance import Allowance
from muster.rules.policies.in_force import InForce
from muster.rules.stages import Local
from muster.rules.taints.keys import (
    TAINT_RECORDS,
    RequestedTaints,
    TaintKey,
    disrupts,
    present,
    put_before,
    rule_key,
    taint_key,
    taint_text,
    taints_by_key,
    without_key,
)
from muster.rules.taints.policy import TaintPolicy
from muster.rules.taints.requested import KEPT

_TAINTS = (Input(("spec", "taints")),)
_OWN = Because("taints", _TAINTS, "a person's taint; the time is when it appeared")
_GOING = Because(
    "taints",
    (Input(("metadata", "deletionTimestamp")),),
    "the cluster is being deleted, so the taints that policies gave it stay as they are",
)
_FROZEN = Because("budgets", OF_CONDITIONS, "the cluster is silent, and a budget holds: its taints stay")
_REMEMBERED = Because("taints", _TAINTS, "which policy put which taint there")


def stage(
    view: View, now: datetime, rules: InForce, allowance: Allowance, requests: Mapping[ObjectId, RequestedTaints]
) -> Iterator[Decision | Held | Finding]:
    """Decide every cluster's taints, as far as budgets allow the requests."""
    policies = rules.compiled.of(TaintPolicy)

    def tainted(obj: Object) -> Iterator[Decision | Held]:
        taints, requested = (
            _Taints(view, obj, taints_by_key(obj.kind, view.previous.get(obj.id))),
            requests.get(obj.id),
        )
        decisions = [*taints.own(now), *(requested.decisions if requested else ())]
        outcomes = list(taints.within(allowance, policies, decisions))
        yield from outcomes
        decided = (outcome for outcome in outcomes if isinstance(outcome, Decision))
        yield from taints.records(requested.put if requested else {}, decided)

    yield from each(view.clusters(), tainted)


@dataclass(frozen=True, slots=True)
class _Taints:
    """The taints of one cluster: `before`: the last run's."""

    view: View
    obj: Object
    before: Mapping[TaintKey, Tree]

    def own(self, now: datetime) -> Iterator[Decision]:
        """People's taints, with the time at which they appeared."""
        for key, taint in taints_by_key(self.obj.kind, self.obj.body).items():
            value = present(self.before.get(key), taint.get("value") or "", now)
            yield Decision(self.obj.id, ("spec", "taints", key), value, _OWN)

    def within(
        self, allowed: Allowance, policies: Iterable[TaintPolicy], decisions: Iterable[Decision]
    ) -> Iterator[Decision | Held]:
        """The decisions that budgets allow, and held taints. While a budget holds and the cluster is silent, none is
        removed; nor while the cluster is being deleted, as upstream's controllers leave its taints alone."""
        wanted: set[object] = set()
        for decision in decisions:
            new = decision.path[2] not in self.before and decision.because is not _OWN and disrupts(decision)
            key = cast("TaintKey", decision.path[2])
            held = allowed.holds(self.view, self.obj.id, f"taint {taint_text(key)}") if new else None
            yield held or decision
            if decision.value is not None:
                wanted.add(decision.path[2])
        remaining = self.before.keys() - wanted
        of_policies = (
            {rule_key(self.obj.kind, rule) for policy in policies for rule in policy.taints} if remaining else ()
        )
        leaving = sorted(remaining.intersection(of_policies))
        if leaving and (self.obj.deleting or allowed.freezes(self.view, self.obj.id)):
            frozen = _GOING if self.obj.deleting else _FROZEN
            for key in leaving:
                yield Decision(self.obj.id, ("spec", "taints", key), without_key(self.before[key]), frozen)

    def records(self, put: Mapping[TaintKey, list[Tree]], decided: Iterable[Decision]) -> Iterator[Decision]:
        """The policies of the present taints: as in `put`, or as the last run recorded for those that stay."""
        before = put_before(self.obj.kind, self.view.previous.get(self.obj.id))
        entries: list[Tree] = []
        for decision in decided:
            if decision.value is not None:
                key = cast("TaintKey", decision.path[2])
                records = before if decision.because in (_FROZEN, KEPT, _GOING) else put
                entries.extend(entry for entry in records.get(key, ()) if entry not in entries)
        if entries:
            entries.sort(key=lambda entry: taint_key(self.obj.kind, entry))
            yield Decision(self.obj.id, TAINT_RECORDS, entries, _REMEMBERED)


STAGE = Local("taints", stage, derives=((CLUSTERS, (("spec", "taints"), ("status", "muster", "taints"))),))
