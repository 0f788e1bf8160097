"""What muster states of a cluster's power: the request until the provisioner speaks, and nothing that only it sees."""

from datetime import timedelta

import pytest

from muster.data.tree import Tree
from muster.rules.pools.model import FAKE, HIBERNATING, HIVE, RUNNING, Cluster
from muster.rules.pools.powerstate import power_view
from tests.rules.pools.building import cluster
from tests.support.example import NOON

EARLIER = "2026-01-01T11:00:00Z"


def reported(hibernating: str = "", ready: str = "", *annotations: str, **spec: Tree) -> Tree:
    """A body whose conditions say `Status Reason`; annotations that are set."""
    said = (("Hibernating", hibernating), ("Ready", ready))
    conditions = [
        {"type": type_, "status": text.split()[0], "reason": text.split()[1], "lastTransitionTime": EARLIER}
        for type_, text in said
        if text
    ]
    return {
        "metadata": {"annotations": dict.fromkeys(annotations, "true")},
        "spec": spec,
        "status": {"conditions": conditions},
    }


def stated(one: Cluster, *, keeps_failures: bool = True) -> dict[str, str]:
    """Which conditions muster states, with their reasons."""
    found = power_view(one, {}, NOON, keeps_failures=keeps_failures).stated
    return {type_: said["reason"] for type_, said in found.items()}


ASLEEP = reported("True Hibernating", "False StoppingOrHibernating")
AWAKE = reported("False ResumingOrRunning", "True Running")
FAILED = reported("False FailedToStart", "False FailedToStartMachines")
DELETED = {"Hibernating": "ClusterDeploymentDeleted", "Ready": "ClusterDeploymentDeleted"}
RESUMING = {"Hibernating": "ResumingOrRunning", "Ready": "StartingMachines"}
STOPPING = {"Hibernating": "Stopping", "Ready": "StoppingOrHibernating"}


@pytest.mark.parametrize(
    ("one", "says"),
    [
        pytest.param(cluster("c", wanted=RUNNING, body=ASLEEP), RESUMING, id="it is asked to wake up"),
        pytest.param(cluster("c", wanted="", body=ASLEEP), RESUMING, id="running is what nothing says"),
        pytest.param(cluster("c", wanted=RUNNING, body=AWAKE), {}, id="it is awake"),
        pytest.param(cluster("c", wanted=RUNNING, power=RUNNING, body={}), {}, id="or its power state says so"),
        pytest.param(
            cluster("c", wanted=RUNNING, body=reported("False ResumingOrRunning")),
            {},
            id="it is on its way",
        ),
        pytest.param(cluster("c", wanted=HIBERNATING, body=AWAKE), STOPPING, id="it is asked to sleep"),
        pytest.param(cluster("c", wanted=HIBERNATING, body=ASLEEP), {}, id="it is asleep"),
        pytest.param(cluster("c", wanted=HIBERNATING, power=HIBERNATING, body={}), {}, id="or its power state says so"),
        pytest.param(
            cluster("c", wanted=HIBERNATING, body=reported("False Stopping")),
            {},
            id="it is falling asleep",
        ),
        pytest.param(
            cluster("c", wanted=HIBERNATING, body=reported("False Unsupported")),
            {},
            id="it cannot",
        ),
        pytest.param(cluster("c", wanted=RUNNING, body=ASLEEP, installed=False), {}, id="it is not there yet"),
        pytest.param(cluster("c", wanted=RUNNING, body=ASLEEP, deleting=True), DELETED, id="it goes"),
        pytest.param(
            cluster("c", wanted=RUNNING, body=reported("True Hibernating", "", f"{HIVE}/reconcile-pause")),
            {},
            id="nobody is to touch it",
        ),
        pytest.param(
            cluster("c", wanted=RUNNING, body=reported("True Hibernating", "", f"{HIVE}/powerstate-pause")),
            {"Hibernating": "PowerStatePaused", "Ready": "PowerStatePaused"},
            id="nor its power",
        ),
    ],
)
def test_the_request_is_stated_until_the_provisioner_speaks(one: Cluster, says: dict[str, str]) -> None:
    assert stated(one) == says


