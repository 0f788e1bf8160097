"""Whom an edit of policies concerns: those that the policies can match. Nobody else is decided otherwise by it."""

import pytest

from muster.data.ids import ObjectId
from muster.features.test.memory import MemorySnapshot
from muster.rules import concerned
from muster.rules.calendars.calendar import Calendar
from muster.rules.drills.policy import Drill
from muster.rules.given import GivenTerms, differs
from muster.rules.notifications.policy import NotificationPolicy
from muster.rules.placements.policy import CompiledPlacement
from muster.rules.projections.policy import Projection
from muster.rules.remedies.policy import Remedy
from muster.rules.rollouts.policy import Rollout
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.rules.test_pipeline import fleet_of
from tests.support.example import NOON
from tests.support.fuzzing import corpus

ALL = "dark down new up"
STATUSES = {"up": "True", "down": "False", "dark": "Unknown"}


def clusters() -> dict[str, str]:
    """Three clusters whose hub says that they are up, down, and not heard of; one more that nobody accepted."""
    return {
        f"{name}.yaml": f"""
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: {name}, labels: {{tier: {name}}}}}
spec: {{hubAcceptsClient: {"false" if name == "new" else "true"}}}
status:
  conditions:
  - {{type: ManagedClusterConditionAvailable, status: "{STATUSES.get(name, "True")}", reason: R, message: m}}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {{name: managed-cluster-lease, namespace: {name}}}
spec: {{renewTime: "2026-01-01T12:00:00Z"}}
"""
        for name in (*STATUSES, "new")
    }


def policy(kind: str, spec: str, name: str = "edited") -> str:
    group = {"Remedy": "remedy.karmada.io/v1alpha1", "ClusterTaintPolicy": "policy.karmada.io/v1alpha1"}.get(
        kind, "muster.dev/v1alpha1"
    )
    return f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{spec}"


def condition(when: str, target: str = "{kind: ManagedCluster}", more: str = "", type_: str = "Rated") -> str:
    rule = f'{{name: r, when: "{when}", status: "True", reason: R, message: m}}'
    return policy("ConditionPolicy", f"  target: {target}\n  type: {type_}\n  rules: [{rule}]\n{more}")


def selecting(tier: str, kind: str = "ManagedCluster") -> str:
    return f"{{kind: {kind}, selector: {{matchLabels: {{tier: {tier}}}}}}}"


def pulse(target: str) -> str:
    return policy("PulsePolicy", f'  target: {target}\n  rules: [{{name: r, when: "true"}}]\n  interval: 1m\n')


def latch(names: str) -> str:
    add = '[{conditionType: ManagedClusterConditionAvailable, operator: In, statusValues: ["False", "Unknown"]}]'
    return policy(
        "ClusterTaintPolicy",
        f"  targetClusters: {{clusterNames: {names}}}\n  addOnConditions: {add}\n"
        "  taints: [{key: a.b/c, effect: NoSchedule}]\n",
    )


def taint(when: str, key: str = "example.com/k") -> str:
    taints = f'[{{key: {key}, effect: NoSelect, when: "{when}"}}]'
    return policy("TaintPolicy", f"  target: {{kind: ManagedCluster}}\n  taints: {taints}\n")


def remedy(match: str, clusters: str = "[up, down]") -> str:
    return policy(
        "Remedy",
        f"  clusterAffinity: {{clusterNames: {clusters}}}\n  decisionMatches: [{match}]\n  actions: [TrafficControl]\n",
    )


def condition_match(status: str) -> str:
    match = f'{{conditionType: ManagedClusterConditionAvailable, operator: Equal, conditionStatus: "{status}"}}'
    return f"{{clusterConditionMatch: {match}}}"


IS_DOWN = "conditions.exists(t, t == 'ManagedClusterConditionAvailable' && conditions[t].status == 'False')"
TIER = "self.metadata.labels['tier'] == '{}'"


def evaluated(edited: str | None) -> Run:
    return evaluate_snapshot(MemorySnapshot({**clusters(), **({"edited.yaml": edited} if edited else {})}), NOON)


def pulses(run: Run) -> set[tuple[ObjectId, str]]:
    return {(pulse.object, pulse.policy) for pulse in run.fleet.pulses}


