"""Advice: what is sound, and decides something else than its author is likely to think, told of a whole fleet.

No word of it keeps anything from being decided: a policy may well be there before the first object that it speaks of.
So it is given to whoever asks (`muster lint`), and not in every run.
"""

from collections.abc import Iterator
from typing import Final

from muster.data.codes import Code
from muster.data.finding import Finding
from muster.data.kinds import CLUSTERS
from muster.data.names import did_you_mean
from muster.data.tree import At
from muster.fleet.fleet import Fleet
from muster.fleet.objects import Object
from muster.fleet.places import finding_at
from muster.rules.checks.references import reference_findings, toleration_advice
from muster.rules.conditions.policy import ConditionPolicy
from muster.rules.effects.budget import Budget, budgets_of, labels_of
from muster.rules.notifications.policy import NotificationPolicy
from muster.rules.policies.in_force import FleetWithPolicies
from muster.rules.policies.policies import Policy
from muster.rules.pulses.policy import PulsePolicy
from muster.rules.remedies.policy import Remedy
from muster.rules.taints.policy import TaintPolicy

#: So many objects there must be before it says something that all of them are selected.
_MANY: Final = 5


def advice(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """Yield what is suspicious in the policies, Remedies and budgets of a fleet; nothing of those that are built in."""
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


def _targets(fleet: Fleet, policy: Policy) -> Iterator[Finding]:
    """Whom a policy speaks of: nobody, or everybody where it says whom."""
    objects = fleet.of(*policy.target.kinds)
    selected = [obj for obj in objects if policy.target.selects(obj)]
    kinds = " or ".join(kind.name for kind in policy.target.kinds)
    if not selected:
        there = f"of {len(objects)} there are" if objects else "of which there is none"
        message = f"{policy.id} speaks of no {kinds}, {there}"
        yield finding_at(
            policy.source, ("spec", "target"), Code.MATCHES_NOTHING, message, "compare its selector with their labels"
        )
    elif policy.target.selector.requirements and len(objects) >= _MANY and len(selected) == len(objects):
        message = f"the selector of {policy.id} takes in every {kinds} of {len(objects)}"
        hint = "leave it out if that is meant, so that it is seen to speak of all"
        yield finding_at(policy.source, ("spec", "target", "selector"), Code.SELECTS_EVERYTHING, message, hint)


def _unreachable(policy: Policy) -> Iterator[Finding]:
    """The rules that come after one which always holds."""
    if not isinstance(policy, ConditionPolicy):
        return
    always = next((rule.name for rule in policy.rules if rule.when is None), None)
    after = False
    for rule in policy.rules:
        if after:
            message = f"rule {rule.name!r} of {policy.id} is never asked: {always!r} before it always holds"
            yield finding_at(
                policy.source, rule.at, Code.RULE_NEVER_ASKED, message, "put the rule without a condition last"
            )
        after = after or rule.when is None


def _conditions(fleet: FleetWithPolicies) -> Iterator[Finding]:
    """The conditions that Remedies wait for and of which nobody ever speaks."""
    decided = {
        policy.type
        for policy in fleet.compiled.of(ConditionPolicy)
        if any(kind in CLUSTERS for kind in policy.target.kinds)
    }
    known = decided.union(*(fleet.reported(obj.id) for obj in fleet.clusters()))
    known |= {type_ for obj in fleet.clusters() for type_ in fleet.conditions_before(obj.id)}
    for remedy in fleet.compiled.of(Remedy):
        for index, match in enumerate(remedy.matches):
            if match.type not in known:
                at: At = ("spec", "decisionMatches", index, "clusterConditionMatch", "conditionType")
                message = f"{remedy.id} waits for {match.type}, which no cluster reports and no policy decides"
                yield finding_at(
                    remedy.source, at, Code.UNKNOWN_CONDITION_TYPE, message, did_you_mean(match.type, known)
                )


def _budget(fleet: Fleet, obj: Object, budget: Budget) -> Iterator[Finding]:
    """A budget that holds nothing, however many clusters fail."""
    counted = sum(budget.selector.matches(labels_of(cluster)) for cluster in fleet.clusters())
    if not counted:
        message = f"{obj.id} counts no cluster"
        yield finding_at(
            obj, ("spec", "selector"), Code.MATCHES_NOTHING, message, "compare its selector with the clusters' labels"
        )
    elif budget.allowed(counted) >= counted:
        message = f"{obj.id} lets all of {counted} clusters be disrupted at once, as if it were not there"
        hint = "lower maxDisrupted or ignoreUpTo, or delete it"
        yield finding_at(obj, ("spec",), Code.BUDGET_HOLDS_NOTHING, message, hint)
