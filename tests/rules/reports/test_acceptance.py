"""The acceptance rules, one row per branch, and what no order of delivery can change."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.data.kinds import ADAPTER_REPORT
from muster.data.times import format_time
from muster.data.tree import Tree
from muster.fleet.reports import Accepted, accept, same_report
from muster.rules.reports.acceptance import Limits, ParsedReport, Situation, judge

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMITS = Limits(age=timedelta(minutes=30), ahead=timedelta(minutes=5))
HOLDER = ADAPTER_REPORT.id("dns", "c1")
GENERATION = 3


def payload(generation: int = 3, seconds: int = 0, available: str = "True", **others: str | None) -> Tree:
    """A report `seconds` after noon; `others` adds conditions or, with None, leaves one out."""
    statuses = {"Available": available, "Applied": "True", "Health": "True", **others}
    return {
        "resource": {"kind": "ManagedCluster", "name": "c1"},
        "adapter": "dns",
        "observed_generation": generation,
        "observed_time": format_time(NOW + timedelta(seconds=seconds)),
        "conditions": [{"type": type_, "status": status} for type_, status in statuses.items() if status],
    }


def situation(stored: Tree | None = None, generation: int | None = GENERATION) -> Situation:
    before = None if stored is None else accept(HOLDER, stored, None)
    return Situation("ManagedCluster/c1", "c1", generation, before, NOW, LIMITS)


TWICE = {**payload(), "conditions": [*payload()["conditions"], {"type": "Health", "status": "False"}]}
BRANCHES = {
    "the first of an adapter": (payload(), situation(), "Accepted"),
    "a later generation": (payload(3), situation(payload(2)), "Accepted"),
    "a later time": (payload(3, 5), situation(payload(3)), "Accepted"),
    "a False": (payload(3, 5, "False"), situation(payload(3)), "Accepted"),
    "other conditions Unknown": (payload(3, 5, Applied="Unknown", Health="Unknown"), situation(payload(3)), "Accepted"),
    "the stored one again": (payload(3), situation(payload(3)), "Accepted"),
    "the stored one again, long after": (payload(3, -7200), situation(payload(3, -7200)), "Accepted"),
    "a condition twice": (TWICE, situation(), "DuplicateCondition"),
    "five minutes ahead": (payload(3, 300), situation(), "Accepted"),
    "more than five minutes ahead": (payload(3, 301), situation(), "ObservedTimeAhead"),
    "thirty minutes old": (payload(3, -1800), situation(), "Accepted"),
    "more than thirty minutes old": (payload(3, -1801), situation(), "ObservedTimeTooOld"),
    "no such object": (payload(), situation(generation=None), "ResourceNotFound"),
    "no such object any more": (payload(), situation(payload(), generation=None), "ResourceNotFound"),
    "a generation that is not reached": (payload(4), situation(payload(3)), "FutureGeneration"),
    "an older generation, later": (payload(2, 5), situation(payload(3)), "StaleGeneration"),
    "an older generation, incomplete": (payload(2, 5, Health=None), situation(payload(3)), "StaleGeneration"),
    "an earlier time": (payload(3, -5), situation(payload(3)), "StaleTime"),
    "no Available": (payload(3, 5, Available=None), situation(payload(3)), "MissingCondition"),
    "no Applied": (payload(3, 5, Applied=None), situation(), "MissingCondition"),
    "no Health": (payload(3, 5, Health=None), situation(), "MissingCondition"),
    "Available Unknown": (payload(3, 5, "Unknown"), situation(payload(3)), "AvailableUnknown"),
    "Available Unknown, the first of an adapter": (payload(3, 5, "Unknown"), situation(), "AvailableUnknown"),
    "Available Unknown of a later generation": (payload(3, 5, "Unknown"), situation(payload(2)), "AvailableUnknown"),
    "another report at the same instant": (payload(3, 0, "False"), situation(payload(3)), "SameTime"),
}


@pytest.mark.parametrize("branch", BRANCHES)
def test_branch(branch: str) -> None:
    spec, at, reason = BRANCHES[branch]
    assert judge(ParsedReport(spec, "c1"), at).reason == reason


def test_a_report_from_another_clusters_namespace_is_refused() -> None:
    assert judge(ParsedReport(payload(), "c2"), situation()).reason == "OtherCluster"


def test_a_report_from_the_future_counts_when_its_time_comes() -> None:
    verdict = judge(ParsedReport(payload(3, 400), "c1"), situation())
    assert verdict.horizon == NOW + timedelta(seconds=100)


def test_a_replaced_report_keeps_the_times_that_go_on() -> None:
    first = accept(HOLDER, payload(2, 0, "True", Extra="False"), None)
    second = accept(HOLDER, payload(3, 60, "False"), first)
    assert second.created == format_time(NOW)
    times = {c["type"]: c["last_transition_time"] for c in second.spec["conditions"]}
    assert times == {
        "Available": format_time(NOW + timedelta(seconds=60)),
        "Applied": format_time(NOW),
        "Health": format_time(NOW),
    }


reports = st.builds(
    payload,
    generation=st.integers(1, GENERATION + 1),
    seconds=st.integers(-2000, 400),
    available=st.sampled_from(("True", "False", "Unknown")),
    Health=st.sampled_from(("True", "False", "Unknown", None)),
)


def delivered(order: list[Tree]) -> list[Accepted | None]:
    """What counts after each delivery."""
    counts: Accepted | None = None
    history = []
    for spec in order:
        at = Situation("ManagedCluster/c1", "c1", GENERATION, counts, NOW, LIMITS)
        if judge(ParsedReport(spec, "c1"), at).accepted and not (counts and same_report(counts.spec, spec)):
            counts = accept(HOLDER, spec, counts)
        history.append(counts)
    return history


@given(st.data(), st.lists(reports, max_size=8, unique_by=lambda r: (r["observed_generation"], r["observed_time"])))
def test_any_order_of_delivery_ends_in_the_same_report(data: st.DataObject, distinct: list[Tree]) -> None:
    repeated = distinct + data.draw(st.lists(st.sampled_from(distinct), max_size=5) if distinct else st.just([]))
    one, other = delivered(repeated), delivered(data.draw(st.permutations(repeated)))
    assert _payload(one) == _payload(other)


@given(st.lists(reports, max_size=10))
def test_what_counts_never_goes_back(order: list[Tree]) -> None:
    versions = [(a.generation, a.time) for a in delivered(order) if a is not None]
    assert versions == sorted(versions)


@given(st.lists(reports, max_size=10))
def test_an_unknown_never_counts(order: list[Tree]) -> None:
    assert all(ParsedReport(a.spec, "c1").status("Available") != "Unknown" for a in delivered(order) if a is not None)


def _payload(history: list[Accepted | None]) -> Tree:
    """The report that counts in the end, without the times that depend on what was seen on the way."""
    last = history[-1] if history else None
    if last is None:
        return None
    plain = [{"type": c["type"], "status": c["status"]} for c in last.spec["conditions"]]
    return {**last.spec, "conditions": plain}
