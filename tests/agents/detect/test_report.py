"""What a detector writes, and reads again after a restart."""

from datetime import timedelta

import pytest

from muster.agents.detect.election import LeaseHold
from muster.agents.detect.report import DetectorReport, Subject, condition, read_report, report_text
from muster.data.kinds import KARMADA_CLUSTER, MANAGED_CLUSTER
from muster.data.times import parse_time
from muster.data.tree import Tree

NOW = parse_time("2026-01-01T00:00:00Z")
DNS = Subject(KARMADA_CLUSTER, "member1", "ServiceDomainNameResolutionReady")


def said(before: Tree = None, *, healthy: bool = True, seconds: int = 0) -> Tree:
    return condition(DNS, before, healthy=healthy, detail=f"at {seconds}", now=NOW + timedelta(seconds=seconds))


def test_a_message_is_that_of_the_transition_and_only_the_last_look_moves_on() -> None:
    first = said()
    assert first == {
        "type": DNS.type,
        "status": "True",
        "reason": "ServiceDomainNameResolutionReady",
        "message": "at 0",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
    }
    assert said(first, seconds=60) == {**first, "lastUpdateTime": "2026-01-01T00:01:00Z"}
    fell = said(first, healthy=False, seconds=60)
    assert (fell["status"], fell["reason"]) == ("False", "ServiceDomainNameResolutionFailed")
    assert (fell["message"], fell["lastTransitionTime"]) == ("at 60", "2026-01-01T00:01:00Z")


@pytest.mark.parametrize("time", [None, "yesterday"])
def test_a_transition_whose_time_nobody_knows_is_one_now(time: str | None) -> None:
    assert said({**said(), "lastTransitionTime": time}, seconds=60)["lastTransitionTime"] == "2026-01-01T00:01:00Z"


@pytest.mark.parametrize(
    "report",
    [
        DetectorReport(),
        DetectorReport(said()),
        DetectorReport(said(healthy=False), LeaseHold("a", "2026-01-01T00:00:00Z", 45, 2)),
        DetectorReport(None, LeaseHold("", "never", 1)),
    ],
)
def test_what_is_written_is_read(report: DetectorReport) -> None:
    assert read_report(DNS, report_text(DNS, report).encode()) == report
    assert report.healthy is (None if report.condition is None else report.condition["status"] == "True")


def test_what_speaks_of_something_else_is_missing() -> None:
    data = report_text(DNS, DetectorReport(said(), LeaseHold("a", "x", 45))).encode()
    other = Subject(MANAGED_CLUSTER, "member1", DNS.type)
    assert read_report(other, data).condition is None
    assert read_report(Subject(KARMADA_CLUSTER, "member1", "Other"), data).condition is None


@pytest.mark.parametrize("data", [None, b"", b"{", b"kind: Lease\nspec: {holderIdentity: 1}\n", b"- a\n", b"\xff"])
def test_what_is_damaged_is_missing(data: bytes | None) -> None:
    assert read_report(DNS, data) == DetectorReport()


def test_names_are_those_that_objects_and_files_may_have() -> None:
    subject = Subject(KARMADA_CLUSTER, "member1", "example.com/Disk_Full")
    assert (subject.slug, subject.path) == ("example.com.disk-full", "detectors/example.com.disk-full.yaml")
    assert "name: detector-example.com.disk-full\n" in report_text(
        subject, DetectorReport(None, LeaseHold("a", "x", 45))
    )
