"""What the pools stage decides, in stories of a few steps."""

import pytest

from muster.data.times import parse_time
from muster.data.tree import dig
from tests.rules.pools.playing import HIVE, Play, at, condition


@pytest.fixture
def play() -> Play:
    play = Play()
    play.fleet()
    return play


def test_a_new_pool_makes_its_clusters_and_rests(play: Play) -> None:
    play.pool(size=3, runningCount=1)
    run = play.settle("06:00")
    assert play.clusters() == ["ci-1", "ci-2", "ci-3"]
    assert [dig(play.cluster(name), "spec", "powerState") for name in play.clusters()] == [
        "Running",
        "Hibernating",
        "Hibernating",
    ]
    assert run.horizon is None
    assert run.findings == []


def test_an_ordinal_is_never_given_twice(play: Play) -> None:
    play.pool(size=2)
    play.settle("06:00")
    play.pool(size=0)
    play.settle("06:01")
    for name in ("ci-1", "ci-2"):
        play.report(name, "Hibernating", "06:02")
    play.settle("06:02")
    for name in ("ci-1", "ci-2"):
        del play.files[f"reports/{name}.yaml"]
    play.settle("06:03")
    assert play.clusters() == []
    play.pool(size=1)
    play.settle("06:04")
    assert play.clusters() == ["ci-3"]


def test_pools_of_one_name_in_two_namespaces_name_their_clusters_apart(play: Play) -> None:
    play.pool(size=1)
    play.pool(namespace="other", size=1)
    play.settle("06:00")
    first, second = play.clusters()
    assert first != second
    assert first.startswith("ci-") and second.startswith("ci-")


def test_a_cluster_that_never_wakes_up_is_replaced_at_the_second_it_is_due(play: Play) -> None:
    play.pool(size=1, runningCount=1, powerstateTransitionToRunningTimeout="20m")
    play.settle("06:00")
    play.report("ci-1", "WaitingForNodes", "07:00")
    run = play.settle("07:00")
    assert run.horizon == parse_time(at("07:20"))
    play.settle("07:19:59")
    assert dig(play.cluster("ci-1"), "metadata", "deletionTimestamp") is None
    play.settle("07:20")
    assert dig(play.cluster("ci-1"), "metadata", "deletionTimestamp") == at("07:20")
    assert play.clusters() == ["ci-1", "ci-2"]


def test_the_condition_says_how_long_it_waited(play: Play) -> None:
    play.pool(size=1, runningCount=1, powerstateTransitionToRunningTimeout="20m")
    play.settle("06:00")
    play.report("ci-1", "WaitingForNodes", "07:00")
    play.pool(size=1, runningCount=1, maxConcurrent=0, powerstateTransitionToRunningTimeout="20m")
    play.settle("07:30")
    failed = condition(play.cluster("ci-1"), "Hibernating")
    assert failed["reason"] == "FailedToStart"
    assert failed["message"] == (
        "Timed out after waiting 20m for the cluster to start: it was asked to resume at 2026-01-01T06:00:00Z, "
        "and the wait counts from 2026-01-01T07:00:00Z"
    )
    assert condition(play.cluster("ci-1"), "Broken")["reason"] == "FailedToStart"
    assert play.settle("09:00").files == {}


def test_a_stop_that_never_ends_is_broken_too(play: Play) -> None:
    play.pool(size=1, powerstateTransitionToHibernatingTimeout="10m")
    play.settle("06:00")
    play.report("ci-1", "Stopping", "05:00", ready="07:00")
    assert play.settle("07:00").horizon == parse_time(at("07:10"))
    play.settle("07:10")
    assert dig(play.cluster("ci-1"), "metadata", "deletionTimestamp") == at("07:10")


def test_one_bad_poll_does_not_cost_a_spare_that_has_run_for_hours(play: Play) -> None:
    play.pool(size=1, runningCount=1, powerstateTransitionToRunningTimeout="20m")
    play.settle("01:00")
    play.report("ci-1", "Running", "02:00")
    play.settle("02:00")
    play.report("ci-1", "WaitingForClusterOperators", "02:00", ready="09:00")
    run = play.settle("09:01")
    assert condition(play.cluster("ci-1"), "Broken") == {}
    assert run.horizon == parse_time(at("09:20"))


def test_a_timeout_that_a_person_writes_on_a_cluster_wins(play: Play) -> None:
    play.pool(size=1, runningCount=1, powerstateTransitionToRunningTimeout="20m")
    play.settle("06:00")
    play.report("ci-1", "WaitingForNodes", "07:00", powerstateTransitionToRunningTimeout="2h")
    assert play.settle("07:30").horizon == parse_time(at("09:00"))


