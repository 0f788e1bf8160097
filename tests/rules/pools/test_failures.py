"""Clusters that fail: how long muster waits, what it says of them, and what they do not stand in the way of."""

import pytest

from muster.data.times import parse_time
from muster.data.tree import Tree, dig
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from muster.run.transitions.transitions import transitions_of
from tests.rules.pools.playing import HIVE, Play, at, condition

TIMED_OUT = (
    "Timed out after waiting 20m for the cluster to {}: it was asked to {} at 2026-01-01T06:00:00Z, "
    "and the wait counts from 2026-01-01T07:00:00Z"
)


@pytest.fixture
def play() -> Play:
    play = Play()
    play.fleet()
    return play


def say(play: Play, name: str, power: str, status: str, reason: str, clock: str, ready: str = "") -> None:
    """Commit a report with a Hibernating condition, and where given a Ready one, of one's own wording."""
    said = [{"type": "Hibernating", "status": status, "reason": reason, "lastTransitionTime": at(clock)}]
    if ready:
        said.append({"type": "Ready", "status": "False", "reason": ready, "lastTransitionTime": at(clock)})
    play.put(
        f"reports/{name}.yaml",
        {
            "apiVersion": HIVE,
            "kind": "ClusterDeployment",
            "metadata": {"name": name, "namespace": name},
            "spec": {"installed": True},
            "status": {"powerState": power, "conditions": said},
        },
    )


def fail(play: Play, *names: str) -> None:
    """Commit that the installation of clusters was given up."""
    for name in names:
        failing = {"type": "ProvisionStopped", "status": "True", "reason": "Limit", "message": "Quota of 8 CPUs"}
        play.put(
            f"reports/{name}.yaml",
            {
                "apiVersion": HIVE,
                "kind": "ClusterDeployment",
                "metadata": {"name": name, "namespace": name},
                "status": {"conditions": [failing]},
            },
        )


def deleted(play: Play) -> list[str]:
    """The clusters that are being deleted."""
    return [name for name in play.clusters() if dig(play.cluster(name), "metadata", "deletionTimestamp") is not None]


def remove(play: Play, name: str) -> None:
    """Commit that the provisioner has removed a cluster."""
    gone = {"type": "Provisioned", "status": "False", "reason": "Deprovisioned"}
    play.put(
        f"reports/{name}.yaml",
        {
            "apiVersion": HIVE,
            "kind": "ClusterDeployment",
            "metadata": {"name": name, "namespace": name},
            "spec": {"installed": True},
            "status": {"powerState": "Running", "conditions": [gone]},
        },
    )


@pytest.mark.parametrize("running", [0, 1])
def test_a_cluster_that_goes_without_being_asked_is_replaced(play: Play, running: int) -> None:
    play.pool(size=1, runningCount=running)
    play.settle("06:00")
    play.report("ci-1", "Running" if running else "Hibernating", "06:30")
    play.settle("06:30")
    remove(play, "ci-1")
    play.settle("07:00")
    assert "ci-1" not in play.clusters() or deleted(play) == ["ci-1"]
    del play.files["reports/ci-1.yaml"]
    play.settle("07:10")
    assert play.clusters() == ["ci-2"]
    assert play.settle("07:10").files == {}


def test_a_claim_of_a_cluster_that_went_says_so(play: Play) -> None:
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:30")
    play.claim("job", "07:00")
    play.settle("07:00")
    assert condition(play.claimed("job"), "ClusterRunning")["status"] == "True"
    remove(play, "ci-1")
    play.settle("08:00")
    running = condition(play.claimed("job"), "ClusterRunning")
    assert (running["status"], running["reason"]) == ("False", "ClusterDeleted")
    assert play.settle("08:00").files == {}
    del play.files["claims/job.yaml"]
    play.settle("09:00")
    assert "ci-1" not in play.clusters(), "it goes with its claim"


@pytest.mark.parametrize("status", ["True", "False"])
@pytest.mark.parametrize(
    ("reason", "running", "field"),
    [
        ("Resuming", 1, "powerstateTransitionToRunningTimeout"),
        ("ResumingOrRunning", 1, "powerstateTransitionToRunningTimeout"),
        ("Stopping", 0, "powerstateTransitionToHibernatingTimeout"),
        ("WaitingForMachinesToStop", 0, "powerstateTransitionToHibernatingTimeout"),
    ],
)
def test_each_word_for_a_change_under_way_has_its_timeout(
    play: Play, status: str, reason: str, running: int, field: str
) -> None:
    """Hive said Resuming and Stopping with a condition that is True when the proposal was written."""
    play.pool(size=1, runningCount=running, **{field: "20m"})
    play.settle("06:00")
    say(play, "ci-1", "Unknown", status, reason, "07:00")
    assert play.settle("07:00").horizon == parse_time(at("07:20"))
    play.settle("07:19:59")
    assert deleted(play) == []
    play.settle("07:20")
    assert deleted(play) == ["ci-1"]


