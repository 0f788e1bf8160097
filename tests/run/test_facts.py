"""What commit messages and plans tell: each line and each word of a subject, from what was derived before and after."""

from typing import Any

import pytest

from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME
from muster.fleet.clusters import CLUSTER_SET
from muster.run.change import Change
from muster.run.changes import object_changes, summary
from muster.run.facts import facts_of

Body = dict[str, Any]
TAINT = {"key": "dedicated", "effect": "NoSelect"}


def told(kind: str, before: Body, after: Body) -> tuple[list[str], str]:
    """The lines about an object called `o`, and the subject line."""
    id_ = BY_NAME[kind].id("o") if not BY_NAME[kind].namespaced else BY_NAME[kind].id("o", "ns")
    old, new = (facts_of({"kind": kind, **body}) for body in (before, after))
    differing = [label for label in {**old, **new} if old.get(label) != new.get(label)]
    changes = [Change(id_, old.get(label), new.get(label)) for label in differing]
    return [str(change).removeprefix(f"{id_}: ") for change in changes], summary(changes)


def condition(type_: str, status: str, reason: str = "") -> Body:
    return {"status": {"conditions": [{"type": type_, "status": status, "reason": reason}]}}


def muster(**status: Any) -> Body:
    return {"status": {"muster": status}}


AVAILABLE, ACCEPTED = "ManagedClusterConditionAvailable", "HubAcceptedManagedCluster"
RUNNING, ASLEEP = {"spec": {"powerState": "Running"}}, {"spec": {"powerState": "Hibernating"}}
DELETED = {"metadata": {"deletionTimestamp": "T"}}


@pytest.mark.parametrize(
    ("kind", "before", "after", "line", "subject"),
    [
        ("ManagedCluster", {}, condition(AVAILABLE, "True"), f"condition {AVAILABLE} True", "1 cluster available"),
        ("ManagedCluster", condition(AVAILABLE, "True", "Ok"), condition(AVAILABLE, "Unknown", "Stopped"),
         f"condition {AVAILABLE} True -> Unknown (Stopped)", "1 cluster Unknown"),
        ("ManagedCluster", condition(AVAILABLE, "False", "A"), condition(AVAILABLE, "False", "B"),
         f"condition {AVAILABLE} False A -> False B", "1 cluster Available because of B"),
        ("ManagedCluster", condition(ACCEPTED, "True"), condition(ACCEPTED, "False"),
         f"condition {ACCEPTED} True -> False", "1 cluster denied"),
        ("ManagedCluster", condition("Odd", "True"), {}, "condition Odd True -> gone", "1 cluster no longer Odd True"),
        ("Cluster", {}, condition("Ready", "False", "Down"), "condition Ready False (Down)", "1 cluster not ready"),
        ("ClusterDeployment", {}, condition("Ready", "True"), "condition Ready True", "1 pool cluster Ready True"),
        ("NodePool", {}, condition("Reconciled", "True"), "condition Reconciled True", "1 node pool reconciled"),
        ("AdapterReport", {}, condition("Accepted", "False"), "condition Accepted False", "1 report discarded"),
        ("Fleet", {}, condition("DisruptionHeld", "True"), "condition DisruptionHeld True", "1 budget exceeded"),
        ("Fleet", condition("DisruptionHeld", "True"), {}, "condition DisruptionHeld True -> gone",
         "1 budget met again"),
        ("ManagedCluster", {}, {"spec": {"taints": [TAINT]}}, "taint dedicated:NoSelect present", "1 cluster tainted"),
        ("Cluster", {"spec": {"taints": [{**TAINT, "value": "a"}]}}, {"spec": {"taints": [TAINT]}},
         "taint dedicated:NoSelect a -> present", "1 cluster tainted"),
        ("Cluster", {}, muster(remedies=[{"action": "Drain", "remedy": r} for r in "ab"]),
         "remedy Drain applied (a, b)", "1 remedy applied"),
        ("Cluster", muster(remedies=[{"action": "Drain", "remedy": "a"}]), {}, "remedy Drain applied -> gone",
         "1 remedy lifted"),
        ("Cluster", {}, muster(held=[{"effect": "removal", "heldBy": "b"}]), "held removal held (b)",
         "1 cluster kept from removal"),
        ("Cluster", {}, muster(pending={"Ready": {"status": "False", "since": "T"}}), "pending Ready False (since T)",
         "1 cluster pending Ready False"),
        ("MultiClusterIngress", {}, {"status": {"trafficBlockClusters": ["a"]}}, "traffic to a blocked",
         "1 ingress rerouted"),
        ("MultiClusterIngress", {"status": {"trafficBlockClusters": ["a"]}}, {}, "traffic to a blocked -> gone",
         "1 ingress rerouted"),
        ("AdapterReport", {}, muster(accepted={"observed_generation": 2, "observed_time": "T"}),
         "report T (generation 2, Available=-)", "1 report accepted"),
        ("ManagedCluster", {}, muster(agentRef="agents/o"), "agent ref agents/o", "1 cluster heard through a branch"),
        ("ManagedCluster", {"metadata": {"generation": 1}}, {"metadata": {"generation": 2}}, "generation 1 -> 2",
         "1 cluster with a new spec"),
        ("ManagedCluster", {}, {"metadata": {"labels": {CLUSTER_SET: "default"}}}, "set default",
         "1 cluster in set default"),
        ("ManagedCluster", {}, muster(leaseDurationSeconds=120), "lease duration 120s",
         "1 cluster with lease duration 120s"),
        ("ClusterClaim", {}, {"spec": {"namespace": "c"}}, "assigned cluster c", "1 claim assigned"),
        ("ClusterClaim", {}, DELETED, "claim ended (at T)", "1 claim ended"),
        ("ClusterPool", muster(buckets={"broken": 1}), muster(buckets={}), "clusters 1 broken -> none",
         "1 pool with other clusters"),
        ("ClusterDeployment", {}, muster(bucket="standby"), "bucket standby", "1 pool cluster standing by"),
        ("ClusterDeployment", {}, muster(bucket="installing"), "bucket installing", "1 pool cluster installing"),
        ("ClusterDeployment", {}, RUNNING, "power state Running", "1 pool cluster Running"),
        ("ClusterDeployment", ASLEEP, RUNNING, "power state Hibernating -> Running", "1 pool cluster resumed"),
        ("ClusterDeployment", {}, DELETED, "deletion asked for (at T)", "1 pool cluster being deleted"),
    ],
)  # fmt: skip
def test_one_fact(kind: str, before: Body, after: Body, line: str, subject: str) -> None:
    assert told(kind, before, after) == ([line], subject)


