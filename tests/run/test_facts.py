"""What commit messages and plans tell: each line and each word of a subject, from what was derived before and after."""

from typing import Any

import pytest

from muster.data.ids import ObjectId
from muster.data.kinds import BY_NAME
from muster.fleet.clusters import CLUSTER_SET
from muster.run.facts import facts_of
from muster.run.transition import Transition
from muster.run.transitions.subjects import subject_line
from muster.run.transitions.transitions import object_changes

Body = dict[str, Any]
TAINT = {"key": "dedicated", "effect": "NoSelect"}
VALUED = {**TAINT, "value": "a"}


def told(kind: str, before: Body, after: Body) -> tuple[list[str], str]:
    """The lines about an object called `o`, and the subject line."""
    id_ = BY_NAME[kind].id("o") if not BY_NAME[kind].namespaced else BY_NAME[kind].id("o", "ns")
    old, new = (facts_of({"kind": kind, **body}) for body in (before, after))
    differing = [label for label in {**old, **new} if old.get(label) != new.get(label)]
    changes = [Transition(id_, old.get(label), new.get(label)) for label in differing]
    return [str(change).removeprefix(f"{id_}: ") for change in changes], subject_line(changes)


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
        ("ManagedCluster", {}, condition(AVAILABLE, "True"), f"condition {AVAILABLE} True", "o available"),
        (
            "ManagedCluster",
            condition(AVAILABLE, "True", "Ok"),
            condition(AVAILABLE, "Unknown", "Stopped"),
            f"condition {AVAILABLE} True -> Unknown (Stopped)",
            "o Unknown",
        ),
        (
            "ManagedCluster",
            condition(AVAILABLE, "False", "A"),
            condition(AVAILABLE, "False", "B"),
            f"condition {AVAILABLE} False A -> False B",
            "o unavailable: B",
        ),
        (
            "Rollout",
            condition("RolledOut", "False", "Progressing"),
            condition("RolledOut", "False", "Stopped"),
            "condition RolledOut False Progressing -> False Stopped",
            "rollout o stopped",
        ),
        (
            "Rollout",
            condition("RolledOut", "False", "RollingBack"),
            condition("RolledOut", "False", "RolledBack"),
            "condition RolledOut False RollingBack -> False RolledBack",
            "rollout o rolled back",
        ),
        (
            "ManagedCluster",
            condition(ACCEPTED, "True"),
            condition(ACCEPTED, "False"),
            f"condition {ACCEPTED} True -> False",
            "o denied",
        ),
        ("ManagedCluster", condition("Odd", "True"), {}, "condition Odd True -> gone", "Odd gone from o"),
        ("Cluster", {}, condition("Ready", "False", "Down"), "condition Ready False (Down)", "o not ready"),
        ("ClusterDeployment", {}, condition("Ready", "True"), "condition Ready True", "Ready True on pool cluster o"),
        ("NodePool", {}, condition("Reconciled", "True"), "condition Reconciled True", "node pool ns/o reconciled"),
        ("AdapterReport", {}, condition("Accepted", "False"), "condition Accepted False", "report ns/o discarded"),
        ("Fleet", {}, condition("DisruptionHeld", "True"), "condition DisruptionHeld True", "budget exceeded"),
        (
            "Fleet",
            condition("DisruptionHeld", "True"),
            {},
            "condition DisruptionHeld True -> gone",
            "budget no longer exceeded",
        ),
        ("ManagedCluster", {}, {"spec": {"taints": [TAINT]}}, "taint dedicated:NoSelect added", "o tainted"),
        (
            "Cluster",
            {"spec": {"taints": [VALUED]}},
            {"spec": {"taints": [TAINT]}},
            "taint dedicated:NoSelect a -> present",
            "o tainted",
        ),
        ("Cluster", {}, {"spec": {"taints": [VALUED]}}, "taint dedicated=a:NoSelect added", "o tainted"),
        ("Cluster", {"spec": {"taints": [VALUED]}}, {}, "taint dedicated=a:NoSelect removed", "o untainted"),
        (
            "Cluster",
            {},
            muster(remedies=[{"action": "Drain", "remedy": r} for r in "ab"]),
            "remedy Drain applied (a, b)",
            "Drain applied to o",
        ),
        (
            "Cluster",
            muster(remedies=[{"action": "Drain", "remedy": "a"}]),
            {},
            "remedy Drain lifted",
            "Drain lifted from o",
        ),
        (
            "Cluster",
            {},
            muster(held=[{"effect": "removal", "heldBy": "b"}]),
            "removal held by b",
            "o kept from removal",
        ),
        (
            "Cluster",
            {},
            muster(pending={"Ready": {"status": "False", "since": "T"}}),
            "pending Ready False (since T)",
            "noted of cluster o: pending Ready",
        ),
        (
            "MultiClusterIngress",
            {},
            {"status": {"trafficBlockClusters": ["a"]}},
            "traffic to a blocked",
            "no traffic to a",
        ),
        (
            "MultiClusterIngress",
            {"status": {"trafficBlockClusters": ["a"]}},
            {},
            "traffic to a no longer blocked",
            "traffic to a again",
        ),
        (
            "AdapterReport",
            {},
            muster(accepted={"observed_generation": 2, "observed_time": "T"}),
            "report T (generation 2, Available=-)",
            "report ns/o accepted",
        ),
        ("ManagedCluster", {}, muster(agentRef="agents/o"), "agent ref agents/o", "o reporting through a branch"),
        (
            "ManagedCluster",
            {"metadata": {"generation": 1}},
            {"metadata": {"generation": 2}},
            "generation 1 -> 2",
            "spec of o changed",
        ),
        ("ManagedCluster", {}, {"metadata": {"labels": {CLUSTER_SET: "default"}}}, "set default", "o in set default"),
        ("ManagedCluster", {}, muster(leaseDurationSeconds=120), "lease duration 2m", "lease duration of o now 2m"),
        ("ClusterClaim", {}, {"spec": {"namespace": "c"}}, "assigned cluster c", "claim o assigned"),
        ("ClusterClaim", {}, DELETED, "claim ended (at T)", "claim o ended"),
        ("ClusterPool", muster(buckets={"broken": 1}), muster(buckets={}), "clusters 1 broken -> none", "pool o: none"),
        ("ClusterDeployment", {}, muster(bucket="standby"), "bucket standby", "pool cluster o standing by"),
        ("ClusterDeployment", {}, muster(bucket="installing"), "bucket installing", "pool cluster o installing"),
        ("ClusterDeployment", {}, RUNNING, "power state Running", "pool cluster o Running"),
        ("ClusterDeployment", ASLEEP, RUNNING, "power state Hibernating -> Running", "pool cluster o resumed"),
        ("ClusterDeployment", {}, DELETED, "deletion requested (at T)", "pool cluster o being deleted"),
    ],
)
def test_one_fact(kind: str, before: Body, after: Body, line: str, subject: str) -> None:
    assert told(kind, before, after) == ([line], subject)