def edit(before: str | None, after: str | None) -> frozenset[str]:
    """The names of those whom an edit concerns; that nobody else is decided otherwise by it is checked."""
    was, is_ = evaluated(before), evaluated(after)
    assert was.terms is not None
    assert is_.terms is not None
    given = [GivenTerms(run.terms) for run in (was, is_) if run.terms is not None]
    found = set[str]()
    for obj in was.fleet.clusters():
        texts = [terms.about([obj], [was.fleet.decisions(obj.id)], ()) for terms in given]
        if differs(texts[0], texts[1]):
            found.add(obj.id.name)
    changed = {obj.id.name for obj in was.fleet.clusters() if was.fleet.whole(obj.id) != is_.fleet.whole(obj.id)}
    changed |= {id_.name for id_, _ in pulses(was) ^ pulses(is_)}
    assert changed <= found
    return frozenset(found)


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        pytest.param(condition(TIER.format("up")), condition(TIER.format("down")), ALL, id="whom it can rate"),
        pytest.param(
            condition("true", "{kind: ManagedCluster, selector: {matchLabels: {tier: up}}}"),
            condition("true", "{kind: ManagedCluster, selector: {matchLabels: {tier: down}}}"),
            "down up",
            id="whom it selects",
        ),
        pytest.param(None, condition("true", selecting("up")), "up", id="a new condition"),
        pytest.param(condition("true", selecting("up")), None, "up", id="a condition that goes"),
        pytest.param(
            condition("true", selecting("up")),
            condition("true", selecting("up"), type_="Seen"),
            "up",
            id="another condition",
        ),
        pytest.param(None, pulse(selecting("down")), "down", id="new pulses"),
        pytest.param(pulse(selecting("down")), pulse(selecting("up")), "down up", id="pulses of others"),
        pytest.param(None, latch("[down, up]"), "down up", id="a new latch"),
        pytest.param(latch("[down]"), None, "down", id="a latch that goes"),
        pytest.param(
            condition("lease.spec.renewTime < now"),
            condition("lease.spec.renewTime <= now"),
            ALL,
            id="what it reads lies beside clusters",
        ),
        pytest.param(
            condition("true"),
            condition("true", more="  holdFor: {'False': 30s}\n"),
            ALL,
            id="what it remembers",
        ),
        pytest.param(None, taint(IS_DOWN), ALL, id="a new taint"),
        pytest.param(taint(IS_DOWN), None, ALL, id="a taint that goes"),
        pytest.param(taint(IS_DOWN), taint(TIER.format("up")), ALL, id="a taint that moves"),
        pytest.param(None, taint("lease.spec.renewTime < now"), ALL, id="a taint by what is beside"),
        pytest.param(None, taint("dyn(self).spec.nothing == 1"), ALL, id="a taint that fails"),
        pytest.param(None, remedy(condition_match("False")), "down up", id="a new Remedy"),
        pytest.param(remedy(condition_match("False")), None, "down up", id="a Remedy that goes"),
        pytest.param(None, remedy(condition_match("Unknown")), "down up", id="a Remedy that matches none"),
        pytest.param(None, remedy(f'{{expression: "{IS_DOWN}"}}'), "down up", id="an expression"),
        pytest.param(None, remedy('{expression: "reported.size() > 9"}'), "down up", id="an expression on reports"),
    ],
)
def test_whom_an_edit_concerns(before: str | None, after: str | None, names: str) -> None:
    assert " ".join(sorted(edit(before, after))) == names


FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {derived: {shards: 16}}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (condition("true"), condition("true +")),
        (None, FLEET),
        (None, condition("true", selecting("up"), type_="ManagedClusterConditionAvailable")),
        (None, pulse("{kind: NodePool}")),
        (condition("true", "{kind: AdapterReport}"), condition("1 < 2", "{kind: AdapterReport}")),
    ],
    ids=["a policy has an error", "settings", "whether clusters are available", "pulses of pools", "about reports"],
)
def test_what_may_concern_anybody(before: str | None, after: str | None) -> None:
    assert edit(before, after) == frozenset(ALL.split())


def test_a_new_kind_of_policy_says_whom_it_concerns() -> None:
    """Calendars concern everybody; wide stages read Placements, and no stage reads NotificationPolicies and Drills."""
    known = {*concerned.TARGETED, Remedy, Rollout, Projection, Calendar, CompiledPlacement, NotificationPolicy, Drill}
    assert {*fleet_of(corpus(), NOON).compiled.policies} == known
