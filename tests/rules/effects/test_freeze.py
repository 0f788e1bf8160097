"""Freezes: what they hold and for how long, that only an Approval under their name breaks them, and their mistakes."""

from datetime import timedelta

import pytest
import yaml

import muster
from muster.data.times import format_time
from muster.data.tree import Tree
from tests.rules.effects.test_approval import approval, told, waiting
from tests.support.outages import START, Fleet, disrupted, effects, fleet_condition

#: From ten minutes after the start, for an hour.
BEGIN, END = START + timedelta(minutes=10), START + timedelta(minutes=70)
PERIOD = f"{format_time(BEGIN)}/{format_time(END)}"
ACTION = "remedy TrafficControl"
REASON = "freeze 'holidays' (year end) until 2026-01-01T01:10:00Z; to break it, merge muster/proposals/freeze-holidays"
CALENDAR = """
apiVersion: muster.dev/v1alpha1
kind: Calendar
metadata: {name: hours}
spec: {windows: [{from: "00:00", to: "00:10"}, {from: "01:10", to: "24:00"}]}
"""


def freezing(*freezes: Tree, **spec: Tree) -> str:
    """A Fleet with freezes, each of this period unless it says when."""
    entries = [
        {"name": "holidays", "reason": "year end"} | ({} if "calendar" in one else {"period": PERIOD}) | one
        for one in freezes
    ]
    body = {"apiVersion": "muster.dev/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"}}
    return yaml.safe_dump({**body, "spec": {"freezes": entries, **spec}})


def outage(fleet_text: str, minutes: float, *names: str) -> Fleet:
    """Six clusters, some of which lose their DNS so many minutes after the start."""
    fleet = Fleet(6)
    fleet.texts["fleet.yaml"] = fleet_text
    fleet.evaluate(0)
    fleet.broken_dns.update(names)
    fleet.evaluate(minutes)
    return fleet


def codes(run: muster.Run) -> list[tuple[str, int, str]]:
    return [(found.code.value, found.line, found.message) for found in run.findings]


@pytest.mark.parametrize("when", ({}, {"calendar": "hours"}))
def test_an_effect_waits_until_the_freeze_ends(when: Tree) -> None:
    fleet = Fleet(6)
    fleet.texts["calendar.yaml"] = CALENDAR
    fleet.texts["fleet.yaml"] = freezing({"holds": ["remedies"], **when})
    fleet.evaluate(0)
    fleet.broken_dns.add("c00")
    run = fleet.evaluate(9)
    assert (effects(run), run.horizon) == ({("c00", ACTION)}, BEGIN), "a run wakes when it begins"
    assert (
        fleet_condition(fleet.look(), "Frozen", "f")["message"] == "Freeze 'holidays' begins at 2026-01-01T00:10:00Z."
    )
    fleet.broken_dns.add("c01")
    run = fleet.evaluate(1)
    assert effects(run) == {("c00", ACTION)}, "what has happened stays"
    assert {(entry["name"], entry["effect"], entry["reason"]) for entry in run.held} == {("c01", ACTION, REASON)}
    said = fleet_condition(run, "Frozen", "f")
    assert (said["status"], said["reason"], said["lastTransitionTime"]) == ("True", "FreezeInForce", format_time(BEGIN))
    assert said["message"] == "Freeze 'holidays' (year end) until 2026-01-01T01:10:00Z holds remedies."
    fleet.dark("c02")
    fleet.broken_dns.discard("c00")
    run = fleet.evaluate(59 + 59 / 60)
    assert (disrupted(run), run.horizon) == ({"c02"}, END), "taints are not frozen, and neither is recovery"
    [body] = [body for body in run.objects if body["kind"] == "Fleet"]
    assert body["status"]["muster"]["freezes"] == {"holidays": {"holds": ["remedies"], "until": format_time(END)}}
    run = fleet.evaluate(1 / 60)
    [body] = [body for body in run.objects if body["kind"] == "Fleet"]
    assert "freezes" not in body["status"].get("muster", {})
    assert (disrupted(run), run.held) == ({"c01", "c02"}, [])
    assert fleet_condition(run, "Frozen", "f")["reason"] == ("FreezeAhead" if when else "NoFreeze")
    assert fleet.evaluate(1).files == {}


