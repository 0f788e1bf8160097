"""Claims that end at a bad moment, and claims that change their mind."""

import pytest

from muster.data.tree import dig
from tests.rules.pools.playing import Play, at, condition


@pytest.fixture
def play() -> Play:
    """A pool whose running cluster `ci-1` was given to the claim `job`."""
    play = Play()
    play.fleet()
    play.pool(size=1, runningCount=1)
    play.settle("06:00")
    play.report("ci-1", "Running", "06:30")
    play.claim("job", "07:00")
    play.settle("07:00")
    assert dig(play.claimed("job"), "spec", "namespace") == "ci-1"
    return play


def is_deleted(play: Play) -> bool:
    return dig(play.cluster("ci-1"), "metadata", "deletionTimestamp") is not None


def test_a_claim_that_goes_with_a_report_that_breaks_leaks_nothing(play: Play) -> None:
    del play.files["claims/job.yaml"]
    play.report("ci-1", "Running", "06:30", instaled=True)
    run = play.settle("08:00")
    assert [found.code for found in run.findings] == ["MUS201"]
    assert not is_deleted(play)
    assert play.settle("09:00").files == {}
    play.report("ci-1", "Running", "06:30")
    play.settle("10:00")
    assert is_deleted(play)
    assert play.claimed("job") is None


def test_a_claim_that_is_being_deleted_while_the_report_is_broken_waits_for_it(play: Play) -> None:
    text = play.files["claims/job.yaml"]
    play.files["claims/job.yaml"] = text.replace("metadata:\n", f"metadata:\n  deletionTimestamp: '{at('08:00')}'\n")
    play.report("ci-1", "Running", "06:30", instaled=True)
    before = play.cluster("ci-1")["metadata"]
    play.settle("08:00")
    assert play.cluster("ci-1")["metadata"] == before, "what cannot be read is not touched"
    play.report("ci-1", "Running", "06:30")
    play.settle("09:00")
    assert is_deleted(play)


def test_a_claim_that_is_edited_to_another_pool_keeps_its_cluster_and_says_so(play: Play) -> None:
    play.pool("other", size=1, runningCount=1, claimLifetime={"maximum": "5m"})
    play.settle("07:05")  # a name of which reports are there already is not given to a new cluster
    play.report("other-1", "Running", "07:10")
    play.settle("07:10")
    play.claim("job", "07:00", clusterPoolName="other")
    run = play.settle("08:00")
    (found,) = run.findings
    assert (found.code, found.severity.value, found.file) == ("MUS263", "warning", "claims/job.yaml")
    assert found.message == (
        "ClusterClaim/pools/job has ci-1 of ClusterPool 'ci' and keeps it, though it now names 'other'"
    )
    assert dig(play.claimed("job"), "spec", "namespace") == "ci-1"
    assert condition(play.claimed("job"), "ClusterRunning")["status"] == "True"
    assert dig(play.cluster("other-1"), "spec", "clusterPoolRef", "claimName") is None
    assert play.settle("09:00").files == {}, "the terms are those of the cluster's pool"


def test_it_takes_its_cluster_along_when_it_ends(play: Play) -> None:
    play.claim("job", "07:00", clusterPoolName="nowhere")
    run = play.settle("08:00")
    assert sorted(found.code for found in run.findings) == ["MUS210", "MUS263"]
    text = play.files["claims/job.yaml"]
    play.files["claims/job.yaml"] = text.replace("metadata:\n", f"metadata:\n  deletionTimestamp: '{at('09:00')}'\n")
    play.settle("09:00")
    assert is_deleted(play)


def test_a_claim_without_a_cluster_goes_over_to_the_other_pool(play: Play) -> None:
    play.claim("late", "07:30")
    play.settle("07:30")
    play.pool("other", size=1, runningCount=1)
    play.settle("07:40")
    play.report("other-1", "Running", "07:50")
    play.claim("late", "07:30", clusterPoolName="other")
    run = play.settle("08:00")
    assert run.findings == []
    assert dig(play.claimed("late"), "spec", "namespace") == "other-1"