def test_a_stop_that_failed_is_asked_for_again_by_upstream_alone() -> None:
    body = reported("True FailedToStop", "False StoppingOrHibernating")
    failed = cluster("c", wanted=HIBERNATING, power="FailedToStop", body={**body, "status": {"conditions": []}})
    assert stated(failed) == {}
    assert stated(failed, keeps_failures=False) == STOPPING


def test_why_it_is_deleted_stands_by_the_seed_alone() -> None:
    going = cluster("c", wanted=RUNNING, body=FAILED, deleting=True)
    assert stated(going)["Hibernating"] == "FailedToStart"
    assert stated(going, keeps_failures=False) == DELETED


def test_a_fake_cluster_does_what_it_is_asked_at_once() -> None:
    body = reported("True Hibernating", "", FAKE)
    woken = power_view(cluster("c", wanted=RUNNING, body=body), {}, NOON, keeps_failures=True)
    assert (woken.state, woken.stated["Ready"]["status"]) == (RUNNING, "True")
    body = reported("False ResumingOrRunning", "True Running", FAKE)
    asleep = power_view(cluster("c", wanted=HIBERNATING, body=body), {}, NOON, keeps_failures=True)
    assert (asleep.state, asleep.stated["Hibernating"]["status"]) == (HIBERNATING, "True")


def test_with_a_limit_it_takes_two_passes() -> None:
    body = reported("False ResumingOrRunning", "True Running", FAKE, hibernateAfter="30m")
    first = power_view(cluster("c", wanted=HIBERNATING, body=body, power_requested=True), {}, NOON, keeps_failures=True)
    assert first.stated["Hibernating"]["reason"] == "Stopping"
    body = reported("False Stopping", "False StoppingOrHibernating", FAKE, hibernateAfter="30m")
    second = power_view(
        cluster("c", wanted=HIBERNATING, body=body, power_requested=True), {}, NOON, keeps_failures=True
    )
    assert second.stated["Hibernating"]["reason"] == "Hibernating"


def test_a_transition_keeps_its_time() -> None:
    before = {"Ready": {"type": "Ready", "status": "False", "lastTransitionTime": EARLIER}}
    found = power_view(cluster("c", wanted=RUNNING, body=ASLEEP), before, NOON, keeps_failures=True)
    assert found.stated["Ready"]["lastTransitionTime"] == EARLIER
    assert found.stated["Hibernating"]["lastTransitionTime"] == "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("limit", "fields", "hibernates", "horizon"),
    [
        pytest.param("30m", {"pool": None}, True, None, id="it has run for an hour"),
        pytest.param("1h", {"pool": None}, False, timedelta(seconds=1), id="the limit has to be passed"),
        pytest.param("2h", {"pool": None}, False, timedelta(hours=1, seconds=1), id="it has an hour left"),
        pytest.param("30m", {"pool": None, "power_requested": True}, False, None, id="a person's word goes first"),
        pytest.param("30m", {}, False, None, id="of a pool it waits for a claim"),
    ],
)
def test_hibernate_after(limit: str, fields: Tree, hibernates: bool, horizon: timedelta | None) -> None:
    body = reported("False ResumingOrRunning", "True Running", hibernateAfter=limit)
    found = power_view(cluster("c", wanted=RUNNING, body=body, **fields), {}, NOON, keeps_failures=True)
    assert found.hibernate is hibernates
    assert found.horizon == (None if horizon is None else NOON + horizon)


def test_a_platform_that_cannot_hibernate_runs_on() -> None:
    body = reported("False Unsupported", "True Running", hibernateAfter="30m")
    found = power_view(cluster("c", wanted=RUNNING, body=body, pool=None), {}, NOON, keeps_failures=True)
    assert not found.hibernate
    assert found.horizon is None