@pytest.mark.parametrize("status", ["True", "False"])
@pytest.mark.parametrize("reason", ["FailedToStart", "FailedToStop"])
def test_a_reported_failure_is_broken_whatever_the_conditions_status(play: Play, status: str, reason: str) -> None:
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    say(play, "ci-1", "Unknown", status, reason, "07:00")
    play.settle("07:00")
    assert deleted(play) == ["ci-1"]
    assert condition(play.cluster("ci-1"), "Hibernating")["reason"] == reason
    assert dig(play.status(), "muster", "failures")[0]["reason"] == reason
    assert play.settle("07:00").files == {}


@pytest.mark.parametrize(
    ("running", "failure", "upstream"),
    [
        (0, ("FailedToStop", "False", "FailedToStop", ""), "Stopping"),
        (0, ("FailedToStop", "False", "ResumingOrRunning", ""), "Stopping"),
        (1, ("FailedToStartMachines", "True", "Hibernating", "FailedToStartMachines"), "ResumingOrRunning"),
        (1, ("Unknown", "True", "Hibernating", "FailedToStart"), "ResumingOrRunning"),
    ],
)
@pytest.mark.parametrize("compatibility", ["", "hive"])
def test_a_request_does_not_cover_the_failure_that_answers_it(
    play: Play, compatibility: str, running: int, failure: tuple[str, str, str, str], upstream: str
) -> None:
    """The cluster stays as long as the pool may delete none, and shows why it is broken. Upstream tries again."""
    play.fleet(**({"compatibility": compatibility} if compatibility else {}))
    play.pool(size=1, runningCount=running)
    play.settle("06:00")
    play.pool(size=1, runningCount=running, maxConcurrent=0)
    say(play, "ci-1", *failure[:3], "07:00", ready=failure[3])
    play.settle("07:00")
    assert deleted(play) == []
    derived = play.cluster("ci-1")
    assert condition(derived, "Hibernating").get("reason") == (upstream if compatibility else None)
    assert (dig(derived, "status", "powerState") is not None) == bool(compatibility)
    assert bool(condition(derived, "Broken")) == (not compatibility)


@pytest.mark.parametrize(
    ("running", "power", "reason", "verbs", "limit"),
    [
        (1, "WaitingForNodes", "FailedToStart", ("start", "resume"), "powerstateTransitionToRunningTimeout"),
        (0, "Stopping", "FailedToStop", ("stop", "hibernate"), "powerstateTransitionToHibernatingTimeout"),
    ],
)
def test_why_a_cluster_was_deleted_stays_visible(
    play: Play, running: int, power: str, reason: str, verbs: tuple[str, str], limit: str
) -> None:
    play.pool(size=1, runningCount=running, **{limit: "20m"})
    play.settle("06:00")
    play.report("ci-1", power, "07:00")
    play.settle("07:00")
    message = TIMED_OUT.format(*verbs)
    told = [str(change) for change in settle(MemorySnapshot(dict(play.files)), parse_time(at("07:20"))).changes]
    assert f"ClusterDeployment/ci-1/ci-1: deletion requested (at {at('07:20')}, {reason}: {message})" in told
    play.settle("07:20")
    for type_ in ("Hibernating", "Broken"):
        said = condition(play.cluster("ci-1"), type_)
        assert (said["reason"], said["message"]) == (reason, message)
    failure = {"cluster": "ci-1", "at": at("07:20"), "reason": reason, "message": message}
    assert dig(play.status(), "muster", "failures") == [failure]
    del play.files["reports/ci-1.yaml"]
    play.settle("07:40")
    assert "ci-1" not in play.clusters()
    assert dig(play.status(), "muster", "failures") == [failure]


def test_a_pool_remembers_its_last_failures_only(play: Play) -> None:
    play.fleet(replacementBackoff={"initial": "0s", "maximum": "0s"})
    play.pool(size=1)
    play.settle("06:00")
    for number in range(1, 8):
        fail(play, f"ci-{number}")
        play.settle(f"07:0{number}")
    remembered = dig(play.status(), "muster", "failures")
    assert [entry["cluster"] for entry in remembered] == [f"ci-{number}" for number in range(3, 8)]
    assert remembered[0]["message"] == "Quota of 8 CPUs"


