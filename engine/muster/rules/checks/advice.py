"""Advice about a whole fleet: things that are valid but probably unintended.

Advice has no effect on decisions: a policy may exist before the first object that it targets. So only `muster lint`
gives it, not every run.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import CLUSTER_TAINT_POLICY, CLUSTERS, FLEET
from muster.data.names import did_you_mean
from muster.data.tree import At, mappings_at
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.calendars.calendar import Calendar
from muster.rules.checks.references import reference_findings, toleration_advice
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.effects.budget import Budget, budgets_of, labels_of
from muster.rules.effects.freeze import FREEZES, freezes_of
from muster.rules.notifications.policy import NotificationPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.policies import Policy
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import Remedy
from muster.rules.rollouts.lint import window_findings
from muster.rules.taints.policy import TaintPolicy

#: The number of objects from which a selector that selects all of them is reported.
_MANY: Final = 5


def advice(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Yield advice about the fleet's policies, Remedies and budgets, without the built-in ones."""
    for policy in (
        *fleet.compiled.of(ConditionPolicy),
        *fleet.compiled.of(TaintPolicy),
        *fleet.compiled.of(PulsePolicy),
        *fleet.compiled.of(NotificationPolicy),
    ):
        if policy.source.written:
            yield from _targets(fleet, policy)
            yield from _unreachable(policy)
    yield from _conditions(fleet)
    yield from reference_findings(fleet)
    yield from toleration_advice(fleet)
    for budget in budgets_of(fleet):
        obj = fleet.objects.get(budget.id)
        if obj is not None and obj.written:
            yield from _budget(fleet, obj, budget)


def time_advice(fleet: FleetWithPolicies, now: datetime) -> Iterator[Finding]:
    """Yield advice about Calendars that never open again, freezes that are over for good, and stages of Rollouts whose
    windows are all in freezes."""
    yield from window_findings(fleet, now)
    for calendar in fleet.compiled.of(Calendar):
        obj = fleet.objects[calendar.id]
        if not calendar.is_open(now) and calendar.next_change(now) is None:
            hint = "compare its windows with except and freezes"
            yield finding_at(obj, ("spec",), Code.TIME_NEVER_COMES, f"{obj.id} never opens from now on", hint)
    for obj in fleet.of(FLEET):
        indexes = {str(entry["name"]): index for index, entry in enumerate(mappings_at(obj.spec, FREEZES))}
        for freeze in freezes_of(fleet.settings, fleet):
            if freeze.name in indexes and not freeze.in_force(now) and freeze.next_change(now) is None:
                message = f"freeze {freeze.name!r} is never in force from now on"
                at: At = ("spec", FREEZES, indexes[freeze.name])
                yield finding_at(obj, at, Code.TIME_NEVER_COMES, message, "remove it, or change when it is in force")


def _targets(fleet: Fleet, policy: Policy) -> Iterator[Finding]:
    """A policy targets no object, or its selector selects all."""
    objects = fleet.of(*policy.target.kinds)
    selected = [obj for obj in objects if policy.target.selects(obj)]
    kinds = " or ".join(kind.name for kind in policy.target.kinds)
    if not selected:
        objects_text = f"of {len(objects)} there are" if objects else "and there is none"
        message = f"{policy.id} targets no {kinds}, {objects_text}"
        yield finding_at(
            policy.source, ("spec", "target"), Code.MATCHES_NOTHING, message, "compare its selector with their labels"
        )
    elif policy.target.selector.requirements and len(objects) >= _MANY and len(selected) == len(objects):
        message = f"the selector of {policy.id} selects all {len(objects)} objects of kind {kinds}"
        hint = "remove the selector if all are intended"
        yield finding_at(policy.source, ("spec", "target", "selector"), Code.SELECTS_EVERYTHING, message, hint)


def _unreachable(policy: Policy) -> Iterator[Finding]:
    """Rules after one that always holds."""
    if not isinstance(policy, ConditionPolicy):
        return
    always = next((rule.name for rule in policy.rules if rule.when is None), None)
    after = False
    for rule in policy.rules:
        if after:
            message = f"rule {rule.name!r} of {policy.id} is never evaluated: {always!r} before it always holds"
            yield finding_at(
                policy.source, rule.at, Code.RULE_NEVER_ASKED, message, "put the rule without a condition last"
            )
        after = after or rule.when is None


def _conditions(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Conditions that Remedies and ClusterTaintPolicies wait for and nothing ever sets."""
    decided = {
        policy.type
        for policy in fleet.compiled.of(ConditionPolicy)
        if any(kind in CLUSTERS for kind in policy.target.kinds)
    }
    types = decided.union(*(fleet.reported(obj.id) for obj in fleet.clusters()))
    types |= {type_ for obj in fleet.clusters() for type_ in fleet.conditions_before(obj.id)}
    waited: list[tuple[Object, At, str]] = [
        (remedy.source, ("spec", "decisionMatches", index, "clusterConditionMatch", "conditionType"), match.type)
        for remedy in fleet.compiled.of(Remedy)
        for index, match in enumerate(remedy.matches)
    ]
    waited += (
        (obj, ("spec", name, index, "conditionType"), str(entry.get("conditionType")))
        for obj in fleet.of(CLUSTER_TAINT_POLICY)
        for name in ("addOnConditions", "removeOnConditions")
        for index, entry in enumerate(mappings_at(obj.spec, name))
    )
    for source, at, type_ in waited:
        if type_ not in types:
            message = f"{source.id} waits for {type_}, which no cluster reports and no policy decides"
            yield finding_at(source, at, Code.UNKNOWN_CONDITION_TYPE, message, did_you_mean(type_, types))


def _budget(fleet: Fleet, obj: Object, budget: Budget) -> Iterator[Finding]:
    """A budget that never holds anything."""
    counted = sum(budget.selector.matches(labels_of(cluster)) for cluster in fleet.clusters())
    if not counted:
        message = f"{obj.id} counts no cluster"
        yield finding_at(
            obj, ("spec", "selector"), Code.MATCHES_NOTHING, message, "compare its selector with the clusters' labels"
        )
    elif budget.allowed(counted) >= counted:
        message = f"{obj.id} allows all {counted} clusters to be disrupted at once, so it has no effect"
        hint = "lower maxDisrupted or ignoreUpTo, or delete it"
        yield finding_at(obj, ("spec",), Code.BUDGET_HOLDS_NOTHING, message, hint)
