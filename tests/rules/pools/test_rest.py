"""Pools come to rest: what once went back and forth, story by story, and whole lives of random fleets."""

import pytest

from muster.data.times import parse_time
from muster.data.tree import Tree, dig
from muster.features.test.memory import MemorySnapshot
from muster.run.settle import settle
from tests.rules.pools.lives import Life
from tests.rules.pools.playing import HIVE, Play, at, condition

FAKE = {"hive.openshift.io/fake-cluster": "true"}


@pytest.fixture
def play() -> Play:
    play = Play()
    play.fleet()
    return play


def own_cluster(play: Play, power: str = "", **annotations: str) -> None:
    """Commit a cluster of no pool that hibernates after an hour, with or without a person's word on its power."""
    spec: Tree = {
        "clusterName": "mine",
        "baseDomain": "example.com",
        "platform": {"aws": {"region": "x"}},
        "hibernateAfter": "1h",
        **({"powerState": power} if power else {}),
    }
    metadata = {"name": "mine", "namespace": "mine", "annotations": annotations}
    play.put("mine.yaml", {"apiVersion": HIVE, "kind": "ClusterDeployment", "metadata": metadata, "spec": spec})


def fakes(play: Play, *names: str) -> None:
    """Commit that these fake clusters are installed; nobody reports more of them."""
    for name in names:
        metadata = {"name": name, "namespace": name}
        body = {"apiVersion": HIVE, "kind": "ClusterDeployment", "metadata": metadata, "spec": {"installed": True}}
        play.put(f"reports/{name}.yaml", body)


def wanted(play: Play, name: str) -> Tree:
    """What muster asks of a cluster; None where it leaves that to its owner."""
    return dig(play.cluster(name), "spec", "powerState")


def still(play: Play, *clocks: str) -> None:
    """Nothing changes at these times of day."""
    for clock in clocks:
        before = dict(play.files)
        assert play.settle(clock).files == {}
        assert play.files == before


def test_hibernate_after_does_not_work_against_a_persons_word(play: Play) -> None:
    own_cluster(play, power="Running")
    play.report("mine", "Running", "06:00")
    assert play.settle("06:00").horizon is None
    still(play, "06:59", "07:01", "23:00")
    assert wanted(play, "mine") is None


def test_the_word_of_a_person_wins_until_it_is_taken_back(play: Play) -> None:
    own_cluster(play)
    play.report("mine", "Running", "06:00")
    assert play.settle("06:00").horizon == parse_time(at("07:00:01"))
    play.settle("07:00:01")
    assert wanted(play, "mine") == "Hibernating"
    play.report("mine", "Hibernating", "07:05")
    play.settle("07:05")
    still(play, "07:05", "09:00")
    own_cluster(play, power="Running")
    play.settle("10:00")
    assert wanted(play, "mine") is None
    play.report("mine", "Running", "10:05")
    play.settle("10:05")
    still(play, "10:05", "13:00")
    play.report("mine", "Running", "12:50")
    own_cluster(play)
    assert play.settle("13:00").horizon == parse_time(at("13:50:01")), "the time counts anew from the last resume"
    play.settle("13:50:01")
    assert wanted(play, "mine") == "Hibernating"


def test_on_a_claimed_cluster_it_counts_from_the_claim_and_then_stands(play: Play) -> None:
    play.pool(size=1, runningCount=1, hibernateAfter="1h")
    play.settle("06:00")
    play.report("ci-1", "Running", "06:10")
    play.claim("job", "08:00")
    assert play.settle("08:00").horizon == parse_time(at("09:00:01"))
    asked = dig(play.cluster("ci-1"), "status", "muster", "powerStateSince")
    still(play, "08:00:01", "08:30", "09:00")
    assert wanted(play, "ci-1") == "Running"
    assert dig(play.cluster("ci-1"), "status", "muster", "powerStateSince") == asked
    play.settle("09:00:01")
    assert wanted(play, "ci-1") == "Hibernating"
    still(play, "09:00:01", "09:10")
    play.report("ci-1", "Hibernating", "09:10")
    play.settle("09:10")
    still(play, "09:11", "12:00")


def test_who_asks_for_a_claimed_cluster_to_run_is_obeyed(play: Play) -> None:
    play.pool(size=1, runningCount=1, hibernateAfter="1h")
    play.settle("06:00")
    play.report("ci-1", "Running", "06:10")
    play.claim("job", "08:00")
    play.settle("08:00")
    play.settle("09:00:01")
    body = {"metadata": {"name": "ci-1", "namespace": "ci-1"}, "spec": {"powerState": "Running"}}
    play.put("people/ci-1.yaml", {"apiVersion": HIVE, "kind": "ClusterDeployment", **body})
    play.settle("09:30")
    assert wanted(play, "ci-1") is None
    still(play, "09:30", "11:00")
    del play.files["people/ci-1.yaml"]
    play.report("ci-1", "Running", "10:50")
    assert play.settle("11:00").horizon == parse_time(at("11:50:01"))