def own_cluster(play: Play, status: Tree) -> None:
    spec: Tree = {
        "clusterName": "mine",
        "baseDomain": "example.com",
        "platform": {"aws": {"region": "x"}},
        "hibernateAfter": "1h",
        "installed": True,
    }
    metadata = {"name": "mine", "namespace": "mine"}
    body = {"apiVersion": HIVE, "kind": "ClusterDeployment", "metadata": metadata, "spec": spec, "status": status}
    play.put("mine.yaml", body)


@pytest.mark.parametrize(
    ("status", "hibernates"),
    [
        ({"powerState": "Running"}, True),
        ({"conditions": [{"type": "Ready", "status": "True", "reason": "Running"}]}, True),
        ({"powerState": "Running", "installedTimestamp": "2026-01-01T06:30:00Z"}, False),
        ({"powerState": "Hibernating"}, True),
        ({}, True),
        ({"conditions": [{"type": "Hibernating", "status": "False", "reason": "ResumingOrRunning"}]}, False),
    ],
    ids=["runs", "is ready", "since half an hour", "sleeps", "nobody knows", "resumes"],
)
def test_a_cluster_that_is_installed_since_nobody_knows_when_hibernates(
    play: Play, status: Tree, hibernates: bool
) -> None:
    own_cluster(play, status)
    play.settle("07:00")
    assert dig(play.cluster("mine"), "spec", "powerState") == ("Hibernating" if hibernates else None)
    assert play.settle("07:00").files == {}


def held_pool(play: Play, *, size: int, good: int) -> None:
    """A pool with one broken cluster whose replacement is held by the back-off, and some that stand by."""
    play.fleet(replacementBackoff={"initial": "10m", "maximum": "1h"})
    play.pool(size=size)
    play.settle("06:00")
    fail(play, "ci-1")
    play.settle("07:00")
    for number in range(2, good + 2):
        play.report(f"ci-{number}", "Hibernating", "07:01")
    fail(play, f"ci-{size + 1}")
    del play.files["reports/ci-1.yaml"]
    run = play.settle("07:02")
    assert [entry["name"] for entry in run.held] == [f"ci-{size + 1}"]


def test_a_held_broken_cluster_does_not_keep_a_pool_from_shrinking(play: Play) -> None:
    held_pool(play, size=4, good=3)
    play.pool(size=1)
    play.settle("07:03")
    assert deleted(play) == ["ci-2", "ci-3", "ci-5"], "the broken one first, then those that were made first"
    assert [name for name in play.clusters() if name not in deleted(play)] == ["ci-4"]
    assert play.settle("07:03").files == {}


def test_what_is_not_in_excess_stays_held(play: Play) -> None:
    held_pool(play, size=3, good=2)
    assert play.settle("07:03").held
    assert deleted(play) == []


def test_a_pool_shrinks_within_what_may_be_deleted_at_a_time(play: Play) -> None:
    held_pool(play, size=4, good=3)
    play.pool(size=1, maxConcurrent=2)
    play.settle("07:03")
    assert deleted(play) == ["ci-2", "ci-5"]


def test_changes_tell_a_deletion_without_a_failure_as_before(play: Play) -> None:
    play.pool(size=1)
    play.settle("06:00")
    play.pool(size=0)
    run = settle(MemorySnapshot(dict(play.files)), parse_time(at("07:00"))).first
    told = [str(change) for change in transitions_of(run.fleet)]
    assert f"ClusterDeployment/ci-1/ci-1: deletion requested (at {at('07:00')})" in told


def test_a_cluster_without_a_pool_times_out_by_what_it_says_itself(play: Play) -> None:
    """Its power state is a person's: nobody but the cluster says when it was asked for. A run at any time is not it."""
    said = {"type": "Hibernating", "status": "False", "reason": "Resuming", "lastTransitionTime": at("07:00")}
    play.put(
        "clusters/lone.yaml",
        {
            "apiVersion": HIVE,
            "kind": "ClusterDeployment",
            "metadata": {"name": "lone", "namespace": "lone"},
            "spec": {
                "baseDomain": "example.com",
                "clusterName": "lone",
                "installed": True,
                "powerState": "Running",
                "platform": {"aws": {"region": "eu-1"}},
                "powerstateTransitionToRunningTimeout": "20m",
            },
            "status": {"powerState": "Resuming", "conditions": [said]},
        },
    )
    assert play.settle("07:15").horizon == parse_time(at("07:20"))
    play.settle("07:20")
    stopped = condition(play.cluster("lone"), "Hibernating")
    assert (stopped["reason"], stopped["message"]) == (
        "FailedToStart",
        "Timed out after waiting 20m for the cluster to start: the wait counts from 2026-01-01T07:00:00Z",
    )