def test_a_broken_pool_cluster_that_goes_says_why() -> None:
    broken = {
        "status": {"conditions": [{"type": "Broken", "status": "True", "reason": "Failed", "message": "no quota"}]}
    }
    assert told("ClusterDeployment", broken, broken | DELETED)[0] == ["deletion asked for (at T, Failed: no quota)"]


def test_a_subject_counts_objects_and_puts_what_is_worst_first() -> None:
    def change(name: str, status: str) -> Change:
        fact = facts_of({"kind": "ManagedCluster", **condition(AVAILABLE, status)})[f"condition {AVAILABLE}"]
        return Change(BY_NAME["ManagedCluster"].id(name), None, fact)

    generation = facts_of({"metadata": {"generation": 2}})["generation"]
    further = [Change(ObjectId("", "Lease", "x", "y"), None, generation), change("d", "True")]
    assert summary([change("a", "True"), change("b", "Unknown"), change("c", "Unknown"), *further]) == (
        "2 clusters Unknown, 2 clusters available"
    )
    assert summary(further[:1]) == "1 lease with a new spec"
    assert summary([]) == "nothing changed"


def test_that_anything_is_derived_at_all_stands_behind_the_object() -> None:
    id_ = BY_NAME["ManagedCluster"].id("o")
    (came,) = object_changes(id_, None, {"kind": "ManagedCluster"}, lambda _: "")
    (went,) = object_changes(id_, {"kind": "ManagedCluster"}, None, lambda _: "")
    assert [str(came), str(went)] == ["ManagedCluster/o: derived", "ManagedCluster/o: derived -> gone"]


def about(before: Body, after: Body, own_set: str = "") -> tuple[list[str], str]:
    """The same of a cluster's whole derived part."""
    id_ = BY_NAME["ManagedCluster"].id("o")
    was, now = ({"kind": "ManagedCluster", **body} for body in (before, after))
    changes = list(object_changes(id_, was, now, lambda _: "", own_set))
    return [str(change).removeprefix(f"{id_}: ") for change in changes], summary(changes)


def test_a_cluster_changes_its_set_by_name() -> None:
    in_default: Body = {"metadata": {"labels": {CLUSTER_SET: "default"}}}
    assert about(in_default, {}, "prod") == (["set default -> prod"], "1 cluster in set prod")
    assert about(in_default, {}) == (["set default -> named by its label"], "1 cluster in set named by its label")
    denied = condition(ACCEPTED, "False")
    assert "set default -> gone" in about(in_default, denied)[0]


def test_what_no_fact_tells_is_told_by_field_with_both_values() -> None:
    """Never as details, or as objects that were updated."""
    said = {"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "R", "message": "1 of 2"}]}}
    more = {"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "R", "message": "2 of 2"}]}}
    assert about(said, more) == (
        ["field status.conditions[Odd].message 1 of 2 -> 2 of 2"],
        "1 cluster with another message",
    )
    allowed: Body = {"status": {"remedyActions": []}}
    assert about({}, allowed) == (["field status.remedyActions ''"], "1 cluster with remedyActions")


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (muster(specChanged="T"), muster(specChanged="U"), "note specChanged T -> U"),
        ({"metadata": {"annotations": {"muster.dev/spec-digest": "a"}}},
         {"metadata": {"annotations": {"muster.dev/spec-digest": "b"}}}, "note muster.dev/spec-digest a -> b"),
    ],
)  # fmt: skip
def test_bookkeeping_is_in_no_subject(before: Body, after: Body, line: str) -> None:
    assert about(before, after) == ([line], "no transitions")
    changes = list(object_changes(BY_NAME["ManagedCluster"].id("o"), {"kind": "ManagedCluster", **before},
                                  {"kind": "ManagedCluster", **after}, lambda _: ""))  # fmt: skip
    available = facts_of({"kind": "ManagedCluster", **condition(AVAILABLE, "True")})[f"condition {AVAILABLE}"]
    assert summary([*changes, Change(BY_NAME["ManagedCluster"].id("p"), None, available)]) == "1 cluster available"