def test_a_broken_pool_cluster_that_goes_says_why() -> None:
    broken = {
        "status": {"conditions": [{"type": "Broken", "status": "True", "reason": "Failed", "message": "no quota"}]}
    }
    assert told("ClusterDeployment", broken, broken | DELETED)[0] == ["deletion requested (at T, Failed: no quota)"]


def test_a_subject_names_objects_and_puts_what_is_worst_first() -> None:
    def change(name: str, status: str) -> Transition:
        fact = facts_of({"kind": "ManagedCluster", **condition(AVAILABLE, status)})[f"condition {AVAILABLE}"]
        return Transition(BY_NAME["ManagedCluster"].id(name), None, fact)

    generation = facts_of({"metadata": {"generation": 2}})["generation"]
    further = [Transition(ObjectId("", "Lease", "x", "y"), None, generation), change("d", "True")]
    assert subject_line([change("a", "True"), change("b", "Unknown"), change("c", "Unknown"), *further]) == (
        "b and c Unknown; a and d available"
    )
    assert subject_line(further[:1]) == "Lease y noted"
    assert subject_line([]) == "nothing changed"


def test_that_anything_is_derived_at_all_stands_behind_the_object() -> None:
    id_ = BY_NAME["ManagedCluster"].id("o")
    (came,) = object_changes(id_, None, {"kind": "ManagedCluster"}, lambda _: "")
    (went,) = object_changes(id_, {"kind": "ManagedCluster"}, None, lambda _: "")
    assert [str(came), str(went)] == ["ManagedCluster/o: new", "ManagedCluster/o: removed"]


def about(before: Body, after: Body, own_set: str = "") -> tuple[list[str], str]:
    """The same of a cluster's whole derived part."""
    id_ = BY_NAME["ManagedCluster"].id("o")
    was, now = ({"kind": "ManagedCluster", **body} for body in (before, after))
    changes = list(object_changes(id_, was, now, lambda _: "", own_set))
    return [str(change).removeprefix(f"{id_}: ") for change in changes], subject_line(changes)


def test_a_cluster_changes_its_set_by_name() -> None:
    in_default: Body = {"metadata": {"labels": {CLUSTER_SET: "default"}}}
    assert about(in_default, {}, "prod") == (["set default -> prod"], "o in set prod")
    assert about(in_default, {}) == (["set default -> named by its label"], "o in set named by its label")
    denied = condition(ACCEPTED, "False")
    assert "set default -> gone" in about(in_default, denied)[0]


def test_what_no_fact_tells_is_told_by_field_with_both_values() -> None:
    """Never as details, or as objects that were updated."""
    said = {"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "R", "message": "1 of 2"}]}}
    more = {"status": {"conditions": [{"type": "Odd", "status": "True", "reason": "R", "message": "2 of 2"}]}}
    assert about(said, more) == (
        ["field status.conditions[Odd].message 1 of 2 -> 2 of 2"],
        "message of o changed",
    )
    allowed: Body = {"status": {"remedyActions": []}}
    assert about({}, allowed) == (["field status.remedyActions ''"], "remedyActions of o set")


@pytest.mark.parametrize(
    ("before", "after", "line", "note"),
    [
        (muster(specChanged="T"), muster(specChanged="U"), "note specChanged T -> U", "specChanged"),
        (
            {"metadata": {"annotations": {"muster.dev/spec-digest": "a"}}},
            {"metadata": {"annotations": {"muster.dev/spec-digest": "b"}}},
            "note muster.dev/spec-digest a -> b",
            "spec-digest",
        ),
    ],
)
def test_bookkeeping_is_in_a_subject_only_where_nothing_else_happened(
    before: Body, after: Body, line: str, note: str
) -> None:
    assert about(before, after) == ([line], f"noted of cluster o: {note}")
    changes = list(
        object_changes(
            BY_NAME["ManagedCluster"].id("o"),
            {"kind": "ManagedCluster", **before},
            {"kind": "ManagedCluster", **after},
            lambda _: "",
        )
    )
    available = facts_of({"kind": "ManagedCluster", **condition(AVAILABLE, "True")})[f"condition {AVAILABLE}"]
    assert subject_line([*changes, Transition(BY_NAME["ManagedCluster"].id("p"), None, available)]) == "p available"