def protect(play: Play, name: str, word: str) -> None:
    """Commit a person's word on whether a cluster may be deleted."""
    metadata = {"name": name, "namespace": name, "annotations": {"hive.openshift.io/protected-delete": word}}
    play.put(f"protect/{name}.yaml", {"apiVersion": HIVE, "kind": "ClusterDeployment", "metadata": metadata})


@pytest.mark.parametrize("why", ["broken", "released", "excess", "wound down", "pool is gone"])
def test_a_protected_cluster_is_not_deleted(play: Play, why: str) -> None:
    """Hive's webhook would refuse. What keeps the cluster is said, and counts until it is over."""
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:10")
    protect(play, "ci-1", "true")
    if why in ("released", "pool is gone"):
        play.claim("mine", "06:20")
        play.settle("06:20")
        del play.files["claims/mine.yaml"]
    if why == "broken":
        fail(play, "ci-1")
    elif why == "excess":
        play.pool(size=0)
    elif why == "wound down":
        mark = f"  namespace: pools\n  deletionTimestamp: '{at('06:30')}'\n"
        play.files["pools/pools-ci.yaml"] = play.files["pools/pools-ci.yaml"].replace("  namespace: pools\n", mark, 1)
    elif why == "pool is gone":
        play.settle("06:30")
        del play.files["pools/pools-ci.yaml"]
    codes = [found.code for found in play.settle("07:00").findings]
    assert "ci-1" not in deleted(play)
    assert ("MUS264" in codes) == (why != "excess")
    protect(play, "ci-1", "false")
    assert "MUS264" not in [found.code for found in play.settle("07:10").findings]
    assert "ci-1" in deleted(play), "it is the protection that kept it"
    assert "ci-1" in deleted(play)


def test_policies_see_a_pools_cluster_whole_whatever_part_of_it_a_provisioner_reports(play: Play) -> None:
    """The report has no spec: muster declares it. Nobody's policy is asked about the report alone."""
    selector = {"matchLabels": {"hive.openshift.io/clusterpool-name": "ci"}}
    target = {"kind": "ClusterDeployment", "selector": selector}
    play.put(
        "policies.yaml",
        {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "PulsePolicy",
            "metadata": {"name": "look"},
            "spec": {"target": target, "rules": [{"name": "new", "when": "self.spec.clusterName == 'ci-1'"}]},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "domain"},
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["hive.openshift.io"],
                            "apiVersions": ["*"],
                            "operations": ["*"],
                            "resources": ["clusterdeployments"],
                        }
                    ]
                },
                "validations": [{"expression": "object.spec.baseDomain == 'ci.example.com'"}],
            },
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "domain"},
            "spec": {"policyName": "domain", "validationActions": ["Deny"]},
        },
    )
    play.pool(size=1)
    play.settle("06:00")
    fail(play, "ci-1")
    run = play.settle("07:00")
    assert list(run.findings) == []
    assert [pulse["subject"] for pulse in run.pulses] == ["ClusterDeployment/ci-1/ci-1"]
    assert condition(play.cluster("ci-1"), "Broken")["reason"] == "ProvisionStopped"
    assert condition(play.cluster("ci-1"), "Assignable") == {}


def test_a_persons_cluster_that_is_being_deleted_is_judged_still(play: Play) -> None:
    play.put(
        "mine.yaml",
        {
            "apiVersion": HIVE,
            "kind": "ClusterDeployment",
            "metadata": {"name": "mine", "namespace": "mine", "deletionTimestamp": at("06:00")},
            "spec": {"clusterName": "mine", "baseDomain": "example.com", "platform": {"aws": {"region": "x"}}},
        },
        {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "ConditionPolicy",
            "metadata": {"name": "named"},
            "spec": {
                "target": {"kind": "ClusterDeployment"},
                "type": "Named",
                "rules": [{"name": "yes", "status": "True", "reason": "Named", "message": ""}],
            },
        },
    )
    play.settle("07:00")
    assert condition(play.cluster("mine"), "Named")["status"] == "True"
