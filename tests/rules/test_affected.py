"""Whom an edit of policies concerns: nobody who is left out is decided otherwise by it."""

import pytest

from muster.data.ids import ObjectId
from muster.features.test.memory import MemorySnapshot
from muster.fleet.shared import OF_CLUSTERS
from muster.rules.affected import AffectsAll, affected_clusters
from muster.run.checking import check_snapshot
from muster.run.evaluate import evaluate_snapshot
from muster.run.run import Run
from tests.support.example import NOON

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
    policies = [check_snapshot(MemorySnapshot({"edited.yaml": text} if text else {})) for text in (before, after)]
    found = frozenset(id_.name for id_ in affected_clusters(was.fleet, policies[0], policies[1], NOON, OF_CLUSTERS))
    changed = {
        obj.id.name for obj in was.fleet.clusters()
        if was.fleet.whole(obj.id) != is_.fleet.whole(obj.id)
    }  # fmt: skip
    changed |= {id_.name for id_, _ in pulses(was) ^ pulses(is_)}
    assert changed <= found
    return found


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        pytest.param(condition(TIER.format("up")), condition(TIER.format("down")), "down up", id="whom it rates"),
        pytest.param(
            condition(TIER.format("up")), condition(f"{TIER.format('up')} && true"), "", id="other words, the same word"
        ),
        pytest.param(
            condition("true", "{kind: ManagedCluster, selector: {matchLabels: {tier: up}}}"),
            condition("true", "{kind: ManagedCluster, selector: {matchLabels: {tier: down}}}"),
            "down up", id="whom it selects",
        ),
        pytest.param(None, condition("true", selecting("up")), "up", id="a new condition"),
        pytest.param(condition("true", selecting("up")), None, "up", id="a condition that goes"),
        pytest.param(
            condition("true", selecting("up")), condition("true", selecting("up"), type_="Seen"), "up",
            id="another condition",
        ),
        pytest.param(None, pulse(selecting("down")), "down", id="new pulses"),
        pytest.param(pulse(selecting("down")), pulse(selecting("up")), "down up", id="pulses of others"),
        pytest.param(None, latch("[down, up]"), "down up", id="a new latch"),
        pytest.param(latch("[down]"), None, "down", id="a latch that goes"),
        pytest.param(
            condition("lease.spec.renewTime < now"), condition("lease.spec.renewTime <= now"),
            "dark down new up", id="what it reads lies beside clusters",
        ),
        pytest.param(
            condition("true"), condition("true", more="  holdFor: {'False': 30s}\n"), "dark down new up",
            id="what it remembers is not known",
        ),
        pytest.param(None, taint(IS_DOWN), "down", id="a new taint"),
        pytest.param(taint(IS_DOWN), None, "down", id="a taint that goes"),
        pytest.param(taint(IS_DOWN), taint(TIER.format("up")), "down up", id="a taint that moves"),
        pytest.param(None, taint("lease.spec.renewTime < now"), "dark down new up", id="a taint by what is beside"),
        pytest.param(None, taint("dyn(self).spec.nothing == 1"), "dark down new up", id="a taint that fails"),
        pytest.param(None, remedy(condition_match("False")), "down", id="a new Remedy"),
        pytest.param(remedy(condition_match("False")), None, "down", id="a Remedy that goes"),
        pytest.param(None, remedy(condition_match("Unknown")), "", id="a Remedy for those that it does not name"),
        pytest.param(None, remedy(f'{{expression: "{IS_DOWN}"}}'), "down", id="an expression"),
        pytest.param(None, remedy('{expression: "reported.size() > 9"}'), "down up", id="an expression on reports"),
    ],
)  # fmt: skip
def test_whom_an_edit_concerns(before: str | None, after: str | None, names: str) -> None:
    assert " ".join(sorted(edit(before, after))) == names


FLEET = "apiVersion: muster.dev/v1alpha1\nkind: Fleet\nmetadata: {name: f}\nspec: {derived: {shards: 16}}\n"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (condition("true"), condition("true +"), "a policy has an error"),
        (None, FLEET, "a Fleet was edited"),
        (
            None, condition("true", selecting("up"), type_="ManagedClusterConditionAvailable"),
            "whether clusters are available",
        ),
        (None, pulse("{kind: NodePool}"), "PulsePolicy/edited speaks of other objects of clusters"),
        (
            condition("true", "{kind: AdapterReport}"), condition("1 < 2", "{kind: AdapterReport}"),
            "ConditionPolicy/edited speaks of other objects of clusters",
        ),
    ],
)  # fmt: skip
def test_what_may_concern_anybody(before: str | None, after: str | None, why: str) -> None:
    with pytest.raises(AffectsAll, match=why):
        edit(before, after)
