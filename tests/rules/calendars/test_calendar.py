"""Calendars: open within their windows, closed on holidays and in freezes, and misspelt fields are findings."""

from datetime import UTC, datetime

import pytest

from muster.features.test.memory import MemorySnapshot
from muster.rules.calendars.calendar import Calendar
from muster.rules.policies.in_force import FleetWithPolicies
from muster.run.checking import check_snapshot

OFFICE = """
  timeZone: Europe/Berlin
  windows: [{days: Mon-Thu, from: "09:00", to: "17:00"}, {days: Fri, to: "12:00"}]
  except: ["2026-12-24/2027-01-02"]
  freezes: [{period: "2026-12-14T18:00:00Z/2026-12-16", reason: the audit}]
"""


def fleet_with(spec: str) -> FleetWithPolicies:
    text = f"apiVersion: muster.dev/v1alpha1\nkind: Calendar\nmetadata: {{name: office-hours}}\nspec: {spec}\n"
    return check_snapshot(MemorySnapshot({"calendar.yaml": text}))


def calendar(spec: str) -> Calendar:
    fleet = fleet_with(spec)
    assert not fleet.findings
    return fleet.rules.calendars_by_name["office-hours"]


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}:00Z").astimezone(UTC)


@pytest.mark.parametrize(
    ("instant", "is_open", "change"),
    [
        ("2026-11-25T09:00", True, "2026-11-25T16:00"),
        ("2026-11-26T16:00", False, "2026-11-26T23:00"),
        ("2026-11-27T11:00", False, "2026-11-30T08:00"),
        ("2026-12-14T17:30", False, "2026-12-17T08:00"),
        ("2026-12-23T17:00", False, "2027-01-04T08:00"),
    ],
)
def test_a_calendar_is_open_within_its_windows(instant: str, is_open: bool, change: str) -> None:
    found = calendar(OFFICE)
    assert found.is_open(at(instant)) is is_open
    assert found.next_change(at(instant)) == at(change)


def test_a_calendar_says_why_it_is_closed() -> None:
    found = calendar(OFFICE)
    assert found.why_closed(at("2026-12-15T10:00")) == "calendar 'office-hours' is frozen: the audit"
    assert found.why_closed(at("2026-12-25T10:00")) == "calendar 'office-hours' has a holiday"
    assert found.why_closed(at("2026-11-28T10:00")) == "it is outside the windows of calendar 'office-hours'"
    assert found.text == (
        "Mon-Thu 09:00-17:00; Fri 00:00-12:00 in Europe/Berlin "
        "except 2026-12-24/2027-01-02, 2026-12-14T18:00:00Z/2026-12-16"
    )


def test_without_windows_it_is_always_open() -> None:
    assert calendar("{}").next_change(at("2026-11-25T09:00")) is None
    assert calendar("{}").is_open(at("2026-11-25T09:00"))
    assert calendar("{}").text == "always in UTC"


@pytest.mark.parametrize(
    ("spec", "place", "message", "hint"),
    [
        (
            "{windows: [{days: Mon-Thrusday}]}",
            "4:19",
            "'Thrusday' is not a day of the week",
            "did you mean 'Thursday'?",
        ),
        ("{timeZone: Europe/Berln}", "4:8", "'Europe/Berln' is not a time zone", "did you mean 'Europe/Berlin'?"),
        ("{windows: [{from: '9:00'}]}", "4:19", "'9:00' is not a time of day such as 09:00", "until then"),
        ("{windows: [{from: '09:00', to: '09:00'}]}", "4:34", "is never open", "write 24:00 for midnight"),
        ("{except: ['2026-12-24', 2026-13-01]}", "4:31", "'2026-13-01' is neither a day", "until then"),
        ("{freezes: [{period: 2027-01-02/2026-12-24}]}", "4:19", "ends before it begins", "until then"),
    ],
)
def test_a_misspelt_field_is_a_finding_at_its_place(spec: str, place: str, message: str, hint: str) -> None:
    fleet = fleet_with(spec)
    (found,) = fleet.findings
    assert (found.code, str(found.place)) == ("MUS205", f"calendar.yaml:{place}")
    assert message in found.message
    assert hint in found.hint
    assert not fleet.compiled.of(Calendar)
    assert found.object in fleet.broken