def test_a_replacement_that_breaks_too_waits_and_says_so(play: Play) -> None:
    play.fleet(replacementBackoff={"initial": "10m", "maximum": "1h"})
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:10")
    play.settle("06:10")
    for name, clock in (("ci-1", "07:00"), ("ci-2", "07:05")):
        failing = {"type": "ProvisionStopped", "status": "True", "reason": "InstallAttemptsLimitReached"}
        body = {
            "apiVersion": HIVE,
            "kind": "ClusterDeployment",
            "metadata": {"name": name, "namespace": name},
            "status": {"conditions": [failing]},
        }
        play.put(f"reports/{name}.yaml", body)
        run = play.settle(clock)
    assert dig(play.cluster("ci-1"), "metadata", "deletionTimestamp") == at("07:00")
    assert dig(play.cluster("ci-2"), "metadata", "deletionTimestamp") is None
    held = condition(play.status(), "ReplacementHeld")
    assert (held["status"], held["reason"]) == ("True", "BackingOff")
    assert held["message"] == "ci-2: a replacement broke as well; the next one is made at 2026-01-01T07:10:00Z"
    assert run.horizon == parse_time(at("07:10"))
    assert [entry["name"] for entry in run.held] == ["ci-2"]
    play.settle("07:10")
    assert dig(play.cluster("ci-2"), "metadata", "deletionTimestamp") == at("07:10")
    assert condition(play.status(), "ReplacementHeld") == {}


def test_the_cluster_of_a_claim_whose_file_is_removed_goes(play: Play) -> None:
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:30")
    play.claim("job", "07:00")
    play.settle("07:00")
    assert dig(play.claimed("job"), "spec", "namespace") == "ci-1"
    del play.files["claims/job.yaml"]
    play.settle("08:00")
    assert play.claimed("job") is None
    assert dig(play.cluster("ci-1"), "metadata", "deletionTimestamp") == at("08:00")


def test_a_cluster_whose_report_cannot_be_read_is_counted_and_left_alone(play: Play) -> None:
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:30", instaled=True)
    before = play.cluster("ci-1")
    run = play.settle("07:00")
    assert [finding.code for finding in run.findings] == ["MUS201"]
    assert play.clusters() == ["ci-1"]
    assert play.cluster("ci-1")["spec"] == before["spec"]


def test_the_clusters_of_a_pool_that_is_gone_stay(play: Play) -> None:
    play.pool(size=2)
    play.settle("06:00")
    del play.files["pools/pools-ci.yaml"]
    run = play.settle("07:00")
    assert [finding.code for finding in run.findings] == ["MUS261"]
    assert play.clusters() == ["ci-1", "ci-2"]


def test_a_platform_without_hibernation_runs_all_its_clusters(play: Play) -> None:
    play.pool(size=2, runningCount=1, platform={"openstack": {"cloud": "x", "credentialsSecretRef": {"name": "creds"}}})
    run = play.settle("06:00")
    assert [finding.code for finding in run.findings] == ["MUS260"]
    assert play.clusters() == []


def test_a_condition_validated_keeps_a_running_cluster_from_being_assigned(play: Play) -> None:
    play.put(
        "policy.yaml",
        {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "ConditionPolicy",
            "metadata": {"name": "validated"},
            "spec": {
                "target": {"kind": "ClusterDeployment"},
                "type": "Validated",
                "rules": [
                    {"name": "never", "status": "False", "reason": "Never", "message": "No cluster is good enough"}
                ],
            },
        },
    )
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:30")
    play.claim("job", "07:00")
    play.settle("07:00")
    assert dig(play.claimed("job"), "spec", "namespace") is None
    assert condition(play.cluster("ci-1"), "Assignable")["message"] == "No cluster is good enough"


def test_a_stop_that_is_called_off_is_believed_only_when_the_provisioner_had_time_to_speak(play: Play) -> None:
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:30")
    play.settle("06:30")
    play.pool(size=1)
    play.settle("07:00")
    assert dig(play.cluster("ci-1"), "spec", "powerState") == "Hibernating"
    play.claim("job", "07:01")
    run = play.settle("07:01")
    assert dig(play.claimed("job"), "spec", "namespace") is None
    assert run.horizon == parse_time(at("07:06"))
    play.settle("07:06")
    assert dig(play.claimed("job"), "spec", "namespace") == "ci-1"