@pytest.mark.parametrize(
    ("oldest", "resumed"),
    [
        ("asleep", "ci-1"),
        ("being installed", "ci-2"),
        ("falling asleep", "ci-2"),
    ],
)
def test_for_a_claim_a_cluster_is_resumed_that_can_serve_it(oldest: str, resumed: str) -> None:
    """The oldest was, whatever it was doing: the claim waited for its installation while another stood by."""
    play = Play()
    play.fleet()
    play.pool(size=2, runningCount=0)
    play.settle("06:00")
    if oldest != "being installed":
        play.report("ci-1", "Hibernating" if oldest == "asleep" else "Stopping", "06:30")
    play.report("ci-2", "Hibernating", "06:30")
    play.settle("06:40")
    play.claim("job", "07:00")
    play.settle("07:00")
    wanted = {name: dig(play.cluster(name), "spec", "powerState") for name in ("ci-1", "ci-2")}
    assert wanted == {"ci-1": "Hibernating", "ci-2": "Hibernating", resumed: "Running"}


@pytest.fixture
def two() -> Play:
    """Two pools of running clusters, of which the claim `dev` has `ci-1`."""
    two = Play()
    two.fleet()
    two.pool(size=2, runningCount=2)
    two.pool("big", size=1, runningCount=1)
    two.settle("05:00")
    for name in ("big-1", "ci-1", "ci-2"):
        two.report(name, "Running", "05:30")
    two.claim("dev", "06:01", lifetime="2h")
    two.settle("06:02")
    assert dig(two.claimed("dev"), "spec", "namespace") == "ci-1"
    assert dig(two.claimed("dev"), "status", "lifetime") == "2h"
    return two


@pytest.mark.parametrize(("pool", "cluster"), [("ci", "ci-2"), ("big", "big-1")])
def test_a_claim_made_anew_between_two_runs_is_a_new_claim(two: Play, pool: str, cluster: str) -> None:
    two.claim("dev", "06:30", clusterPoolName=pool)
    two.settle("06:31")
    assert dig(two.claimed("dev"), "spec", "namespace") == cluster
    assert dig(two.claimed("dev"), "status", "lifetime") is None
    assert condition(two.claimed("dev"), "Pending")["lastTransitionTime"] == at("06:31")
    old = two.cluster("ci-1")
    assert old is None or dig(old, "metadata", "deletionTimestamp") == at("06:31")
    assert two.settle("06:31").files == {}


@pytest.mark.parametrize("pool", ["ci", "big"])
def test_a_claim_that_ended_can_be_made_anew(two: Play, pool: str) -> None:
    two.settle("08:03")
    assert dig(two.claimed("dev"), "metadata", "deletionTimestamp") == at("08:03")
    two.claim("dev", "09:00", clusterPoolName=pool)
    two.settle("09:01")
    assert dig(two.claimed("dev"), "metadata", "deletionTimestamp") is None
    assert dig(two.claimed("dev"), "spec", "namespace") not in (None, "ci-1")


@pytest.mark.parametrize("clock", ["06:01", "05:00"])
def test_an_edit_of_a_claim_keeps_its_cluster(two: Play, clock: str) -> None:
    two.claim("dev", clock, lifetime="3h", clusterPoolName="big")
    two.settle("06:31")
    assert dig(two.claimed("dev"), "spec", "namespace") == "ci-1"
    two.claim("dev", "06:01", lifetime="3h")  # as it was: no younger than recorded
    two.settle("06:32")
    assert dig(two.claimed("dev"), "spec", "namespace") == "ci-1"


def test_a_claim_that_moves_to_another_hub_keeps_its_cluster(two: Play) -> None:
    """A new hub gives its objects new timestamps; they still name their clusters."""
    before = condition(two.claimed("dev"), "Pending")
    two.claim("dev", "06:30", lifetime="2h", namespace="ci-1")
    two.settle("06:31")
    assert condition(two.claimed("dev"), "Pending") == before
    assert two.clusters() == ["big-1", "ci-1", "ci-2", "ci-3"]


def test_a_claim_without_a_record_of_its_creation_is_no_new_one(two: Play) -> None:
    """As an earlier version left it."""
    path = "derived/clusterclaims/pools/dev.yaml"
    two.files[path] = "".join(
        line for line in two.files[path].splitlines(keepends=True) if "muster:" not in line and "created:" not in line
    )
    two.claim("dev", "06:30", lifetime="2h")
    two.settle("06:31")
    assert dig(two.claimed("dev"), "spec", "namespace") == "ci-1"
