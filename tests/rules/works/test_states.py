"""The state of a derived work over time."""

from tests.rules.works.repository import WorkFleet, condition, instant


def test_a_time_that_is_missing_is_when_muster_first_saw_the_state() -> None:
    fleet = WorkFleet("a")
    fleet.set(1, minSuccessTime="1m")
    fleet.at(0)
    fleet.reports("a", condition("Applied", "True", None), condition("Progressing", "False", None))
    fleet.at(10)
    assert fleet.at(30).works()["a"]["status"]["muster"]["rollout"]["since"] == instant(10)
    assert fleet.horizon() == 70
    assert fleet.at(70).said() == "True Complete"


def test_a_failure_stays_one_when_the_cluster_falls_silent() -> None:
    fleet = WorkFleet("a").tolerating()
    fleet.set(1, maxConcurrency=1)
    fleet.at(0)
    fleet.reports("a", condition("Applied", "False", 5))
    fleet.at(10)
    fleet.at(1000, silent="a")
    assert fleet.states() == "a Failed"


def test_a_report_in_a_file_that_cannot_be_read_counts_as_not_sent() -> None:
    fleet = WorkFleet("ab")
    fleet.set(1)
    fleet.at(0)
    fleet.done("a", 5)
    fleet.at(10)
    fleet.files["clusters/a/work.yaml"] = "x: ["
    fleet.at(20)
    assert fleet.states() == "a ToApply, b ToApply"