def test_only_an_approval_under_its_name_breaks_a_freeze() -> None:
    fleet = outage(freezing({}, approval={"topics": [{"name": "careful", "effects": ["remedy"]}]}), 5, "c00", "c01")
    before = waiting(fleet.evaluate())
    assert {entry["reason"] for entry in fleet.look().held} == {"awaits approval: merge muster/proposals/careful"}
    fleet.evaluate(4)
    assert waiting(fleet.look()) == before, "the wait goes on"
    assert {entry["topic"] for entry in fleet.look().held} == {"freeze-holidays"}
    text = approval([before["c00"]])
    fleet.texts["approval.yaml"] = text
    assert disrupted(fleet.evaluate()) == set(), "it was approved, but not for the freeze"
    fleet.texts["approval.yaml"] = text.replace("careful", "freeze-holidays")
    assert disrupted(fleet.evaluate()) == {"c00"}
    assert told(fleet.look()) == {("c01", ACTION)}
    fleet.evaluate(60)
    assert {entry["reason"] for entry in fleet.look().held} == {"awaits approval: merge muster/proposals/careful"}


def test_a_selector_and_two_freezes() -> None:
    first, second = ({"name": name, "selector": {"matchLabels": {"region": "eu"}}} for name in ("holidays", "audit"))
    fleet = outage(freezing(first, second), 11, "c00", "c01")
    assert told(fleet.look()) == {("c00", ACTION)}
    since = waiting(fleet.look())["c00"]
    fleet.texts["one.yaml"] = approval([since]).replace("careful", "freeze-holidays")
    assert {entry["topic"] for entry in fleet.evaluate().held} == {"freeze-audit"}
    fleet.texts["two.yaml"] = approval([since]).replace("careful", "freeze-audit")
    assert disrupted(fleet.evaluate()) == {"c00", "c01"}


def test_clusters_whose_files_are_gone_stay() -> None:
    fleet = outage(freezing({"holds": ["deletions"], "selector": {"matchLabels": {"region": "ap"}}}), 11)
    fleet.size = 4
    run = fleet.evaluate()
    assert told(run) == {("c04", "removal"), ("c05", "removal")}, "whatever labels they had"
    assert not {found.code.value for found in run.findings}
    assert "RemovalHeld" not in str(fleet.derived)
    fleet.texts["approval.yaml"] = approval([waiting(run)["c04"]]).replace("careful", "freeze-holidays")
    assert told(fleet.evaluate()) == {("c05", "removal")}
    fleet.evaluate(60)
    assert sorted(path for path in fleet.derived if "/c0" in path)[-1].endswith("c03.yaml")


@pytest.mark.parametrize(
    ("freeze", "code", "words"),
    [
        ({"period": "2026-02-02/2026-02-01"}, "MUS205", "ends before it begins"),
        ({"period": "today"}, "MUS205", "is neither a day"),
        ({"timeZone": "Europe/Berlim"}, "MUS205", "is not a time zone"),
        ({"holds": ["rollout"]}, "MUS203", "cannot be 'rollout'"),
        ({"calendar": "huors"}, "MUS210", "there is no Calendar 'huors', so the freeze 'holidays' is always in force"),
        ({"calendar": "hours", "period": PERIOD}, "MUS205", "both a period and a calendar"),
        ({"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}, "MUS281", "In needs values"),
    ],
)
def test_mistakes_are_findings(freeze: Tree, code: str, words: str) -> None:
    fleet = Fleet(1)
    fleet.texts["calendar.yaml"] = CALENDAR
    fleet.texts["fleet.yaml"] = freezing(freeze)
    found = codes(fleet.evaluate())
    assert any(one[0] == code and one[1] > 6 and words in one[2] for one in found), found


def test_two_of_one_name_are_refused_and_the_last_valid_settings_hold() -> None:
    fleet = outage(freezing({}), 11, "c00")
    fleet.texts["fleet.yaml"] = freezing({}, {"period": "2026-02-01"})
    run = fleet.evaluate()
    assert any("two freezes are called 'holidays'" in found.message for found in run.findings)
    assert told(run) == {("c00", ACTION)}


def test_without_its_calendar_a_freeze_is_in_force() -> None:
    fleet = outage(freezing({"calendar": "hours"}), 1, "c00")
    assert {entry["reason"] for entry in fleet.look().held} == {
        "freeze 'holidays' (its calendar is missing); to break it, merge muster/proposals/freeze-holidays"
    }