@pytest.mark.parametrize("compatibility", ["seed", "hive"])
def test_fake_clusters_change_at_once_and_stay_so(play: Play, compatibility: str) -> None:
    play.fleet(compatibility=compatibility)
    play.pool(size=3, runningCount=1, annotations=FAKE)
    play.settle("06:00")
    fakes(play, "ci-1", "ci-2", "ci-3")
    play.settle("06:10")
    assert dig(play.status(), "muster", "buckets") == {"assignable": "1", "standby": "2"}
    still(play, "06:10", "09:00")
    play.claim("job", "10:00")
    play.settle("10:00")
    assert dig(play.claimed("job"), "spec", "namespace") == "ci-1"
    assert condition(play.cluster("ci-2"), "Hibernating")["lastTransitionTime"] == at("10:00")
    still(play, "10:00", "12:00")


@pytest.mark.parametrize("compatibility", ["seed", "hive"])
def test_fake_clusters_hibernate_though_they_have_a_limit(play: Play, compatibility: str) -> None:
    play.fleet(compatibility=compatibility)
    play.pool(size=2, runningCount=1, hibernateAfter="1h", annotations=FAKE)
    play.settle("06:00")
    fakes(play, "ci-1", "ci-2")
    play.settle("06:10")
    assert dig(play.status(), "muster", "buckets") == {"assignable": "1", "standby": "1"}
    play.claim("job", "08:00")
    play.settle("08:00")
    play.settle("09:00:01")
    assert wanted(play, "ci-1") == "Hibernating"
    assert dig(play.cluster("ci-1"), "status", "powerState") == "Hibernating"
    still(play, "09:00:01", "15:00")


def test_a_fake_cluster_of_no_pool_rests_too(play: Play) -> None:
    own_cluster(play, **FAKE)
    fakes(play)
    play.put(
        "installed.yaml",
        {
            "apiVersion": HIVE,
            "kind": "ClusterDeployment",
            "metadata": {"name": "mine", "namespace": "mine"},
            "spec": {"installed": True},
        },
    )
    play.settle("06:00")
    assert dig(play.cluster("mine"), "status", "powerState") == "Running"
    still(play, "06:00", "07:00")
    play.settle("07:00:01")
    assert dig(play.cluster("mine"), "status", "powerState") == "Hibernating"
    still(play, "07:00:01", "15:00")


def test_a_stale_cluster_that_a_claim_has_just_got_is_not_replaced(play: Play) -> None:
    play.fleet(compatibility="hive")
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:10")
    play.settle("06:10")
    play.pool(size=0, baseDomain="new.example.com")
    play.claim("job", "07:00")
    play.settle("07:00")
    assert dig(play.claimed("job"), "spec", "namespace") == "ci-1"
    assert dig(play.cluster("ci-1"), "metadata", "deletionTimestamp") is None


def test_what_follows_from_a_claim_that_is_forgotten_follows_at_once(play: Play) -> None:
    """By upstream's rules a claim that is being deleted is served while its file is there: also after its cluster."""
    play.fleet(compatibility="hive")
    play.pool(size=0)
    play.claim("job", "06:00")
    play.settle("06:00")
    play.report("ci-1", "Running", "06:10")
    play.settle("06:10")
    text = play.files["claims/job.yaml"]
    play.files["claims/job.yaml"] = text.replace("metadata:\n", f"metadata:\n  deletionTimestamp: '{at('07:00')}'\n")
    play.settle("07:00")
    del play.files["reports/ci-1.yaml"]
    play.settle("07:10")
    still(play, "07:10", "07:30")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("seed", "unclaimed"), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (7, 1)])
def test_whole_lives_rest_at_every_instant(seed: int, unclaimed: int) -> None:
    """`python -m tests.rules.pools.lives FIRST LAST` lives as many more as you like."""
    life = Life(seed)
    life.live(12)
    assert life.machines, "a life without a cluster shows nothing"
    assert life.unclaimed >= unclaimed, "in one of them a claim ends before its cluster does"


def test_a_horizon_is_a_whole_second_ahead_though_reports_have_fractions(play: Play) -> None:
    own_cluster(play)
    play.report("mine", "Running", "06:00")
    play.files["reports/mine.yaml"] = play.files["reports/mine.yaml"].replace("06:00:00Z", "06:00:00.25Z")
    play.pool(size=1, runningCount=1, powerstateTransitionToRunningTimeout="2h")
    play.settle("06:01")
    play.report("ci-1", "WaitingForNodes", "06:01")
    play.files["reports/ci-1.yaml"] = play.files["reports/ci-1.yaml"].replace("06:01:00Z", "06:01:00.5Z")
    assert play.settle("06:01:01").horizon == parse_time(at("07:00:01"))
    still(play, "07:00")
    run = play.settle("07:00:01")
    assert wanted(play, "mine") == "Hibernating"
    assert run.horizon == parse_time(at("08:01:01"))
    settled = settle(MemorySnapshot(dict(play.files)), parse_time(at("07:00:01")))
    assert settled.files == {}
